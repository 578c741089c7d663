// SPDX-License-Identifier: Apache-2.0
// Recorded times held against device times: plain figures, no records.
#include "tests/truth/activity/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "bench/activity/records.h"
#include "bench/timing/difference_timer.h"
#include "tests/bench/device_timed.h"
#include "tests/bench/fake_activity_source.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

Comparison compared(double recorded_seconds, Interval interval, const Measurement& measurement) {
  ActivityCheck check;
  check.seconds = Estimate{recorded_seconds, interval};
  return compare(check, measurement);
}

Comparison compared(double recorded_seconds, const Measurement& measurement) {
  return compared(recorded_seconds, {recorded_seconds, recorded_seconds}, measurement);
}

TEST(Agreement, TheFixedCostIsPutBackAndItsIntervalPlaysNoPart) {
  const Comparison check = compared(2.55e-6, timed(2.0e-6, 0.5e-6));
  EXPECT_EQ(check.agreement, Agreement::agrees);
  ASSERT_TRUE(check.expected_seconds);
  EXPECT_NEAR(check.expected_seconds->value, 2.5e-6, 1e-15);
  EXPECT_NEAR(check.expected_seconds->ci95.low, 2.5e-6, 1e-15);
  EXPECT_NEAR(check.expected_seconds->ci95.high, 2.5e-6, 1e-15);
}

TEST(Agreement, AQuarterOfAMicrosecondAKernelIsAllowedToShortOnes) {
  EXPECT_EQ(compared(2.74e-6, timed(2.0e-6, 0.5e-6)).agreement, Agreement::agrees);
  EXPECT_EQ(compared(2.26e-6, timed(2.0e-6, 0.5e-6)).agreement, Agreement::agrees);
  EXPECT_EQ(compared(2.76e-6, timed(2.0e-6, 0.5e-6)).agreement, Agreement::disagrees);
  EXPECT_EQ(compared(2.24e-6, timed(2.0e-6, 0.5e-6)).agreement, Agreement::disagrees);
  EXPECT_NEAR(*compared(2.71e-6, timed(2.0e-6, 0.5e-6)).tolerance_seconds, 0.25e-6, 1e-18);
  ActivityCheck two;
  two.seconds = Estimate{2.89e-6, {2.89e-6, 2.89e-6}};
  two.kernels.resize(2);
  EXPECT_EQ(compare(two, timed(2.0e-6, 0.5e-6)).agreement, Agreement::agrees);
}

TEST(Agreement, LongOnesMayBeRecordedThreePercentLongerAndTwoShorter) {
  EXPECT_EQ(compared(1.029e-3, timed(0.9995e-3, 0.5e-6)).agreement, Agreement::agrees);
  EXPECT_EQ(compared(0.982e-3, timed(0.9995e-3, 0.5e-6)).agreement, Agreement::agrees);
  EXPECT_EQ(compared(1.033e-3, timed(0.9995e-3, 0.5e-6)).agreement, Agreement::disagrees);
  EXPECT_EQ(compared(0.979e-3, timed(0.9995e-3, 0.5e-6)).agreement, Agreement::disagrees);
}

/// Of so many kernels, whose gaps are known: only what a record has beyond its device time varies.
Agreement of_kernels(std::int64_t kernels, double longer_by_seconds) {
  const auto each = static_cast<double>(kernels);
  const double recorded = each * (1.0e-6 + 0.5e-6) + longer_by_seconds;
  ActivityCheck check;
  check.seconds = Estimate{recorded, {recorded, recorded}};
  check.recording_seconds = with_half_width(0.5e-6, 0.0);
  check.usual_gap_seconds = with_half_width(0.3e-6, 0.0);
  check.gap_seconds = with_half_width(each * 0.3e-6, 0.0);
  check.kernels.resize(static_cast<std::size_t>(kernels));
  return compare(check, timed(each * 1.0e-6, each * 0.5e-6)).agreement;
}

