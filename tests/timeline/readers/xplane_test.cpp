// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <string>

#include "core/storage/storage.h"
#include "tests/in_folder.h"
#include "tests/matchers.h"
#include "timeline/readers.h"
#include "timeline/structure/correlations.h"

namespace gpubench {
namespace {

using timeline::SliceKind;

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>((value & 127U) | 128U);
  return bytes + static_cast<char>(value);
}
std::string field(std::uint64_t number, std::uint64_t value) { return varint(number << 3) + varint(value); }
std::string field(std::uint64_t number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}
/// Names that events and their statistics have, as an entry of a plane's map.
std::string named(std::uint64_t map, std::uint64_t id, const std::string& name) {
  return field(map, field(1, id) + field(2, field(1, id) + field(2, name)));
}
std::string event(std::uint64_t name, std::uint64_t offset_ps, std::uint64_t length_ps, std::uint64_t correlation,
                  const std::string& more = "") {
  return field(4, field(1, name) + field(2, offset_ps) + field(3, length_ps) +
                      field(4, field(1, 1) + field(4, correlation)) + more);
}

/// As JAX's profiler writes it: a thread of the host and a stream of a GPU.
std::string space() {
  const std::string host = field(1, 1) + field(2, "/host:CPU") +
                           field(3, field(1, 5) + field(2, "python3") + field(3, 1'000'000) +
                                        event(1, 2'000'000, 3'000'000, 77) + event(2, 9'000'000, 1'000'000, 0)) +
                           named(4, 1, "cuLaunchKernel") + named(4, 2, "train_step") + named(5, 1, "correlation_id");
  const std::string gpu =
      field(1, 2) + field(2, "/device:GPU:1") +
      field(3, field(1, 13) + field(2, "Stream #13(Compute)") + field(3, 1'000'000) +
                   event(1, 20'000'000, 5'000'000, 77,
                         field(4, field(1, 2) +
                                      field(5, "regs:32 static_shared:0 dynamic_shared:16 grid:4,1,1 block:128,1,1"))) +
                   event(2, 30'000'500, 1'000'500, 0)) +
      named(4, 1, "fusion_1") + named(4, 2, "MemcpyD2H") + named(5, 1, "correlation_id") +
      named(5, 2, "kernel_details");
  return field(1, host) + field(1, gpu);
}

class XPlane : public InFolder {};

TEST_F(XPlane, has_the_kernels_of_each_stream_with_their_calls) {
  const timeline::Timeline timeline = timeline::read_timeline(file("a.xplane.pb", space()));
  ASSERT_EQ(timeline.slices.size(), 4U);
  const timeline::Linked linked(timeline);
  const timeline::Slice& kernel = timeline.slices[2];
  EXPECT_EQ(timeline.names.text(kernel.name), "fusion_1");
  EXPECT_EQ(kernel.kind, SliceKind::kernel);
  EXPECT_EQ(kernel.start_ns, 18'000) << "from the first event";
  EXPECT_EQ(kernel.duration_ns, 5'000);
  EXPECT_EQ(timeline.tracks[kernel.track].device, 1);
  EXPECT_EQ(timeline.shapes.at(static_cast<std::size_t>(kernel.detail)).registers, 32U);
  ASSERT_NE(linked.call_of(2), nullptr);
  EXPECT_EQ(linked.call_of(2)->kind, SliceKind::launch);
  EXPECT_EQ(timeline.slices[3].kind, SliceKind::copy);
  EXPECT_EQ(timeline.slices[3].duration_ns, 1'001) << "picoseconds of start and length together";
}

TEST_F(XPlane, that_is_damaged_is_refused_or_read_as_far_as_it_goes) {
  const std::string whole = space();
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    try {
      EXPECT_LE(timeline::read_timeline(file("a.xplane.pb", whole.substr(0, size))).slices.size(), 4U);
    } catch (const storage::ReadError& error) {
      EXPECT_THAT(error.what(), HasSubstr("xplane"));
    }
  }
  std::string odd = whole;
  for (std::size_t i = 16; i < odd.size(); i += 3) {
    odd[i] = static_cast<char>(odd[i] ^ 0x55);
    try {
      (void)timeline::read_timeline(file("a.xplane.pb", odd));
    } catch (const storage::ReadError&) {  // a sentence is enough
    }
  }
}

}  // namespace
}  // namespace gpubench
