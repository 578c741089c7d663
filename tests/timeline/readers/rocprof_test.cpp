// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <string>

#include "core/storage/storage.h"
#include "tests/in_folder.h"
#include "timeline/readers.h"
#include "timeline/structure/correlations.h"

namespace gpubench {
namespace {

using timeline::SliceKind;

class Rocprof : public InFolder {};

constexpr const char* results = R"json({"rocprofiler-sdk-tool": [{"metadata": {"pid": 908, "command": ["python3"]},
 "agents": [{"id": {"handle": 1}, "type": 1}, {"id": {"handle": 10}, "type": 2, "product_name": "AMD Instinct MI300X"}],
 "strings": {"buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "HIP", "operations": ["none", "hipLaunchKernel"]}]},
 "kernel_symbols": [{"kernel_id": 8, "demangled_kernel_name": "saxpy(int)", "formatted_kernel_name": "saxpy"}],
 "buffer_records": {
  "kernel_dispatch": [{"thread_id": 908, "correlation_id": {"internal": 5}, "start_timestamp": 2000, "end_timestamp": 2600,
    "dispatch_info": {"agent_id": {"handle": 10}, "queue_id": {"handle": 16}, "kernel_id": 8, "group_segment_size": 64,
                      "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 1000, "y": 1, "z": 1}}},
   {"start_timestamp": 9000, "end_timestamp": 8000, "dispatch_info": {"agent_id": {"handle": 10}}}],
  "memory_copy": [{"correlation_id": {"internal": 6}, "start_timestamp": 3000, "end_timestamp": 3500, "bytes": 4096,
                   "dst_agent_id": {"handle": 1}, "src_agent_id": {"handle": 10}}],
  "hip_api": [{"kind": 1, "operation": 1, "thread_id": 908, "correlation_id": {"internal": 5}, "start_timestamp": 1000,
               "end_timestamp": 1200}]}}]})json";

TEST_F(Rocprof, has_kernels_by_queue_their_shapes_and_calls) {
  const timeline::Timeline timeline = timeline::read_timeline(file("a.json", results));
  ASSERT_EQ(timeline.slices.size(), 3U);
  const timeline::Linked linked(timeline);
  const timeline::Slice& kernel = timeline.slices[1];
  EXPECT_EQ(timeline.names.text(kernel.name), "saxpy(int)");
  EXPECT_EQ(kernel.start_ns, 1000);
  EXPECT_EQ(kernel.duration_ns, 600);
  const timeline::Track& queue = timeline.tracks[kernel.track];
  EXPECT_EQ(queue.device, 0) << "the first GPU, whatever its handle";
  EXPECT_EQ(queue.name, "queue 16");
  EXPECT_EQ(timeline.shapes.at(static_cast<std::size_t>(kernel.detail)).grid[0], 4U) << "work-groups, not work-items";
  ASSERT_NE(linked.call_of(1), nullptr);
  EXPECT_EQ(linked.call_of(1)->kind, SliceKind::launch);
  EXPECT_EQ(timeline.names.text(timeline.slices[2].name), "Memcpy DtoH");
  EXPECT_EQ(timeline.slices[2].detail, 4096);
  EXPECT_EQ(timeline.gpus.at(0).name, "AMD Instinct MI300X");
  ASSERT_EQ(timeline.warnings.size(), 1U);
}

TEST_F(Rocprof, that_is_cut_off_is_refused) {
  EXPECT_THROW((void)timeline::read_timeline(file("a.json", std::string(results).substr(0, 700))), storage::ReadError);
}

}  // namespace
}  // namespace gpubench
