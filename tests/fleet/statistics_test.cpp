// SPDX-License-Identifier: Apache-2.0
#include "fleet/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace gpubench::fleet {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

TEST(FleetStatistics, SpreadOfTheMiddleIsThatOfANormalDistribution) {
  // Median 3, distances 2 1 0 1 97: their median is 1.
  EXPECT_NEAR(robust_sigma(std::vector{1.0, 2.0, 3.0, 4.0, 100.0}), 1.482602218505602, 1e-12);
  EXPECT_EQ(robust_sigma(std::vector{5.0, 5.0, 5.0}), 0.0);
  EXPECT_EQ(robust_sigma({}), 0.0);
}

TEST(FleetStatistics, SlopeIsThatOfTheLineAndIgnoresAnOutlier) {
  std::vector<double> x, y;
  for (int i = 0; i < 20; ++i) {
    x.push_back(i);
    y.push_back(3.0 + 0.5 * i);
  }
  EXPECT_NEAR(robust_slope(x, y), 0.5, 1e-12);
  y[4] += 1000.0;
  y[9] -= 1000.0;
  EXPECT_NEAR(robust_slope(x, y), 0.5, 1e-12);
  EXPECT_EQ(robust_slope(std::vector{1.0, 1.0, 1.0}, std::vector{1.0, 2.0, 3.0}), 0.0);
  EXPECT_EQ(robust_slope({}, {}), 0.0);
}

TEST(FleetStatistics, BenjaminiAndHochbergsExample) {
  // The 15 p-values of their section 3.1: at a rate of 0.05 the four smallest are rejected.
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000};
  EXPECT_EQ(false_discovery_limit(p, p.size(), 0.05), 0.0095);
  EXPECT_LT(false_discovery_limit({0.2, 0.9}, 2, 0.05), 0.0);
  EXPECT_LT(false_discovery_limit({}, 0, 0.05), 0.0);
  // A value may pass though one before it does not: the largest that passes decides.
  EXPECT_EQ(false_discovery_limit({0.03, 0.04}, 2, 0.05), 0.04);
}

TEST(FleetStatistics, PolishTellsARowFromACell) {
  // 10 + row {0, 1, -2} + column {0, 5, 7}, and one cell off by 30.
  std::vector<double> table = {10, 15, 17, 11, 16, 18, 8, 13, 15};
  table[4] += 30.0;
  const Polish polish = median_polish(table, 3);
  EXPECT_NEAR(polish.rows[1] - polish.rows[0], 1.0, 1e-9);
  EXPECT_NEAR(polish.rows[2] - polish.rows[0], -2.0, 1e-9);
  EXPECT_NEAR(polish.columns[2] - polish.columns[0], 7.0, 1e-9);
  for (std::size_t i = 0; i < table.size(); ++i) EXPECT_NEAR(polish.residuals[i], i == 4 ? 30.0 : 0.0, 1e-9) << i;
}

TEST(FleetStatistics, PolishLeavesOutWhatIsAbsent) {
  const std::vector<double> table = {none, 4, 4, none, 2, none, 2, none, 4, 4, none, none, none, none, none, none};
  const Polish polish = median_polish(table, 4);
  EXPECT_NEAR(polish.rows[1] - polish.rows[0], -2.0, 1e-9);
  EXPECT_TRUE(std::isnan(polish.residuals[0]));
  EXPECT_TRUE(std::isnan(polish.rows[3]));  // nothing is known of it
  EXPECT_TRUE(std::isnan(polish.columns[3]));
  EXPECT_NEAR(polish.residuals[1], 0.0, 1e-9);
  EXPECT_THROW(median_polish(std::vector{1.0, 2.0, 3.0}, 2), std::invalid_argument);
}

}  // namespace
}  // namespace gpubench::fleet
