// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/gpu/copies.h"

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

TEST(Copies, have_bytes_and_bandwidth_by_direction) {
  Sample sample;
  sample.slice(SliceKind::copy, sample.stream, 0, 100, "Memcpy HtoD (Pageable -> Device)").detail = 1000;
  sample.slice(SliceKind::copy, sample.other_stream, 50, 250, "Memcpy HtoD (Pinned -> Device)").detail = 1000;
  sample.slice(SliceKind::copy, sample.stream, 300, 400, "Memcpy HtoD (Pinned -> Device)");
  sample.slice(SliceKind::fill, sample.stream, 500, 501, "Memset (Device)").detail = 4;
  const auto all = timeline::copy_times(sample.sorted());
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].name, "Memcpy HtoD");
  EXPECT_EQ(all[0].count, 3);
  EXPECT_EQ(all[0].bytes, 2000);
  EXPECT_EQ(all[0].without_bytes, 1);
  EXPECT_EQ(all[0].time_ns, 400);
  EXPECT_DOUBLE_EQ(all[0].bytes_per_second.max, 10e9);
  EXPECT_THAT(all[0].steps, ElementsAre(Pair(0, DoubleEq(10e9)), Pair(50, DoubleEq(15e9)), Pair(100, DoubleEq(5e9)),
                                        Pair(250, DoubleEq(0))));
  EXPECT_EQ(all[1].name, "Memset");
}

}  // namespace
}  // namespace gpubench
