// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/gpu/idle.h"

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

TEST(StreamIdle, has_the_causes_of_hta) {
  Sample sample;
  sample.kernel(0, 2, 10, 100);
  sample.kernel(110, 115, 130, 200);  // called after the end: the host's
  sample.kernel(150, 155, 229, 300);  // called in time, 29 ns: the kernel's
  sample.kernel(151, 156, 330, 400);  // called in time, 30 ns: other
  sample.slice(SliceKind::kernel, sample.stream, 410, 420, "of no call");
  sample.slice(SliceKind::kernel, sample.stream, 600, 610, "of no call");
  const auto idle = timeline::stream_idle(sample.sorted(), 30);
  ASSERT_THAT(idle, SizeIs(1));
  EXPECT_EQ(idle[0].host_ns, 30);
  EXPECT_EQ(idle[0].kernel_ns, 29 + 10);
  EXPECT_EQ(idle[0].other_ns, 30 + 180);
  EXPECT_EQ(timeline::stream_idle(sample.timeline, 1000)[0].kernel_ns, 29 + 30 + 10 + 180);
}

}  // namespace
}  // namespace gpubench
