// SPDX-License-Identifier: Apache-2.0
// Whatever comes in: no exception, no number that is not one, shares that add to 1, a reason where nothing was decided.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "classifier/classifier.h"
#include "core/model/resources.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

void expect_sound(const Verdict& verdict) {
  EXPECT_TRUE(std::isfinite(verdict.confidence) && verdict.confidence >= 0.0 && verdict.confidence <= 1.0);
  EXPECT_TRUE(std::isfinite(verdict.model_seconds) && verdict.model_seconds >= 0.0);
  const double achieved = verdict.achieved.value_or(0.0);
  EXPECT_TRUE(std::isfinite(achieved) && achieved >= 0.0);
  double sum = 0.0;
  for (const auto& share : verdict.shares) {
    EXPECT_TRUE(share.fraction >= 0.0 && share.fraction <= 1.0) << share.resource << ' ' << share.fraction;
    EXPECT_FALSE(share.resource.empty());
    sum += share.fraction;
  }
  EXPECT_EQ(sum, 1.0);
  EXPECT_FALSE(verdict.evidence.empty());
  EXPECT_EQ(verdict.limiter.empty(), verdict.regime == Regime::unknown);
  EXPECT_EQ(verdict.evidence.find("nan"), std::string::npos) << verdict.evidence;
  EXPECT_EQ(verdict.evidence.find("inf"), std::string::npos) << verdict.evidence;
}

TEST(OddInput, Times) {
  for (const double seconds : {0.0, -1.0, not_a_number, infinity, 1e-320, 1e300}) {
    const auto verdict = classify(measured(seconds, streaming(1e9, 1e9)), gpu());
    expect_sound(verdict);
    if (seconds > 0.0 && std::isfinite(seconds)) continue;
    EXPECT_EQ(verdict.regime, Regime::unknown) << seconds;
  }
  auto none = measured(1e-3, streaming(1e9, 0.0));
  none.make_primary().seconds.reset();
  expect_sound(classify(none, gpu()));
  auto empty = measured(1e-3, streaming(1e9, 0.0));
  empty.make_primary().seconds->count = 0;
  EXPECT_EQ(classify(empty, gpu()).regime, Regime::unknown);
}

TEST(OddInput, WorkThatIsNoNumber) {
  for (const double bad : {not_a_number, infinity, -1.0}) {
    auto read = streaming(bad, 1.0);
    EXPECT_EQ(classify(measured(1e-3, read), gpu()).regime, Regime::unknown);
    auto flops = streaming(1e6, 1e6);
    flops.flops[fp32] = bad;
    EXPECT_EQ(classify(measured(1e-3, flops), gpu()).regime, Regime::unknown);
    auto footprint = streaming(1e6, 1e6);
    footprint.footprint_bytes = bad;
    expect_sound(classify(measured(1e-3, footprint), gpu()));
  }
  auto half = std::numeric_limits<double>::max();
  expect_sound(classify(measured(1e-3, streaming(half, half)), gpu()));
  expect_sound(classify(measured(1e-3, streaming(half, 0.0, half)), gpu()));
}

TEST(OddInput, Intervals) {
  for (const Interval interval :
       {Interval{not_a_number, not_a_number}, Interval{0.0, 0.0}, Interval{2.0, 1.0}, Interval{-infinity, infinity}}) {
    auto measurement = measured(3e-6, streaming(4e6, 4e6));
    measurement.make_primary().seconds->median_ci95 = interval;
    auto calibration = gpu();
    for (auto& each : calibration.ceilings) each.ci95 = interval;
    for (auto& level : calibration.levels) level.capacity_ci95 = interval;
    expect_sound(classify(measurement, calibration));
  }
}

double odd_number(std::mt19937_64& random, double scale) {
  static const std::vector<double> odd = {0.0, -0.0, not_a_number, infinity, -infinity, -1.0, 1e-320, 1e308, 1e-300};
  std::uniform_int_distribution<std::size_t> choice(0, 3 * odd.size());
  const auto i = choice(random);
  if (i < odd.size()) return odd[i];
  std::uniform_real_distribution<double> exponent(-6.0, 6.0);
  return scale * std::pow(10.0, exponent(random));
}

