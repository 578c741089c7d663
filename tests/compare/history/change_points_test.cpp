// SPDX-License-Identifier: Apache-2.0
#include "compare/history/change_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace gpubench::compare {
namespace {

constexpr double deviation = 0.01;

/// Values about 0, by their place, as reproducible as the generator.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : random_(seed) {}
  /// Box and Muller: std::normal_distribution differs between libraries.
  double normal() { return std::sqrt(-2.0 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }
  double uniform() { return (static_cast<double>(random_() >> 11U) + 0.5) / 9007199254740992.0; }
  std::vector<double> series(std::size_t count, const std::function<double(std::size_t)>& at) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(at(i) + deviation * normal());
    return values;
  }

 private:
  std::mt19937_64 random_;
};

std::vector<ChangePoint> found(const std::vector<double>& values, double significance = 0.01,
                               double correlation = 0.0) {
  return change_points(values, std::vector<double>(values.size(), deviation * deviation), significance, correlation);
}

TEST(ChangePoints, OfFewValuesAreNone) {
  EXPECT_TRUE(found({}).empty());
  EXPECT_TRUE(found({1.0}).empty());
  EXPECT_TRUE(found({1.0, 1.0}).empty());
  EXPECT_TRUE(found(std::vector<double>(50, 1.0)).empty());
}

TEST(ChangePoints, APlantedStepIsFoundWhereItIs) {
  int right = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto changes = found(Noise(seed).series(80, [](std::size_t i) { return i < 30 ? 0.0 : 0.05; }), 5e-6);
    ASSERT_EQ(changes.size(), 1U) << seed;
    EXPECT_FALSE(changes[0].is_drift());
    EXPECT_NEAR(changes[0].after - changes[0].before, 0.05, 0.012);
    EXPECT_LT(changes[0].p_value, 1e-6);
    EXPECT_LE(changes[0].rearranged_p.value_or(1.0), 0.02);
    right += changes[0].first == 30 ? 1 : 0;
  }
  EXPECT_GE(right, 45);
}

TEST(ChangePoints, TwoThatCancelAreBothFound) {
  const auto changes = found(Noise(1).series(90, [](std::size_t i) { return i >= 40 && i < 55 ? 0.06 : 0.0; }));
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].first, 40U);
  EXPECT_EQ(changes[1].first, 55U);
}

TEST(ChangePoints, TheNewestEntryMayBeTheFirstOfItsLevel) {
  const auto changes = found(Noise(2).series(30, [](std::size_t i) { return i < 29 ? 0.0 : 0.2; }));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].first, 29U);
  EXPECT_FALSE(changes[0].rearranged_p) << "one value cannot be rearranged";
}

TEST(ChangePoints, OutliersMakeNone) {
  auto values = Noise(3).series(100, [](std::size_t) { return 0.0; });
  for (const std::size_t place : {7U, 31U, 32U, 60U, 90U}) values[place] += 0.3;
  EXPECT_TRUE(found(values).empty());
  values.back() += 0.3;
  EXPECT_TRUE(found(values).empty()) << "as far off as some were before";
}

TEST(ChangePoints, ASlopeIsOneDrift) {
  int drifts = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto changes = found(Noise(seed).series(
        100, [](std::size_t i) { return 0.1 * std::clamp((static_cast<double>(i) - 30.0) / 40.0, 0.0, 1.0); }));
    if (changes.size() != 1 || !changes[0].is_drift()) continue;
    ++drifts;
    EXPECT_NEAR(static_cast<double>(changes[0].first), 30.0, 9.0);
    EXPECT_NEAR(static_cast<double>(changes[0].last), 70.0, 9.0);
    EXPECT_NEAR(changes[0].after - changes[0].before, 0.1, 0.02);
  }
  EXPECT_GE(drifts, 28);
}

/// How many of the series have any change, with the variance that their values show.
int alarms(std::size_t series, double correlation, const std::function<std::vector<double>(Noise&)>& make) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < series; ++seed) {
    Noise noise(seed);
    const std::vector<double> values = make(noise);
    double squares = 0.0;
    for (const double value : values) squares += value * value;
    const std::vector<double> variance(values.size(), squares / static_cast<double>(values.size()));
    count += change_points(values, variance, 0.05, correlation).empty() ? 0 : 1;
  }
  return count;
}

TEST(ChangePoints, NoiseMakesThemNoMoreOftenThanAskedFor) {
  constexpr std::size_t series = 400;
  constexpr int five_percent = 20;
  EXPECT_LE(alarms(series, 0.0, [](Noise& noise) { return noise.series(60, [](std::size_t) { return 0.0; }); }),
            five_percent);
  EXPECT_LE(alarms(series, 0.0,
                   [](Noise& noise) {  // exponential: a long tail to one side, as times have
                     std::vector<double> values;
                     for (int i = 0; i < 60; ++i) values.push_back(-deviation * (std::log(noise.uniform()) + 1.0));
                     return values;
                   }),
            five_percent);
  EXPECT_LE(alarms(series, 0.0,
                   [](Noise& noise) {  // to and fro between two levels
                     return noise.series(60, [&](std::size_t) { return noise.uniform() < 0.3 ? 0.1 : 0.0; });
                   }),
            five_percent);
}

std::vector<double> lasting(Noise& noise, double correlation, std::size_t count) {
  std::vector<double> values = {noise.normal()};
  while (values.size() < count)
    values.push_back(correlation * values.back() + std::sqrt(1.0 - correlation * correlation) * noise.normal());
  for (double& value : values) value *= deviation;
  return values;
}

TEST(ChangePoints, NoiseThatLastsMakesFewWhereItsCorrelationIsKnown) {
  const auto make = [](Noise& noise) { return lasting(noise, 0.6, 60); };
  EXPECT_LE(alarms(400, 0.6, make), 20);
  EXPECT_GE(alarms(400, 0.0, make), 40) << "without it, it does: the test can fail";
}

TEST(ChangePoints, CorrelationOfNeighboursIsToldInSpiteOfSteps) {
  Noise noise(5);
  auto values = lasting(noise, 0.6, 3000);
  EXPECT_NEAR(neighbour_correlation(values).value(), 0.6, 0.1);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<double>(i / 300);
  EXPECT_NEAR(neighbour_correlation(values).value(), 0.6, 0.1);
  EXPECT_NEAR(neighbour_correlation(noise.series(3000, [](std::size_t) { return 0.0; })).value(), 0.0, 0.1);
  EXPECT_FALSE(neighbour_correlation(std::vector<double>(10, 0.0)));
  EXPECT_FALSE(neighbour_correlation(std::vector<double>(100, 0.0))) << "equal values tell nothing";
}

}  // namespace
}  // namespace gpubench::compare
