// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/statistics/statistics.h"

namespace gpubench::statistics {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

TEST(Student, KnownTailsAndQuantiles) {
  // R: pt(q, df, lower.tail = FALSE), qt(p, df, lower.tail = FALSE).
  EXPECT_NEAR(student_tail(1.0, 1.0), 0.25, 1e-12);
  EXPECT_NEAR(student_tail(2.0, 2.0), 0.5 - 1.0 / std::sqrt(6.0), 1e-12);
  EXPECT_NEAR(student_tail(-2.0, 2.0), 0.5 + 1.0 / std::sqrt(6.0), 1e-12);
  EXPECT_NEAR(student_tail(1.959963984540054, infinite), 0.025, 1e-12);
  EXPECT_NEAR(student_quantile(0.025, 9.0), 2.262157162740992, 1e-8);
  EXPECT_NEAR(student_quantile(0.025, 1.0), 12.706204736432095, 1e-7);
  EXPECT_NEAR(student_quantile(0.975, 9.0), -2.262157162740992, 1e-8);
  EXPECT_NEAR(student_tail(1e6, 2.0), 0.5e-12, 1e-15);
  for (const double degrees : {0.7, 3.5, 12.25, 200.0, 5000.0})
    for (const double tail : {0.4, 0.025, 1e-4, 1e-8})
      EXPECT_NEAR(student_tail(student_quantile(tail, degrees), degrees) / tail, 1.0, 1e-6) << degrees;
}

TEST(Student, HolmAndSignTest) {
  const std::vector<double> p = {0.01, 0.04, 0.03, 0.005};
  const std::vector<double> expected = {0.03, 0.06, 0.06, 0.02};
  const auto adjusted = holm(p);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12);
  EXPECT_TRUE(holm({}).empty());
  EXPECT_NEAR(sign_test(6, 0), 2.0 / 64.0, 1e-12);
  EXPECT_NEAR(sign_test(5, 1), 14.0 / 64.0, 1e-12);
  EXPECT_EQ(sign_test(3, 3), 1.0);
  EXPECT_EQ(sign_test(0, 0), 1.0);
}

TEST(Student, Digamma) {
  EXPECT_NEAR(digamma(1.0), -0.5772156649015329, 1e-10);
  EXPECT_NEAR(trigamma(1.0), 1.6449340668482264, 1e-10);
  EXPECT_NEAR(trigamma(0.5), 4.934802200544679, 1e-9);
  EXPECT_NEAR(inverse_trigamma(1.6449340668482264), 1.0, 1e-6);
}

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

}  // namespace
}  // namespace gpubench::statistics
