// SPDX-License-Identifier: Apache-2.0
#include "reports/ratio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace gpubench::reports {
namespace {

TEST(MedianWeights, AddToOneAndAreSymmetric) {
  for (const std::size_t n : {1U, 2U, 3U, 6U, 7U, 30U, 101U, 1000U, 10'007U}) {
    const auto [first, weights] = median_weights(n);
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1.0, 1e-9) << n;
    if (n > 1000) continue;  // rounding decides which ones at the ends are negligible
    ASSERT_EQ(2 * first + weights.size(), n) << n;
    for (std::size_t i = 0; i < weights.size(); ++i)
      EXPECT_NEAR(weights[i], weights[weights.size() - 1 - i], 1e-9) << n;
  }
}

TEST(MedianWeights, KnownAnswers) {
  // Three samples: the median of a resample is the lowest when at least two of three draws hit it: 3 (1/9)(2/3) + 1/27.
  const auto three = median_weights(3).weights;
  EXPECT_NEAR(three[0], 7.0 / 27.0, 1e-15);
  EXPECT_NEAR(three[1], 13.0 / 27.0, 1e-15);
}

/// What drawing resamples gives, as a check of the formula that replaces it.
std::vector<double> drawn_weights(std::size_t n, int resamples) {
  std::mt19937_64 random(1);
  std::vector<double> weights(n);
  std::vector<std::size_t> ranks(n);
  for (int i = 0; i < resamples; ++i) {
    for (auto& rank : ranks) rank = random() % n;
    std::sort(ranks.begin(), ranks.end());
    weights[ranks[(n - 1) / 2]] += 0.5 / resamples;
    weights[ranks[n / 2]] += 0.5 / resamples;
  }
  return weights;
}

TEST(MedianWeights, AgreeWithDrawnResamples) {
  for (const std::size_t n : {5U, 10U, 25U}) {
    const auto drawn = drawn_weights(n, 200'000);
    const auto [first, weights] = median_weights(n);
    for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(weights[i], drawn[first + i], 0.005) << n << " " << i;
  }
}

TEST(MedianRatio, EqualSamplesHaveRatioOne) {
  const std::vector<double> same(10, 2.0);
  const auto ratio = MedianRatio()(same, same);
  ASSERT_TRUE(ratio);
  EXPECT_DOUBLE_EQ(ratio->value, 1.0);
  EXPECT_NEAR(ratio->ci95.low, 1.0, 1e-9);
  EXPECT_NEAR(ratio->ci95.high, 1.0, 1e-9);
}

TEST(MedianRatio, TurnsAroundWithItsSides) {
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> times(0.0, 0.1);
  std::vector<double> base(21), next(30);
  for (auto& time : base) time = times(random);
  for (auto& time : next) time = 1.3 * times(random);
  std::sort(base.begin(), base.end());
  std::sort(next.begin(), next.end());
  MedianRatio ratio;
  const auto there = ratio(base, next), back = ratio(next, base);
  EXPECT_NEAR(there->value * back->value, 1.0, 1e-12);
  EXPECT_NEAR(there->ci95.low * back->ci95.high, 1.0, 1e-9);
  EXPECT_NEAR(there->ci95.high * back->ci95.low, 1.0, 1e-9);
}

/// How often the interval holds the true ratio, over seeded experiments with skewed times as clocks give them.
double coverage(std::size_t n, std::size_t m) {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> noise(20.0);
  MedianRatio ratio;
  int held = 0;
  constexpr int experiments = 2000;
  for (int i = 0; i < experiments; ++i) {
    std::vector<double> base(n), next(m);
    for (auto& time : base) time = 1.0 + noise(random);
    for (auto& time : next) time = 1.1 * (1.0 + noise(random));
    std::sort(base.begin(), base.end());
    std::sort(next.begin(), next.end());
    const auto interval = ratio(base, next)->ci95;
    held += interval.low <= 1.1 && 1.1 <= interval.high ? 1 : 0;
  }
  return static_cast<double>(held) / experiments;
}

TEST(MedianRatio, ItsIntervalHoldsTheTruth) {
  EXPECT_GT(coverage(6, 6), 0.92);
  EXPECT_GT(coverage(10, 30), 0.93);
  EXPECT_GT(coverage(31, 31), 0.93);
  EXPECT_LT(coverage(31, 31), 0.99);  // not wide for wideness' sake
}

TEST(MedianRatio, IsAbsentWhenATimeIsNotPositive) {
  EXPECT_FALSE(MedianRatio()({0.0, 0.0, 1.0}, {1.0, 1.0, 1.0}));
  EXPECT_FALSE(MedianRatio()({1.0, 1.0, 1.0}, {0.0, 1.0, 1.0}));
  EXPECT_FALSE(MedianRatio()({1e-308}, {1e308}));
}

TEST(RatioOf, KnownAnswers) {
  // Relative half-widths of 3 % and 4 % on the scale of logarithms make 5 %.
  const Estimate base{1.0, {std::exp(-0.03), std::exp(0.03)}};
  const Estimate next{2.0, {2.0 * std::exp(-0.04), 2.0 * std::exp(0.04)}};
  const auto ratio = ratio_of(base, next);
  ASSERT_TRUE(ratio);
  EXPECT_DOUBLE_EQ(ratio->value, 2.0);
  EXPECT_NEAR(ratio->ci95.low, 2.0 * std::exp(-0.05), 1e-12);
  EXPECT_NEAR(ratio->ci95.high, 2.0 * std::exp(0.05), 1e-12);
  EXPECT_FALSE(ratio_of({1.0, {0.0, 2.0}}, next));
  EXPECT_FALSE(ratio_of({1e-308, {1e-308, 1e-308}}, {1e308, {1e308, 1e308}}));
}

}  // namespace
}  // namespace gpubench::reports
