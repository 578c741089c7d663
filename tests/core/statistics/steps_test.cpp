// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/statistics/statistics.h"

namespace gpubench::statistics {
namespace {

TEST(Steps, KnownSeries) {
  const std::vector<double> variance(10, 1.0);
  const double penalty = step_penalty(10, 0.01);
  EXPECT_TRUE(find_steps({}, {}, penalty).empty());
  EXPECT_TRUE(find_steps(std::vector<double>(10, 3.0), variance, penalty).empty());
  EXPECT_EQ(find_steps(std::vector<double>{0, 0, 0, 0, 0, 9, 9, 9, 9, 9}, variance, penalty),
            (std::vector<std::size_t>{5}));
  EXPECT_EQ(find_steps(std::vector<double>{0, 0, 0, 9, 9, 9, 2, 2, 20, 20}, std::vector<double>(10, 0.01), penalty),
            (std::vector<std::size_t>{3, 6, 8}));
  EXPECT_EQ(find_steps(std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 0, 9}, variance, penalty),
            (std::vector<std::size_t>{9}))
      << "a step in the newest run";
  EXPECT_TRUE(find_steps(std::vector<double>{0, 0, 0, 0, 5, 0, 0, 0, 0, 0}, variance, penalty).empty())
      << "a value that stands out is no change of level";
}

TEST(Steps, NoiseGetsFewAndAStepIsFoundWhereItIs) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  constexpr int series = 2000;
  constexpr std::size_t length = 30;
  const std::vector<double> variance(length, 1.0);
  const double penalty = step_penalty(length, 0.05);
  int alarms = 0, found = 0;
  for (int i = 0; i < series; ++i) {
    std::vector<double> values(length);
    for (double& value : values) value = normal(random);
    alarms += find_steps(values, variance, penalty).empty() ? 0 : 1;
    for (std::size_t j = 27; j < length; ++j) values[j] += 5.0;
    const auto steps = find_steps(values, variance, penalty);
    found += steps.size() == 1 && steps[0] == 27 ? 1 : 0;
  }
  EXPECT_LE(alarms, series * 6 / 100);
  EXPECT_GE(found, series * 90 / 100);
}

TEST(Steps, NoiseThatIsNotKnownIsFoundInTheSeries) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  constexpr int series = 1000;
  constexpr std::size_t length = 30;
  int alarms = 0, found = 0;
  for (int i = 0; i < series; ++i) {
    std::vector<double> values(length);
    for (double& value : values) value = normal(random);
    alarms += find_steps_and_noise(values, std::vector<double>(length, 0.5), 0.05).empty() ? 0 : 1;
    for (std::size_t j = 20; j < length; ++j) values[j] += 4.0;
    const auto steps = find_steps_and_noise(values, std::vector<double>(length, 0.5), 0.05);
    found += steps.size() == 1 && steps[0] >= 19 && steps[0] <= 21 ? 1 : 0;
  }
  EXPECT_LE(alarms, series * 8 / 100);
  EXPECT_GE(found, series * 90 / 100);
}

std::vector<double> noisy_samples(std::mt19937_64& random, std::size_t count, double spread) {
  std::normal_distribution<double> normal(100.0, spread);
  std::vector<double> samples(count);
  for (double& sample : samples) sample = normal(random);
  return samples;
}

TEST(Steadiness, FindsAStep) {
  std::mt19937_64 random(7);
  auto samples = noisy_samples(random, 60, 1.0);
  for (std::size_t i = 40; i < samples.size(); ++i) samples[i] += 10.0;
  const Steadiness found = steadiness_of(samples);
  EXPECT_EQ(found.course, Course::step);
  EXPECT_NEAR(found.from, 100.0, 1.0);
  EXPECT_NEAR(found.to, 110.0, 1.0);
}

TEST(Steadiness, FindsADrift) {
  std::mt19937_64 random(8);
  auto samples = noisy_samples(random, 79, 1.0);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] -= 0.2 * static_cast<double>(i);
  const Steadiness found = steadiness_of(samples);
  EXPECT_EQ(found.course, Course::drift);
  EXPECT_NEAR(found.from, 98.5, 1.5);
  EXPECT_NEAR(found.to, 86.0, 1.5);
}

TEST(Steadiness, FindsAColdStart) {
  std::mt19937_64 random(12);
  for (const double by : {30.0, -30.0}) {
    auto samples = noisy_samples(random, 60, 1.0);
    for (std::size_t i = 0; i < 4; ++i) samples[i] += by;
    const Steadiness found = steadiness_of(samples);
    EXPECT_EQ(found.course, Course::cold_start);
    EXPECT_TRUE(found.holds_level());
    EXPECT_NEAR(found.from, 100.0 + by, 1.5);
    EXPECT_NEAR(found.to, 100.0, 0.5);
  }
  auto samples = noisy_samples(random, 60, 1.0);
  samples[0] += 30.0;  // one in sixty may be the largest by chance
  EXPECT_EQ(steadiness_of(samples).course, Course::steady);
}

