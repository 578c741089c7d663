// SPDX-License-Identifier: Apache-2.0

#include "profile/verdicts.h"
#include "tests/matchers.h"

namespace gpubench::profile {
namespace {

constexpr FixedCosts costs{.record_seconds = 0.5e-6, .launch_seconds = 1.25e-6};

TEST(RecordedTimings, AreWithoutTheCostsOfTheirRecords) {
  const auto timings =
      timings_of({.durations_ns = {3000, 3500, 4000}, .kernels = 2, .launches = 3, .method = "m"}, costs);
  ASSERT_EQ(timings.size(), 2U);
  EXPECT_EQ(timings[0].clock, TimingMode::device);
  EXPECT_NEAR(timings[0].seconds->median, 2.5e-6, 1e-15);
  EXPECT_NEAR(timings[0].kernel_overhead_seconds->value, 1.0e-6, 1e-15);
  EXPECT_EQ(timings[0].samples_seconds.size(), 3U);
  EXPECT_EQ(timings[0].method, "m, less the calibrated kernel overhead");
  EXPECT_EQ(timings[1].clock, TimingMode::stream);
  EXPECT_NEAR(timings[1].seconds->median, 6.25e-6, 1e-15);
  EXPECT_TRUE(timings[1].samples_seconds.empty());
}

TEST(RecordedTimings, NeverFallBelowAStepOfTheClock) {
  const auto timings = timings_of({.durations_ns = {300, 400}, .method = ""}, costs);
  EXPECT_GE(timings[0].seconds->minimum, min_seconds);
}

TEST(RecordedTimings, OfCopiesAndWithoutCeilingsAreAsRecorded) {
  const auto copy = timings_of({.durations_ns = {3000}, .kernels = 0, .launches = 0, .method = "m"}, costs);
  EXPECT_NEAR(copy[0].seconds->median, 3e-6, 1e-15);
  EXPECT_EQ(copy[0].method, "m");
  EXPECT_EQ(copy[1].seconds, copy[0].seconds);
  const auto copy_of_an_operator = timings_of({.durations_ns = {3000}, .kernels = 0, .method = "m"}, costs);
  EXPECT_NEAR(copy_of_an_operator[0].seconds->median, 3e-6, 1e-15);
  EXPECT_NEAR(copy_of_an_operator[1].seconds->median, 4.25e-6, 1e-15);
  const auto unknown = timings_of({.durations_ns = {3000}, .method = "m"}, std::nullopt);
  EXPECT_THAT(unknown[0].method, HasSubstr("the calibration has no graph-node"));
  EXPECT_FALSE(unknown[0].kernel_overhead_seconds);
}

TEST(RecordedTimings, KeepEverySoManiethSample) {
  RecordedTimes times{.durations_ns = std::vector<std::int64_t>(1000, 5000), .method = "m"};
  EXPECT_EQ(timings_of(times, costs)[0].samples_seconds.size(), max_samples);
  times.durations_ns.resize(max_samples);
  EXPECT_EQ(timings_of(times, costs)[0].samples_seconds.size(), max_samples);
}

/// 3 us of which 1 us is the overhead of a kernel, and the rest at 0.4 of the ceiling.
TEST(RecordedTimings, AtTheRoofKeepTheOverheadOfTheirKernels) {
  Point point;
  point.measurement.timings = timings_of({.durations_ns = {3000}, .kernels = 2, .method = ""}, costs);
  EXPECT_FALSE(roof_share(point));
  Verdict& verdict = point.verdict.emplace();
  EXPECT_FALSE(roof_share(point));
  verdict.regime = Regime::memory;
  EXPECT_FALSE(roof_share(point));
  verdict.achieved = 0.4;
  EXPECT_NEAR(roof_share(point).value(), (1.0 + 2.0 * 0.4) / 3.0, 1e-9);
  verdict.achieved = 1.03;
  EXPECT_DOUBLE_EQ(roof_share(point).value(), 1.0);
  verdict.regime = Regime::overhead;
  verdict.achieved.reset();
  EXPECT_DOUBLE_EQ(roof_share(point).value(), 1.0);
}

}  // namespace
}  // namespace gpubench::profile
