// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/gpu/kernels.h"

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

TEST(Kernels, by_stream_and_by_range) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 100, "step");
  sample.kernel(10, 20, 30, 40, "a");
  sample.kernel(50, 60, 70, 90, "a");
  sample.kernel(110, 120, 130, 140, "a");
  sample.slice(SliceKind::kernel, sample.other_stream, 130, 135, "a");
  const auto& timeline = sample.sorted();
  const auto by_name = timeline::kernel_times(timeline, timeline::KernelsBy::name);
  ASSERT_THAT(by_name, SizeIs(1));
  EXPECT_EQ(by_name[0].total_ns, 45);
  EXPECT_EQ(by_name[0].self_ns, 35);
  const auto by_stream = timeline::kernel_times(timeline, timeline::KernelsBy::stream);
  ASSERT_THAT(by_stream, SizeIs(2));
  EXPECT_EQ(by_stream[0].place, sample.stream);
  EXPECT_EQ(by_stream[1].total_ns, 5);
  timeline::StringPool paths;
  const auto by_range = timeline::kernel_times(timeline, timeline::KernelsBy::range, &paths);
  ASSERT_THAT(by_range, SizeIs(2));
  EXPECT_EQ(paths.text(by_range[0].place), "step");
  EXPECT_EQ(by_range[0].total_ns, 30);
}

}  // namespace
}  // namespace gpubench
