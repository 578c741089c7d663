// SPDX-License-Identifier: Apache-2.0
#include "compare/noise/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

TEST(ProcessNoise, OfOnePointIsItsVariance) {
  const ProcessGroup base = {{1.0}, {1.2}, {1.1}}, next = {{5.0}, {5.4}};
  const auto noise = learn_noise({base, next}, 1);
  ASSERT_TRUE(noise.of_point[0]);
  EXPECT_NEAR(noise.of_point[0]->variance, (0.01 + 0.01 + 0.0 + 0.04 + 0.04) / 3.0, 1e-12);
  EXPECT_NEAR(noise.of_point[0]->degrees, 3.0, 1e-12);
  EXPECT_EQ(noise.usual_degrees, 0.0);
}

TEST(ProcessNoise, MissingValuesAreLeftOut) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const ProcessGroup group = {{1.0, none, none}, {1.2, 3.0, none}, {none, 3.2, 4.0}};
  const auto noise = learn_noise({group}, 3);
  EXPECT_NEAR(noise.of_point[0]->variance, 0.02, 1e-12);
  EXPECT_NEAR(noise.of_point[1]->variance, 0.02, 1e-12);
  EXPECT_FALSE(noise.of_point[2]);
}

TEST(ProcessNoise, WhatAllPointsShareHasTheDegreesOfTheProcesses) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  ProcessGroup group(4, ProcessValues(500));
  for (auto& process : group) {
    const double common = 0.05 * normal(random);
    for (double& value : process) value = common + 0.002 * normal(random);
  }
  const auto noise = learn_noise({group}, 500);
  EXPECT_EQ(noise.common.degrees, 3.0);
  for (const auto& spread : noise.of_point) {
    EXPECT_NEAR(spread->degrees, 3.0, 0.3);
    EXPECT_NEAR(spread->variance, noise.common.variance, 0.1 * noise.common.variance);
  }
}

/// What simulated comparisons of equal or different code give.
struct Rates {
  double alarms = 0.0;    ///< part of points called slower or faster
  double families = 0.0;  ///< part of comparisons with one or more such points
  double covered = 0.0;   ///< part of 95 % intervals that hold the truth
};

/// `points` with deviations spread by a factor of three either way about `deviation`, `common` shared by all points of
/// a process; heavy tails where asked for.
Rates simulate(std::size_t points, std::size_t processes, double deviation, double common, double effect,
               double min_effect, bool heavy, int comparisons, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::student_t_distribution<double> tailed(3.0);
  std::vector<double> deviations(points);
  for (double& each : deviations) each = deviation * std::exp(0.5 * normal(random));
  Rates rates;
  for (int i = 0; i < comparisons; ++i) {
    ProcessGroup sides[2];
    for (int side = 0; side < 2; ++side)
      for (std::size_t j = 0; j < processes; ++j) {
        ProcessValues values(points);
        const double shared = common * normal(random);
        for (std::size_t p = 0; p < points; ++p)
          values[p] = (side == 1 ? effect : 0.0) + shared +
                      deviations[p] * (heavy ? tailed(random) / std::sqrt(3.0) : normal(random));
        sides[side].push_back(values);
      }
    const auto noise = learn_noise({sides[0], sides[1]}, points);
    std::vector<double> p_values;
    for (std::size_t p = 0; p < points; ++p) {
      double difference = 0.0;
      for (std::size_t j = 0; j < processes; ++j)
        difference += (sides[1][j][p] - sides[0][j][p]) / static_cast<double>(processes);
      const Spread& spread = *noise.of_point[p];
      const Difference known{difference, std::sqrt(2.0 * spread.variance / static_cast<double>(processes)),
                             spread.degrees};
      p_values.push_back(p_value_beyond(known, min_effect));
      const double half = student_quantile(0.025, known.degrees) * known.standard_error;
      rates.covered += std::abs(difference - effect) <= half ? 1.0 : 0.0;
    }
    const auto adjusted = statistics::holm(p_values);
    const auto found = std::ranges::count_if(adjusted, [](double p) { return p <= 0.05; });
    rates.alarms += static_cast<double>(found);
    rates.families += found > 0 ? 1.0 : 0.0;
  }
  const double all = static_cast<double>(points) * comparisons;
  return {rates.alarms / all, rates.families / comparisons, rates.covered / all};
}

TEST(Simulation, EqualCodeRaisesFewAlarms) {
  for (const std::size_t processes : {2U, 3U, 5U})
    for (const double common : {0.0, 0.03})
      for (const bool heavy : {false, true}) {
        const Rates rates = simulate(200, processes, 0.02, common, 0.0, 0.0, heavy, 500, 7);
        EXPECT_LE(rates.alarms, 0.01) << processes << " processes, common " << common << ", heavy " << heavy;
        EXPECT_GE(rates.covered, 0.93) << processes << " processes, common " << common << ", heavy " << heavy;
        if (!heavy) {
          EXPECT_LE(rates.families, 0.10) << processes << " processes, common " << common;
        }
      }
}