TEST(Agreement, ShortKernelsMayBeRecordedTwiceAsMuchLongerAsShorter) {
  for (const std::int64_t kernels : {1, 3}) {
    const auto each = static_cast<double>(kernels);
    EXPECT_EQ(of_kernels(kernels, each * 0.19e-6), Agreement::agrees);
    EXPECT_EQ(of_kernels(kernels, each * 0.21e-6), Agreement::disagrees);
    EXPECT_EQ(of_kernels(kernels, each * -0.09e-6), Agreement::agrees);
    EXPECT_EQ(of_kernels(kernels, each * -0.11e-6), Agreement::disagrees);
  }
}

TEST(Agreement, IntervalsThatMeetAreNoContradiction) {
  Measurement measurement = timed(2.0e-6, 0.5e-6);
  measurement.timings[1].seconds->median_ci95 = {1.9e-6, 2.2e-6};
  // 3.0 less the 0.35 that its interval reaches down, and 2.5 plus the 0.2 that the other reaches up: they overlap.
  EXPECT_EQ(compared(3.0e-6, {2.65e-6, 3.0e-6}, measurement).agreement, Agreement::agrees);
  EXPECT_EQ(compared(3.0e-6, {2.75e-6, 9.0e-6}, measurement).agreement, Agreement::disagrees)
      << "the far end of an interval does not count";
  EXPECT_EQ(compared(2.2e-6, {2.0e-6, 2.41e-6}, measurement).agreement, Agreement::agrees);
  EXPECT_EQ(compared(2.2e-6, {2.0e-6, 2.35e-6}, measurement).agreement, Agreement::disagrees);
}

TEST(Agreement, AMeasurementByTheDeviceClockIsItsOwnDeviceTime) {
  Measurement measurement = timed(1.0, 1.0);
  measurement.timings.resize(1);
  measurement.make_primary().clock = TimingMode::device;
  measurement.make_primary().seconds->median = 2.0e-6;
  measurement.make_primary().seconds->median_ci95 = {2.0e-6, 2.0e-6};
  measurement.make_primary().kernel_overhead_seconds = Estimate{0.5e-6, {}};
  EXPECT_EQ(compared(2.5e-6, measurement).agreement, Agreement::agrees);
}

TEST(Agreement, WhatDoesNotCompareSaysWhy) {
  const auto reason = [](const Measurement& measurement, std::int64_t copies = 0) {
    ActivityCheck check;
    check.seconds = Estimate{1e-6, {}};
    check.copies = copies;
    const Comparison comparison = compare(check, measurement);
    EXPECT_EQ(comparison.agreement, Agreement::not_compared);
    EXPECT_FALSE(comparison.tolerance_seconds);
    return comparison.reason;
  };
  const Measurement good = timed(1e-6, 0.5e-6);
  EXPECT_THAT(reason(good, 1), HasSubstr("copies and fills"));
  Measurement bad = good;
  bad.timings.resize(1);
  EXPECT_THAT(reason(bad), HasSubstr("measure it with --time=device"));
  bad = good;
  bad.timings[1].seconds.reset();
  bad.timings[1].reason = "it waits for the GPU";
  EXPECT_THAT(reason(bad), HasSubstr("no device time to compare with: it waits for the GPU"));
  bad = good;
  bad.timings[1].kernel_overhead_seconds.reset();
  EXPECT_THAT(reason(bad), HasSubstr("could not be measured"));
  bad = good;
  bad.timings[1].method = std::string(blocked_batches) + " of 3 and 13 executions";
  EXPECT_THAT(reason(bad), HasSubstr("could not be captured"));
}

/// What a record has beyond the device time is known: 0.8 us a kernel.
Comparison compared_without_recording(double recorded_seconds, const Measurement& measurement) {
  ActivityCheck check;
  check.seconds = Estimate{recorded_seconds, {recorded_seconds, recorded_seconds}};
  check.recording_seconds = Estimate{0.8e-6, {0.8e-6, 0.8e-6}};
  return compare(check, measurement);
}

