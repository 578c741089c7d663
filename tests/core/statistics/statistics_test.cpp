// SPDX-License-Identifier: Apache-2.0
#include "core/statistics/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace gpubench::statistics {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> one_to(int n) {
  std::vector<double> result;
  for (int i = 1; i <= n; ++i) result.push_back(i);
  return result;
}

TEST(Quantile, InterpolatesAsType7) {
  const std::vector<double> sorted = {1.0, 2.0, 4.0, 8.0};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.25), 1.75);  // position 0.75
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5), 3.0);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.75), 5.0);  // position 2.25
  EXPECT_DOUBLE_EQ(quantile(sorted, 1.0), 8.0);
}

TEST(Quantile, OneSampleIsEveryQuantile) {
  const std::vector<double> one = {7.0};
  for (const double q : {0.0, 0.3, 1.0}) EXPECT_DOUBLE_EQ(quantile(one, q), 7.0);
}

TEST(Median, OddEvenUnsorted) {
  EXPECT_DOUBLE_EQ(median(std::vector{3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(median(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_DOUBLE_EQ(median(std::vector{-5.0}), -5.0);
  EXPECT_THROW(median({}), std::invalid_argument);
}

// Ranks from published tables of the sign test's interval (Conover, Practical Nonparametric Statistics): n, lower rank.
TEST(Median, TheUpperOfTwo) {
  EXPECT_EQ(upper_median(std::vector{4, 1, 3, 2}), 3);
  EXPECT_EQ(upper_median(std::vector{2.0, 1.0, 3.0}), 2.0);
  EXPECT_EQ(upper_median(std::vector<int>()), std::nullopt);
}

TEST(Places, AreInTheOrderOfTheirKeysAndElseAsTheyStand) {
  const std::vector<int> values = {3, 1, 3, 2};
  const auto value = [&](std::size_t i) { return values[i]; };
  EXPECT_EQ(places_by(values.size(), value), (std::vector<std::size_t>{1, 3, 0, 2}));
  EXPECT_EQ(places_by(values.size(), value, std::greater()), (std::vector<std::size_t>{0, 2, 3, 1}));
}

TEST(InterquartileMean, ItsIntervalIsThatOfTukeyAndMcLaughlin) {
  // Winsorised: 3 3 3 4 5 6 6 6, of variance 2; a quarter is left out at either end, so the error is 1; t(3) is 3.182.
  const Interval interval = interquartile_mean_ci95(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_NEAR(interval.low, 4.5 - 3.182446, 1e-5);
  EXPECT_NEAR(interval.high, 4.5 + 3.182446, 1e-5);
  const Interval equal = interquartile_mean_ci95(std::vector<double>(9, 2.0));
  EXPECT_EQ(equal.low, 2.0);
  EXPECT_EQ(equal.high, 2.0);
  EXPECT_EQ(interquartile_mean_ci95(std::vector<double>{5}).high, 5.0);
  EXPECT_THROW(interquartile_mean_ci95({}), std::invalid_argument);
}

TEST(InterquartileMean, ItsIntervalHoldsItWhereTheMedianLiesApart) {
  std::vector<double> samples(201, 70.0);
  for (std::size_t i = 0; i < 90; ++i) samples[i] = 66.0;
  const double centre = interquartile_mean(samples);
  const Interval interval = interquartile_mean_ci95(samples);
  EXPECT_LT(interval.low, centre);
  EXPECT_GT(interval.high, centre);
  EXPECT_LT(interval.high, 70.0);
}

TEST(InterquartileMean, IsOfTheMiddleHalf) {
  EXPECT_DOUBLE_EQ(interquartile_mean(std::vector<double>{1, 2, 4, 100}), 3.0);
  EXPECT_DOUBLE_EQ(interquartile_mean(std::vector<double>{-50, 1, 2, 3, 6, 7, 8, 900}), 4.5);
  EXPECT_DOUBLE_EQ(interquartile_mean(std::vector<double>{1, 2, 6}), 3.0) << "too few to leave any out";
  EXPECT_DOUBLE_EQ(interquartile_mean(std::vector<double>{5}), 5.0);
  EXPECT_THROW((void)interquartile_mean({}), std::invalid_argument);
}

TEST(MedianInterval, RanksOfTheTables) {
  const std::vector<std::pair<int, int>> table = {{6, 1},  {8, 1},  {9, 2},   {10, 2},  {15, 4},
                                                  {20, 6}, {25, 8}, {50, 18}, {100, 40}};
  for (const auto& [n, rank] : table) {
    const auto interval = median_ci95(one_to(n));
    EXPECT_DOUBLE_EQ(interval.low, rank) << "n = " << n;
    EXPECT_DOUBLE_EQ(interval.high, n + 1 - rank) << "n = " << n;
  }
}

TEST(MedianInterval, BelowSixTheWholeRange) {
  for (int n = 1; n < 6; ++n) {
    const auto interval = median_ci95(one_to(n));
    EXPECT_DOUBLE_EQ(interval.low, 1.0);
    EXPECT_DOUBLE_EQ(interval.high, n);
  }
}

TEST(MedianInterval, LargeCountsFollowTheNormalApproximation) {
  const int n = 100000;
  const auto interval = median_ci95(one_to(n));
  EXPECT_NEAR(interval.low, 0.5 * n - 0.98 * std::sqrt(n), 2.0);
  EXPECT_NEAR(interval.high, 0.5 * n + 0.98 * std::sqrt(n), 2.0);
}

TEST(MedianInterval, CoversTheMedianOfASkewedDistribution) {
  std::mt19937_64 random(20240517);
  std::lognormal_distribution<double> distribution(0.0, 1.0);  // its median is 1
  for (const int n : {6, 11, 30, 101}) {
    int covered = 0;
    const int trials = 4000;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<double> samples(static_cast<std::size_t>(n));
      for (double& x : samples) x = distribution(random);
      std::ranges::sort(samples);
      const auto interval = median_ci95(samples);
      covered += interval.low <= 1.0 && 1.0 <= interval.high;
    }
    const double share = static_cast<double>(covered) / trials;
    EXPECT_GE(share, 0.94) << "n = " << n;   // at least 95 % by construction; one per cent for chance
    EXPECT_LE(share, 0.993) << "n = " << n;  // ranks are whole: n = 11 covers 98.8 %
  }
}

TEST(Summarize, KnownAnswers) {
  const auto s = summarize(std::vector{9.0, 1.0, 3.0, 2.0, 5.0});
  EXPECT_EQ(s.count, 5);
  EXPECT_DOUBLE_EQ(s.minimum, 1.0);
  EXPECT_DOUBLE_EQ(s.lower_quartile, 2.0);
  EXPECT_DOUBLE_EQ(s.median, 3.0);
  EXPECT_DOUBLE_EQ(s.upper_quartile, 5.0);
  EXPECT_DOUBLE_EQ(s.maximum, 9.0);
  EXPECT_DOUBLE_EQ(s.mean, 4.0);
  EXPECT_DOUBLE_EQ(s.mad, 2.0);  // deviations 0 1 2 2 6
  EXPECT_EQ(s.median_ci95, (Interval{1.0, 9.0}));
}

TEST(Summarize, TiesAndConstants) {
  const auto s = summarize(std::vector<double>(7, 0.1));
  EXPECT_EQ(s.minimum, 0.1);
  EXPECT_EQ(s.mean, 0.1);  // exactly, not 0.1 + rounding
  EXPECT_EQ(s.maximum, 0.1);
  EXPECT_EQ(s.mad, 0.0);
  EXPECT_EQ(s.median_ci95, (Interval{0.1, 0.1}));
  EXPECT_EQ(relative_half_width(s), 0.0);
  const auto ties = summarize(std::vector{1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 9.0});
  EXPECT_EQ(ties.median, 2.0);
  EXPECT_EQ(ties.lower_quartile, 2.0);
  EXPECT_EQ(ties.mad, 0.0);
}

TEST(Summarize, OneSample) {
  const auto s = summarize(std::vector{2.5});
  EXPECT_EQ(s.count, 1);
  EXPECT_EQ(s.median, 2.5);
  EXPECT_EQ(s.mad, 0.0);
  EXPECT_EQ(s.median_ci95, (Interval{2.5, 2.5}));
  EXPECT_EQ(relative_half_width(s), infinity);
}

TEST(Summarize, RefusesNoneAndNotFinite) {
  EXPECT_THROW(summarize({}), std::invalid_argument);
  EXPECT_THROW(summarize(std::vector{1.0, nan}), std::invalid_argument);
  EXPECT_THROW(summarize(std::vector{infinity, 1.0}), std::invalid_argument);
}

TEST(RelativeHalfWidth, OfTheMediansInterval) {
  const auto s = summarize(one_to(9));  // median 5, ranks 2 and 8
  EXPECT_DOUBLE_EQ(relative_half_width(s), 3.0 / 5.0);
  EXPECT_EQ(relative_half_width(summarize(one_to(5))), infinity);
  EXPECT_EQ(relative_half_width(summarize(std::vector<double>(8, 0.0))), infinity);
}

// Two repeats -1 and 1 have mean 0 and standard error 1; n equal pairs scale it. Quantiles: NIST e-Handbook,
// table 1.3.6.7.2.
TEST(MeanInterval, StudentsQuantiles) {
  const std::vector<std::pair<int, double>> table = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},   {5, 2.571},
                                                     {9, 2.262},  {10, 2.228}, {29, 2.045}, {100, 1.984}, {201, 1.972}};
  for (const auto& [degrees, expected] : table) {
    // One sample at d, all others at 0: mean d/n, variance d^2/n, standard error d/n.
    std::vector<double> samples(static_cast<std::size_t>(degrees) + 1, 0.0);
    samples.front() = static_cast<double>(samples.size());
    const auto interval = mean_ci95(samples);
    EXPECT_NEAR(interval.high - 1.0, expected, 6e-4) << degrees;
    EXPECT_NEAR(1.0 - interval.low, expected, 6e-4) << degrees;
  }
}

TEST(MeanInterval, SeriesAndExpansionMeet) {
  const auto half_width = [](int n) {
    std::vector<double> samples(static_cast<std::size_t>(n), 0.0);
    samples.front() = n;
    return mean_ci95(samples).high - 1.0;
  };
  const double step_before = half_width(200) - half_width(201);  // 199 to 200 degrees of freedom, both exact
  const double step_across = half_width(201) - half_width(202);  // 200 to 201, where the expansion takes over
  EXPECT_NEAR(step_before, step_across, 1e-6);
}

TEST(MeanInterval, OneRepeatConstantNone) {
  EXPECT_EQ(mean_ci95(std::vector{3.0}), (Interval{3.0, 3.0}));
  EXPECT_EQ(mean_ci95(std::vector{0.1, 0.1, 0.1}), (Interval{0.1, 0.1}));
  EXPECT_THROW(mean_ci95({}), std::invalid_argument);
  EXPECT_THROW(mean_ci95(std::vector{1.0, nan}), std::invalid_argument);
}

TEST(MeanInterval, CoversTheMean) {
  std::mt19937_64 random(77);
  std::normal_distribution<double> distribution(10.0, 2.0);
  int covered = 0;
  const int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples(5);
    for (double& x : samples) x = distribution(random);
    const auto interval = mean_ci95(samples);
    covered += interval.low <= 10.0 && 10.0 <= interval.high;
  }
  EXPECT_NEAR(static_cast<double>(covered) / trials, 0.95, 0.012);
}

std::vector<std::int64_t> equal_blocks(std::int64_t count, std::int64_t size) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(count), size);
}