TEST(TrimmedMean, KnownValues) {
  EXPECT_EQ(trimmed_mean({1.0, 2.0, 9.0}).value, 4.0) << "too few to trim";
  EXPECT_NEAR(trimmed_mean({1.0, 2.0, 9.0}).variance_factor, 1.0 / 3.0, 1e-12);
  const TrimmedMean ten = trimmed_mean({1, 2, 3, 4, 5, 6, 7, 8, 9, 1000});
  EXPECT_EQ(ten.value, 5.5);
  EXPECT_NEAR(ten.variance_factor, 9.0 / 30.0, 1e-12);
  EXPECT_NEAR(ten.degrees_factor, 5.0 / 9.0, 1e-12);
  std::vector<double> sixteen(16);
  for (std::size_t i = 0; i < sixteen.size(); ++i) sixteen[i] = i < 12 ? 0.0 : 1000.0;
  EXPECT_EQ(trimmed_mean(sixteen).value, 0.0) << "a quarter is left out";
  const ProcessGroup group = {{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {1000}};
  EXPECT_EQ(winsorised(group)[9][0], 8.0);
  EXPECT_EQ(winsorised(group)[0][0], 3.0);
}

TEST(Simulation, PairsWithBurstsRaiseFewAlarmsAndFindMore) {
  // A tenth of the processes is hit by a neighbour for all of its points.
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  constexpr std::size_t points = 7;
  for (const std::size_t pairs : {4U, 8U, 12U, 20U}) {
    int families = 0, found = 0, found_plainly = 0;
    double covered = 0.0;
    constexpr int comparisons = 2000;
    for (int i = 0; i < comparisons; ++i) {
      ProcessGroup group;
      for (std::size_t j = 0; j < pairs; ++j) {
        const double burst = (uniform(random) < 0.1 ? 0.1 * uniform(random) : 0.0) -
                             (uniform(random) < 0.1 ? 0.1 * uniform(random) : 0.0) + 0.005 * normal(random);
        ProcessValues values(points);
        for (double& value : values) value = burst + 0.01 * normal(random);
        group.push_back(values);
      }
      const auto decide = [&](bool trimmed, double shift) {
        const ProcessGroup used = trimmed ? winsorised(group) : group;
        const auto noise = learn_noise({used}, points);
        std::vector<double> p_values;
        for (std::size_t p = 0; p < points; ++p) {
          std::vector<double> values;
          for (const auto& process : group) values.push_back(process[p]);
          TrimmedMean mean = trimmed_mean(values);
          if (!trimmed) {
            double sum = 0.0;
            for (const double value : values) sum += value;
            mean = {sum / static_cast<double>(pairs), 1.0 / static_cast<double>(pairs), 1.0};
          }
          const Spread& spread = *noise.of_point[p];
          const Difference known{mean.value + shift, std::sqrt(spread.variance * mean.variance_factor),
                                 spread.degrees * mean.degrees_factor};
          p_values.push_back(p_value_beyond(known, 0.0));
          if (trimmed && shift == 0.0)
            covered +=
                std::abs(mean.value) <= student_quantile(0.025, known.degrees) * known.standard_error ? 1.0 : 0.0;
        }
        const auto adjusted = statistics::holm(p_values);
        return static_cast<int>(std::ranges::count_if(adjusted, [](double p) { return p <= 0.05; }));
      };
      families += decide(true, 0.0) > 0 ? 1 : 0;
      found += decide(true, 0.04);
      found_plainly += decide(false, 0.04);
    }
    EXPECT_LE(families, comparisons * 7 / 100) << pairs;
    EXPECT_GE(covered / (comparisons * static_cast<double>(points)), 0.93) << pairs;
    if (pairs >= 12U) {
      EXPECT_GT(found, found_plainly) << pairs;
    }
  }
}

TEST(Simulation, FewPointsRaiseFewAlarms) {
  for (const std::size_t points : {1U, 3U, 8U, 20U}) {
    const Rates rates = simulate(points, 4, 0.02, 0.02, 0.0, 0.0, false, 1000, 11);
    EXPECT_LE(rates.families, 0.07) << points;
    EXPECT_GE(rates.covered, 0.93) << points;
  }
}

TEST(Simulation, ASlowDownIsFound) {
  // 2 % with noise of 0.3 % and five processes a side, of 200 points; what remains beyond the least effect is 1 %.
  EXPECT_GE(simulate(200, 5, 0.002, 0.001, std::log1p(0.02), 0.01, false, 50, 3).alarms, 0.90);
  EXPECT_GE(simulate(200, 5, 0.005, 0.002, std::log1p(0.05), 0.01, false, 50, 3).alarms, 0.95);
  // At the edge of the least effect nothing may be called a change.
  EXPECT_LE(simulate(200, 5, 0.002, 0.001, std::log1p(0.01), 0.01, false, 50, 3).families, 0.12);
}

}  // namespace
}  // namespace gpubench::compare