TEST(Agreement, WhatRecordingAddsIsTakenOff) {
  EXPECT_EQ(compared_without_recording(2.80e-6, timed(2.0e-6, 0.5e-6)).agreement, Agreement::agrees);
  EXPECT_NEAR(compared_without_recording(2.80e-6, timed(2.0e-6, 0.5e-6)).expected_seconds->value, 2.8e-6, 1e-15);
  EXPECT_EQ(compared_without_recording(2.50e-6, timed(2.0e-6, 0.5e-6)).agreement, Agreement::disagrees);
}

TEST(Agreement, ADeviceTimeThatIsFivePercentOffIsFoundFromSixMicrosecondsOn) {
  for (const double truth : {6e-6, 8e-6, 20e-6, 1e-3, 0.1})
    for (const double error : {0.95, 1.05})
      EXPECT_EQ(compared_without_recording(truth + 0.8e-6, timed(error * truth, 0.5e-6)).agreement,
                Agreement::disagrees)
          << truth << " x " << error;
}

TEST(Agreement, RecordingSlowsTheStartOfBlocks) {
  auto many_blocks = timed(100e-6, 0.5e-6);
  const double recorded = 100.5e-6 + 0.3e-6 + 8e-6;
  EXPECT_EQ(compared_without_recording(recorded, many_blocks).agreement, Agreement::disagrees);
  many_blocks.launches = Launches{1, 100000, 100000};
  EXPECT_EQ(compared_without_recording(recorded, many_blocks).agreement, Agreement::agrees);
  EXPECT_EQ(compared_without_recording(100.8e-6 - 8e-6, many_blocks).agreement, Agreement::disagrees);
}

TEST(Agreement, BlocksThatOnlyTheRecordsTellCountToo) {
  const double recorded = 100.5e-6 + 0.3e-6 + 8e-6;
  ActivityCheck check;
  check.seconds = Estimate{recorded, {recorded, recorded}};
  check.recording_seconds = Estimate{0.8e-6, {0.79e-6, 0.81e-6}};
  KernelLaunch kernel;
  kernel.grid = {100000, 1, 1};
  kernel.block = {256, 1, 1};
  check.kernels = {kernel};
  EXPECT_EQ(compare(check, timed(100e-6, 0.5e-6)).agreement, Agreement::agrees);
}

/// Records as on an H200: 101 of them in steps of 32 ns, scattered by 60 ns, all of one point off by what launch
/// shapes differ in, up to 50 ns (docs/results/h200/agreement.md).
TEST(Agreement, HardlyACorrectPointIsAFalseAlarm) {
  std::mt19937 random(1);
  std::normal_distribution<double> scatter(0.0, 60.0);
  std::uniform_real_distribution<double> shape(-50.0, 50.0);
  constexpr int points = 1000;
  int alarms = 0;
  for (int point = 0; point < points; ++point) {
    const double nanoseconds = 2800.0 + shape(random);
    std::vector<std::uint64_t> durations(101);
    for (auto& duration : durations)
      duration = 32 * static_cast<std::uint64_t>(std::lround((nanoseconds + scatter(random)) / 32.0));
    FakeGpu gpu;
    gpu.recording = true;
    for (const std::uint64_t duration : durations) gpu.runs("copy", duration);
    ActivityCheck check = summarize(gpu.kept, 0, 101).check;
    check.recording_seconds = Estimate{0.8e-6, {0.79e-6, 0.81e-6}};
    if (compare(check, timed(2.0e-6, 0.5e-6)).agreement != Agreement::agrees) ++alarms;
  }
  EXPECT_LE(alarms, points / 100);
}

TEST(Agreement, AnotherClockIsNoContradiction) {
  for (const double seconds : {100e-6, 90e-6}) {
    Measurement measurement = timed(seconds, 0.5e-6);
    measurement.clock_hz = 1.98e9;
    ActivityCheck check;
    check.seconds = with_half_width(110.3e-6, 0.0);
    check.recording_seconds = with_half_width(0.8e-6, 0.0);
    check.clock_hz = 1.8e9;
    EXPECT_EQ(compare(check, measurement).agreement, seconds == 100e-6 ? Agreement::agrees : Agreement::disagrees);
  }
}

}  // namespace
}  // namespace gpubench::bench
