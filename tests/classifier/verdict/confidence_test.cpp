// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/confidence.h"

#include <gtest/gtest.h>

#include <cmath>

#include "classifier/model/machine.h"

namespace gpubench::classifier {
namespace {

Prediction memory_and_pipe(double memory, double pipe) {
  Prediction prediction;
  prediction.launch = Launch{1e-3, 0.0};
  prediction.resources = {{"dram", ResourceKind::memory, memory, 0.0}, {"fp32", ResourceKind::pipe, pipe, 0.0}};
  return prediction;
}

Time at(double seconds, double sigma) {
  Time time;
  time.seconds = seconds;
  time.sigma = sigma;
  return time;
}

/// What the rules would decide of it does not count.
PointAnalysis case_of(Regime regime, const Time& time, const Prediction& prediction) {
  static const Measurement measurement = [] {
    Measurement declared;
    declared.work.flops[fp32] = 1.0;  // of the pipe in predictions
    return declared;
  }();
  static const Machine machine;
  return {measurement, machine, time, prediction, regime};
}

// Both sides of the ridge carry the model's 5 %, so a ratio of exp(5 % * sqrt 2) is one standard deviation.
TEST(Confidence, OneStandardDeviationFromTheRidge) {
  const auto prediction = memory_and_pipe(std::exp(0.05 * std::sqrt(2.0)), 1.0);
  const auto confidence = confidence_of(case_of(Regime::memory, at(1.1, 0.0), prediction));
  EXPECT_NEAR(confidence.probability, 0.841345, 0.01);
  EXPECT_EQ(confidence.runner_up, Regime::compute);
}

TEST(Confidence, OneStandardDeviationFromLatency) {
  const auto prediction = memory_and_pipe(1.0, 0.1);
  const double seconds = 1e-3 + 1.5 * std::exp(-0.05);
  const auto memory = confidence_of(case_of(Regime::memory, at(seconds, 0.0), prediction));
  EXPECT_NEAR(memory.probability, 0.841345, 0.005);
  EXPECT_EQ(memory.runner_up, Regime::latency);
  const auto latency = confidence_of(case_of(Regime::latency, at(1e-3 + 1.5 * std::exp(0.05), 0.0), prediction));
  EXPECT_EQ(latency.runner_up, Regime::memory);
  EXPECT_NEAR(latency.runner_up_probability, 1.0 - 0.841345, 0.005);
}

TEST(Confidence, UnitsThatNobodyCountedMayBeWhatLimits) {
  auto prediction = memory_and_pipe(1.0, 0.1);
  const Measurement measurement;
  for (const bool counted : {false, true}) {
    prediction.counted = counted;
    for (const auto kind : {DeviceKind::cpu, DeviceKind::gpu}) {
      Machine machine;
      machine.kind = kind;
      EXPECT_DOUBLE_EQ(confidence_of({measurement, machine, at(9.0, 0.0), prediction, Regime::latency}).probability,
                       0.7);
    }
  }
}

TEST(Confidence, UnitsThatWereNotSeenMayBeTheLimit) {
  Machine gpu;
  gpu.kind = DeviceKind::gpu;
  auto prediction = memory_and_pipe(1.0, 0.1);
  prediction.counted = true;
  Measurement measurement;
  const auto probability = [&] {
    PointAnalysis it(measurement, gpu, at(9.0, 0.0), prediction, Regime::latency);
    it.figures.busy = 0.3;
    return confidence_of(it).probability;
  };
  const double all_seen = probability();
  EXPECT_GT(all_seen, 0.7);
  measurement.absent_counters = {{"stalled_by_memory", "another pass"}};
  EXPECT_DOUBLE_EQ(probability(), all_seen);
  measurement.absent_counters.push_back({"fp64_busy", "another pass"});
  EXPECT_DOUBLE_EQ(probability(), 0.7);
}

TEST(Confidence, MissingCeilingsTakeAFifth) {
  auto prediction = memory_and_pipe(1.0, 0.1);
  const Time time = at(1.05, 0.001);
  const double whole = confidence_of(case_of(Regime::memory, time, prediction)).probability;
  prediction.missing = {"fp64"};
  EXPECT_NEAR(confidence_of(case_of(Regime::memory, time, prediction)).probability, 0.8 * whole, 1e-12);
}

TEST(Confidence, UnknownHasNone) {
  const auto confidence = confidence_of(case_of(Regime::unknown, at(1.0, 0.0), memory_and_pipe(1.0, 1.0)));
  EXPECT_EQ(confidence.probability, 0.0);
  EXPECT_EQ(confidence.runner_up, Regime::unknown);
}

TEST(Excess, OnlyBeyondFivePerCentAndTheUncertainty) {
  const auto prediction = memory_and_pipe(1.0, 0.1);
  constexpr Regime memory = Regime::memory;
  EXPECT_FALSE(case_of(memory, at(0.96, 0.0), prediction).excess_over_ceiling);
  EXPECT_NEAR(*case_of(memory, at(0.5, 0.0), prediction).excess_over_ceiling, 2.0, 1e-9);
  EXPECT_NEAR(*case_of(Regime::overhead, at(0.5, 0.0), prediction).excess_over_ceiling, 2.0, 1e-9);
}

TEST(BelowLaunch, ByMoreThanBothUncertainties) {
  const auto prediction = memory_and_pipe(1e-6, 1e-6);
  EXPECT_FALSE(case_of(Regime::unknown, at(0.95e-3, 0.0), prediction).is_below_launch);
  EXPECT_TRUE(case_of(Regime::unknown, at(0.85e-3, 0.0), prediction).is_below_launch);
  EXPECT_FALSE(case_of(Regime::unknown, at(0.85e-3, 0.2), prediction).is_below_launch);
}

TEST(SigmaOf, FewSamplesSayLittle) {
  Summary summary;
  summary.count = 20;
  summary.median = 100.0;
  summary.median_ci95 = {99.0, 101.0};
  EXPECT_NEAR(sigma_of(summary), 0.0051, 1e-4);
  summary.count = 5;
  EXPECT_EQ(sigma_of(summary), unknown_sigma);
  summary.median_ci95 = {80.0, 120.0};
  EXPECT_NEAR(sigma_of(summary), 0.102, 1e-3);
}

TEST(Draws, StratifiedAndStandardNormal) {
  for (const std::size_t column : {0U, 5U, 63U}) {
    const auto draws = normal_draws(column);
    ASSERT_EQ(draws.size(), draw_count);
    double sum = 0.0;
    double square = 0.0;
    for (const double z : draws) {
      sum += z / static_cast<double>(draw_count);
      square += z * z / static_cast<double>(draw_count);
    }
    EXPECT_NEAR(sum, 0.0, 1e-9);
    EXPECT_NEAR(square, 1.0, 0.005);
  }
  double product = 0.0;
  for (std::size_t i = 0; i < draw_count; ++i) product += normal_draws(0)[i] * normal_draws(1)[i] / draw_count;
  EXPECT_NEAR(product, 0.0, 0.07);  // three standard deviations of independent columns
}

}  // namespace
}  // namespace gpubench::classifier