/// How often the interval holds the true median 0 when each block is off by its own normal error and each sample by
/// another.
double coverage(std::int64_t blocks, std::int64_t size, double between, double within) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  constexpr int experiments = 600;
  int covered = 0;
  for (int i = 0; i < experiments; ++i) {
    std::vector<double> samples;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const double shift = between * normal(engine);
      for (std::int64_t j = 0; j < size; ++j) samples.push_back(shift + within * normal(engine));
    }
    const auto interval = median_ci95(samples, equal_blocks(blocks, size));
    if (interval.low <= 0.0 && 0.0 <= interval.high) ++covered;
  }
  return static_cast<double>(covered) / experiments;
}

TEST(BlockInterval, CoversTheTruthWhateverTheSpreadComesFrom) {
  for (const std::int64_t blocks : {2, 5, 10}) {
    EXPECT_GE(coverage(blocks, 4, 1.0, 0.1), 0.92) << blocks << " blocks that differ";
    EXPECT_GE(coverage(blocks, 4, 0.0, 1.0), 0.94) << blocks << " blocks that do not";
  }
  EXPECT_LE(coverage(10, 4, 1.0, 0.1), 0.985);  // and is no wider than it must be
}

TEST(BlockInterval, BlocksThatDifferWidenIt) {
  // The same values: once each block has all of them, once each block has its own.
  std::vector<double> mixed;
  std::vector<double> apart;
  for (int block = 0; block < 5; ++block)
    for (int i = 0; i < 5; ++i) {
      mixed.push_back(1.0 + 0.01 * i);
      apart.push_back(1.0 + 0.01 * block);
    }
  const auto blocks = equal_blocks(5, 5);
  const auto width = [&](const std::vector<double>& samples) {
    const auto interval = median_ci95(samples, blocks);
    return interval.high - interval.low;
  };
  EXPECT_GT(width(apart), 1.5 * width(mixed));
  EXPECT_EQ(median_ci95(apart, blocks), median_ci95(apart, blocks));  // the same each time
}

