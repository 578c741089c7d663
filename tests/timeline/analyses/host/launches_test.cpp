// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/host/launches.h"

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

constexpr std::int64_t us = 1000;

TEST(Launches, have_the_statistics_of_hta) {
  Sample sample;
  sample.kernel(0, 10, 15, 20);                           // shorter than its call; 5 ns late
  sample.kernel(20, 30, 25, 75);                          // starts before its call returns: no delay
  sample.kernel(100, 100 + 60 * us, 300 * us, 301 * us);  // a slow call and a late start
  sample.slice(SliceKind::kernel, sample.stream, 400 * us, 401 * us, "of no call");
  const auto all = timeline::launch_times(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].call_ns.count, 3);
  EXPECT_DOUBLE_EQ(all[0].call_ns.p50, 10);
  EXPECT_DOUBLE_EQ(all[0].work_ns.max, 1 * us);
  EXPECT_DOUBLE_EQ(all[0].delay_ns.min, 0);
  EXPECT_DOUBLE_EQ(all[0].delay_ns.p50, 5);
  EXPECT_EQ(all[0].shorter_work, 2);
  EXPECT_EQ(all[0].slow_calls, 1);
  EXPECT_EQ(all[0].late_starts, 1);
  EXPECT_EQ(all[0].without_call, 1);
}

TEST(Launches, of_a_graph_are_one_of_many_works) {
  Sample sample;
  sample.slice(SliceKind::launch, sample.thread, 0, 1000, "cudaGraphLaunch", 1);
  for (int i = 0; i < 500; ++i) sample.slice(SliceKind::kernel, sample.stream, 1100 + i * 10, 1105 + i * 10, "node", 1);
  sample.correlation = 1;
  for (int i = 0; i < 3; ++i) sample.kernel(2000 + i * 10, 2008 + i * 10, 7000 + i * 10, 7005 + i * 10);
  const auto all = timeline::launch_times(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].call_ns.count, 4);
  EXPECT_DOUBLE_EQ(all[0].call_ns.p50, 8);
  EXPECT_EQ(all[0].works, 503);
  EXPECT_DOUBLE_EQ(all[0].works_of_call.max, 500);
  EXPECT_EQ(all[0].shorter_work, 3) << "the graph's works together take longer than its call";
}

TEST(QueueLength, rises_with_calls_and_falls_with_starts) {
  Sample sample;
  sample.kernel(0, 5, 30, 40);
  sample.kernel(10, 15, 40, 50);
  sample.kernel(20, 25, 50, 60);
  sample.kernel(90, 95, 100, 110);
  const auto all = timeline::queue_lengths(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all[0].steps, ElementsAre(Pair(0, 1), Pair(10, 2), Pair(20, 3), Pair(30, 2), Pair(40, 1), Pair(50, 0),
                                        Pair(90, 1), Pair(100, 0)));
  EXPECT_DOUBLE_EQ(all[0].at_steps.mean, 10.0 / 8);
  EXPECT_DOUBLE_EQ(all[0].mean, (10 + 20 + 30 + 20 + 10 + 0 + 10) / 100.0);
  EXPECT_DOUBLE_EQ(all[0].empty_share, 0.4);
  // Clocks that differ make no negative length.
  Sample early;
  early.kernel(10, 20, 5, 30);
  EXPECT_DOUBLE_EQ(timeline::queue_lengths(early.sorted())[0].at_steps.min, 0);
}

TEST(LaunchBound, is_a_row_of_work_that_found_the_gpu_idle) {
  Sample sample;
  sample.kernel(0, 5, 10, 20);
  for (int i = 1; i <= 20; ++i) sample.kernel(i * 100, i * 100 + 5, i * 100 + 10, i * 100 + 20);
  for (int i = 1; i <= 20; ++i) sample.kernel(2020 + i, 2021 + i, 3000 + i * 10, 3010 + i * 10);  // queued
  const auto all = timeline::launch_bound(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].start_ns, 20);
  EXPECT_EQ(all[0].works, 21);
  EXPECT_EQ(all[0].end_ns, 3020);
  EXPECT_EQ(all[0].idle_ns, 20 * 90 + 3010 - 2020);
  Sample few;
  for (int i = 0; i < 10; ++i) few.kernel(i * 100, i * 100 + 5, i * 100 + 10, i * 100 + 20);
  EXPECT_THAT(timeline::launch_bound(few.sorted()), IsEmpty());
}

}  // namespace
}  // namespace gpubench
