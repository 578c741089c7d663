// SPDX-License-Identifier: Apache-2.0
#include "main/run/post_timing.h"

#include <gtest/gtest.h>

#include "main/run/run_options.h"
#include "tests/matchers.h"

namespace gpubench {
namespace {

using testing::Field;

Point timed(const std::string& name) {
  Point point;
  point.measurement.name = name;
  point.measurement.device = "cuda:99";
  point.measurement.make_primary().seconds = Summary{};
  return point;
}

Point failed(const std::string& name) {
  Point point = timed(name);
  point.measurement.make_primary().seconds.reset();
  point.measurement.failure = Failure{};
  return point;
}

TEST(AfterTiming, AGpuThatCannotBeOpenedAgainCostsCountersAlone) {
  Plan plan;
  plan.device.id = "cuda:99";
  plan.device.kind = DeviceKind::gpu;
  RunOptions options;
  options.metrics = {"l2_bytes", "dram_read_bytes"};
  std::vector<Point> points = {timed("a"), failed("b"), timed("c")};
  const auto counting = run_post_timing(post_timing_steps(options).at(0), plan, "", options, points, {});
  ASSERT_THAT(counting.warnings, SizeIs(1));
  EXPECT_THAT(counting.warnings[0], HasSubstr("No counters on cuda:99: "));
  EXPECT_EQ(counting.points, 0U);
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_TRUE(points[i].measurement.seconds());
    EXPECT_THAT(points[i].measurement.absent_counters,
                ElementsAre(Field(&AbsentCounter::name, "dram_read_bytes"), Field(&AbsentCounter::name, "l2_bytes")));
  }
  EXPECT_THAT(points[1].measurement.absent_counters, IsEmpty());
}

TEST(AfterTiming, PointsOfAProcessThatDidNotCountSayWhy) {
  RunOptions options;
  std::vector<Point> points = {timed("a"), failed("b"), timed("c"), timed("d")};
  points[2].measurement.absent_counters = {{"l2_bytes", "the driver keeps it"}};
  points[3].measurement.counters = {{"l2_bytes", 1.0, "bytes", "fake"}};
  EXPECT_FALSE(mark_uncounted(points, options)) << "nothing was asked for";
  EXPECT_THAT(points[0].measurement.absent_counters, IsEmpty());
  options.metrics = {"l2_bytes"};
  const auto warning = mark_uncounted(points, options);
  ASSERT_TRUE(warning);
  EXPECT_THAT(*warning, HasSubstr("1 of 4 points"));
  EXPECT_THAT(points[0].measurement.absent_counters,
              ElementsAre(AbsentCounter{"l2_bytes", "its process ended before it counted"}));
  EXPECT_THAT(points[1].measurement.absent_counters, IsEmpty());
  EXPECT_EQ(points[2].measurement.absent_counters[0].reason, "the driver keeps it");
  EXPECT_THAT(points[3].measurement.absent_counters, IsEmpty());
  EXPECT_FALSE(mark_uncounted(points, options)) << "said already";
}

}  // namespace
}  // namespace gpubench