TEST(Steadiness, FindsTwoLevelsToAndFro) {
  std::mt19937_64 random(9);
  auto samples = noisy_samples(random, 60, 0.5);
  for (std::size_t i = 0; i < samples.size(); i += 3) samples[i] += 12.0;
  const Steadiness found = steadiness_of(samples);
  EXPECT_EQ(found.course, Course::two_levels);
  EXPECT_NEAR(found.from, 100.0, 0.5);
  EXPECT_NEAR(found.to, 112.0, 0.5);
}

TEST(Steadiness, LeavesSmallChangesFewSamplesAndOutliersAlone) {
  std::mt19937_64 random(10);
  auto samples = noisy_samples(random, 60, 0.05);
  for (std::size_t i = 30; i < samples.size(); ++i) samples[i] += 0.5;  // half a percent
  EXPECT_EQ(steadiness_of(samples).course, Course::steady);
  EXPECT_EQ(steadiness_of(std::vector<double>{1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2}).course, Course::steady);
  samples = noisy_samples(random, 60, 0.5);
  for (const std::size_t i : {3U, 20U, 41U, 55U}) samples[i] = 300.0;
  EXPECT_EQ(steadiness_of(samples).course, Course::steady);
  EXPECT_EQ(steadiness_of({}).course, Course::steady);
  EXPECT_EQ(steadiness_of(std::vector<double>(50, 1.0)).course, Course::steady);
}

TEST(Steadiness, RaisesFewFalseAlarms) {
  std::mt19937_64 random(11);
  std::exponential_distribution<double> tail(0.2);
  std::uniform_real_distribution<double> flat(90.0, 110.0);
  for (const std::size_t count : {16U, 40U, 120U}) {
    constexpr int trials = 400;
    std::array<int, 3> alarms{};
    for (int trial = 0; trial < trials; ++trial) {
      auto samples = noisy_samples(random, count, 3.0);
      alarms[0] += steadiness_of(samples).course != Course::steady;
      for (double& sample : samples) sample = 100.0 + tail(random);
      alarms[1] += steadiness_of(samples).course != Course::steady;
      for (double& sample : samples) sample = flat(random);
      alarms[2] += steadiness_of(samples).course != Course::steady;
    }
    for (const int found : alarms) EXPECT_LT(found, trials / 100) << count;
  }
}

/// The same by plain dynamic programming.
std::vector<std::size_t> steps_by_definition(const std::vector<double>& values, const std::vector<double>& variance,
                                             double penalty) {
  const std::size_t count = values.size();
  const auto cost = [&](std::size_t first, std::size_t last) {
    double weight = 0.0, sum = 0.0, squares = 0.0;
    for (std::size_t i = first; i < last; ++i) weight += 1.0 / variance[i], sum += values[i] / variance[i];
    for (std::size_t i = first; i < last; ++i) squares += std::pow(values[i] - sum / weight, 2) / variance[i];
    return squares;
  };
  std::vector<double> best(count + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> begins(count + 1, 0);
  best[0] = -penalty;
  for (std::size_t end = 1; end <= count; ++end)
    for (std::size_t first = 0; first < end; ++first) {
      if (end - first < 2 && first != 0 && end != count) continue;
      const double total = best[first] + penalty + cost(first, end);
      if (total < best[end] - 1e-9) best[end] = total, begins[end] = first;
    }
  std::vector<std::size_t> steps;
  for (std::size_t end = count; end > 0 && begins[end] > 0; end = begins[end]) steps.insert(steps.begin(), begins[end]);
  return steps;
}

TEST(Steps, PruningLosesNone) {
  std::mt19937_64 random(7);
  const auto uniform = [&] { return static_cast<double>(random() >> 11U) / 9007199254740992.0; };
  std::size_t steps = 0;
  for (int round = 0; round < 400; ++round) {
    const bool rare = round >= 300;  // long levels, all of whose beginnings but a few are left out
    const double penalty = rare ? 40.0 : 3.0;
    std::vector<double> values, variance;
    double level = 0.0;
    for (std::size_t i = 0, count = 1 + random() % (rare ? 150 : 90); i < count; ++i) {
      if (uniform() < (rare ? 0.02 : 0.1)) level = 9.0 * uniform();
      values.push_back(level + 3.0 * uniform());
      variance.push_back(0.5 + static_cast<double>(random() % 4));
    }
    const auto expected = steps_by_definition(values, variance, penalty);
    EXPECT_EQ(find_steps(values, variance, penalty), expected) << round;
    steps += expected.size();
  }
  EXPECT_GT(steps, 300U);
}

}  // namespace
}  // namespace gpubench::statistics