TEST(BlockInterval, KnownAnswers) {
  const auto equal = median_ci95(std::vector<double>(20, 3.0), equal_blocks(5, 4));
  EXPECT_EQ(equal, (Interval{3.0, 3.0}));
  const auto samples = one_to(9);
  EXPECT_EQ(median_ci95(samples, equal_blocks(1, 9)), median_ci95(samples));
  const auto summary = summarize(samples, equal_blocks(3, 3));
  EXPECT_EQ(summary.median, 5.0);
  EXPECT_LT(summary.median_ci95.low, 5.0);
  EXPECT_GT(summary.median_ci95.high, 5.0);
}

TEST(BlockInterval, OfTimesIsNeverBelowZero) {
  const auto of = [](std::vector<double> samples) { return summarize(samples, equal_blocks(3, 1)).median_ci95; };
  EXPECT_EQ(of({0.35, 0.0003, 0.351}).low, 0.0);
  EXPECT_LT(of({0.35, -0.0003, 0.351}).low, -0.0003);
}

TEST(BlockInterval, OfSingleSamplesItIsThatOfAllResamples) {
  for (std::size_t n = 3; n <= 6; ++n) {
    // All n^n resamples: how often the median (of two middle ones the lower) is the smallest of all samples.
    std::size_t all = 1, smallest = 0;
    for (std::size_t i = 0; i < n; ++i) all *= n;
    for (std::size_t resample = 0; resample < all; ++resample) {
      std::vector<std::size_t> drawn;
      for (std::size_t i = 0, rest = resample; i < n; ++i, rest /= n) drawn.push_back(rest % n);
      std::ranges::sort(drawn);
      smallest += drawn[(n - 1) / 2] == 0 ? 1 : 0;
    }
    ASSERT_GT(static_cast<double>(smallest) / static_cast<double>(all), 0.025) << "so that it is the 2.5 % quantile";
    const auto count = static_cast<double>(n);
    const double widened = student_quantile(0.025, count - 1.0) / normal_975 * std::sqrt(count / (count - 1.0));
    const auto interval = median_ci95(one_to(static_cast<int>(n)), equal_blocks(static_cast<std::int64_t>(n), 1));
    const double centre = 0.5 * (count + 1.0);
    EXPECT_NEAR(interval.low, centre - widened * (centre - 1.0), 1e-9) << n;
    EXPECT_NEAR(interval.high, centre + widened * (count - centre), 1e-9) << n;
  }
  // P(Binomial(7, 1/7) >= 4) = 0.98 %, P(Binomial(7, 2/7) >= 4) = 10 %: one sample apart is left out, two are not.
  const auto with = [](double one, double other) {
    return median_ci95(std::vector{1.0, 1.0, other, 1.0, one, 1.0, 1.0}, equal_blocks(7, 1));
  };
  EXPECT_EQ(with(9.0, 1.0), (Interval{1.0, 1.0}));
  EXPECT_GT(with(9.0, 9.0).high, 9.0);
}