void add_what_else_there_may_be(Measurement& measurement, std::mt19937_64& random) {
  static const std::vector<std::string> names = {
      "dram_read_bytes", "dram_write_bytes", "l2_bytes",         "l1_bytes",   "issue_active",
      "sm_clock",        "flops_fp32",       "sm_active_cycles", "flops_half", "flops_tensor_bf16"};
  for (const auto& name : names) measurement.counters.push_back({name, odd_number(random, 1e6), "", "test"});
  for (const Resource& resource : all_resources())
    for (const std::string_view unit : resource.busy)
      if (!unit.empty() && random() % 2 == 0)
        measurement.counters.push_back({std::string(unit), odd_number(random, 50.0), "%", "test"});
  for (const char* const name : {"stalled_by_memory", "stalled_by_shared", "stalled_by_barrier", "l2_clock",
                                 "occupancy", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"})
    measurement.counters.push_back({name, odd_number(random, 10.0), "", "test"});
  if (random() % 4 == 0) measurement.absent_counters.push_back({"alu_busy", "refused"});
  if (random() % 2 == 0)
    measurement.launches = Launches{static_cast<std::int64_t>(random()), static_cast<std::int64_t>(random()),
                                    static_cast<std::int64_t>(random() % 1000), odd_number(random, 1e6)};
  if (random() % 4 == 0) measurement.conditions.emplace().throttle_reasons = {"power cap"};
  if (random() % 4 == 0)
    measurement.work.random = RandomAccesses{odd_number(random, 1e6), odd_number(random, 1e6), odd_number(random, 1e6)};
  for (std::size_t i = random() % 3; i > 0; --i) {
    KernelGroup& group = measurement.kernels.emplace_back();
    group.kind = static_cast<CommandKind>(random() % 3);
    group.launch.launches = static_cast<std::int64_t>(random() % 3);
    group.seconds = Estimate{odd_number(random, 1e-5), {odd_number(random, 1e-5), odd_number(random, 1e-5)}};
    group.counters = {{"alu_busy", odd_number(random, 50.0), "%", "test"}};
  }
  measurement.counters.push_back(
      {"sm__throughput.avg.pct_of_peak_sustained_elapsed", odd_number(random, 50.0), "", ""});
  measurement.counters.push_back(
      {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", odd_number(random, 50.0), "", ""});
  measurement.grid = Grid{static_cast<std::int64_t>(random()), static_cast<std::int64_t>(random() % 3)};
  measurement.make_primary().clock = TimingMode::stream;
  Timing device;
  device.clock = TimingMode::device;
  device.seconds = measurement.seconds();
  device.seconds->median = odd_number(random, 1e-5);
  device.kernel_overhead_seconds = Estimate{odd_number(random, 1e-6), {}};
  measurement.timings.push_back(device);
  for (int i = 0; i < 10; ++i) {
    measurement.make_primary().samples_seconds.push_back(odd_number(random, 1e-5));
    measurement.make_primary().samples_clock_hz.push_back(odd_number(random, 1e9));
  }
}

void expect_sound_advice(const Verdict& verdict) {
  for (const auto& advice : verdict.advice) {
    EXPECT_TRUE(std::isfinite(advice.gain.value_or(1.0)) && advice.gain.value_or(2.0) > 1.0);
    EXPECT_TRUE(advice.code) << advice.action;
    EXPECT_EQ(advice.evidence.find("nan"), std::string::npos) << advice.evidence;
  }
  for (const auto& check : verdict.cross_checks)
    EXPECT_EQ(check.evidence.find("nan"), std::string::npos) << check.evidence;
}

// Sizes a hair apart, beyond what a double tells apart, and two only.
TEST(OddInput, CloseSizesEndInTime) {
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
           {1'000'000'000, 1'000'000'001, 1'000'000'002, 1'000'000'003},
           {9'000'000'000'000'000'000, 9'000'000'000'000'000'001, 9'000'000'000'000'000'002},
           {1, 2},
           {5, 5, 5}}) {
    gpubench::Run run;
    run.calibrations = {gpu()};
    for (const auto n : sizes) {
      auto measurement = measured(3e-6, streaming(1e6, 1e6));
      measurement.arguments = {{"n", n}};
      run.points.push_back({measurement, std::nullopt});
    }
    ASSERT_NO_THROW(classify(run));
    for (const auto& boundary : run.boundaries) EXPECT_TRUE(std::isfinite(boundary.at));
  }
}

TEST(OddInput, RandomNonsense) {
  std::mt19937_64 random(99);
  std::uniform_int_distribution<int> coin(0, 1);
  std::uniform_int_distribution<std::size_t> pipe(0, pipe_names.size() - 1);
  for (int trial = 0; trial < 1500; ++trial) {
    gpubench::Run run;
    auto calibration = coin(random) != 0 ? gpu() : cpu();
    calibration.device.id = "x";
    for (auto& each : calibration.ceilings)
      if (coin(random) != 0) {
        Ceiling odd;
        odd.resource = each.resource;
        odd.value = odd_number(random, each.value);
        odd.ci95 = {odd_number(random, 1.0), odd_number(random, 1.0)};
        odd.repeats = coin(random);
        odd.clock_hz = odd_number(random, 1e9);
        each = odd;
      }
    for (auto& level : calibration.levels)
      if (coin(random) != 0) level.capacity_bytes = odd_number(random, 1e6);
    run.calibrations = {calibration};
    for (std::int64_t i = -1; i < 5; ++i) {
      Work work = streaming(odd_number(random, 1e6), odd_number(random, 1e6));
      work.flops[static_cast<Pipe>(pipe(random))] = odd_number(random, 1e9);
      if (coin(random) != 0) work.footprint_bytes = odd_number(random, 1e6);
      auto measurement = measured(odd_number(random, 1e-5), work, "x");
      measurement.make_primary().seconds->median_ci95 = {odd_number(random, 1e-5), odd_number(random, 1e-5)};
      measurement.clock_hz = odd_number(random, 1e9);
      if (coin(random) != 0) add_what_else_there_may_be(measurement, random);
      measurement.arguments = {{"", i}};
      run.points.push_back({measurement, std::nullopt});
    }
    ASSERT_NO_THROW(classify(run));
    for (const auto& point : run.points) {
      ASSERT_TRUE(point.verdict);
      expect_sound(*point.verdict);
      expect_sound_advice(*point.verdict);
    }
    for (const auto& boundary : run.boundaries) {
      EXPECT_TRUE(std::isfinite(boundary.at) && boundary.at >= -1.0 && boundary.at <= 8.0);
      const auto interval = boundary.ci95.value_or(Interval{boundary.at, boundary.at});
      EXPECT_TRUE(interval.low <= boundary.at && boundary.at <= interval.high);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace gpubench::classifier