TEST(BlockInterval, OfSingleSamplesItCoversTheTruth) {
  for (const std::int64_t blocks : {3, 4, 5, 6, 7, 8, 12, 20})
    EXPECT_GE(coverage(blocks, 1, 1.0, 0.0), 0.92) << blocks << " samples";
}

TEST(BlockInterval, RefusesBlocksThatDoNotAddUp) {
  const auto samples = one_to(4);
  for (const std::vector<std::int64_t>& blocks :
       {std::vector<std::int64_t>{}, {3}, {2, 3}, {4, 0}, {5, -1}, {std::numeric_limits<std::int64_t>::max(), 4}})
    EXPECT_THROW(static_cast<void>(median_ci95(samples, blocks)), std::invalid_argument);
}

TEST(Student, KnownTailsAndQuantiles) {
  // R: pt(q, df, lower.tail = FALSE), qt(p, df, lower.tail = FALSE).
  EXPECT_NEAR(student_tail(1.0, 1.0), 0.25, 1e-12);
  EXPECT_NEAR(student_tail(2.0, 2.0), 0.5 - 1.0 / std::sqrt(6.0), 1e-12);
  EXPECT_NEAR(student_tail(-2.0, 2.0), 0.5 + 1.0 / std::sqrt(6.0), 1e-12);
  EXPECT_NEAR(student_tail(1.959963984540054, infinity), 0.025, 1e-12);
  EXPECT_NEAR(student_quantile(0.025, 9.0), 2.262157162740992, 1e-8);
  EXPECT_NEAR(student_quantile(0.025, 1.0), 12.706204736432095, 1e-7);
  EXPECT_NEAR(student_quantile(0.975, 9.0), -2.262157162740992, 1e-8);
  EXPECT_NEAR(student_tail(1e6, 2.0), 0.5e-12, 1e-15);
  for (const double degrees : {0.7, 3.5, 12.25, 200.0, 5000.0})
    for (const double tail : {0.4, 0.025, 1e-4, 1e-8})
      EXPECT_NEAR(student_tail(student_quantile(tail, degrees), degrees) / tail, 1.0, 1e-6) << degrees;
}

TEST(Student, Holm) {
  const std::vector<double> p = {0.01, 0.04, 0.03, 0.005};
  const std::vector<double> expected = {0.03, 0.06, 0.06, 0.02};
  const auto adjusted = holm(p);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12);
  EXPECT_TRUE(holm({}).empty());
}

TEST(Student, Digamma) {
  EXPECT_NEAR(digamma(1.0), -0.5772156649015329, 1e-10);
  EXPECT_NEAR(trigamma(1.0), 1.6449340668482264, 1e-10);
  EXPECT_NEAR(trigamma(0.5), 4.934802200544679, 1e-9);
  EXPECT_NEAR(inverse_trigamma(1.6449340668482264), 1.0, 1e-6);
}

}  // namespace
}  // namespace gpubench::statistics
