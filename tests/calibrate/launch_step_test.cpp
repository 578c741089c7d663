// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "calibrate/calibration_context.h"

namespace gpubench::calibrate {
namespace {

/// 1.3 + the time of a wait that grows by 0.025 from one figure to the next, up to the next multiple of the step.
std::vector<double> staircase(double step) {
  std::vector<double> result;
  for (int i = 0; i < 48; ++i) {
    const double wait = 0.025 * i;
    result.push_back(1.3 + (step > 0.0 ? step * std::ceil(wait / step - 1e-9) : wait));
  }
  return result;
}

TEST(StepHeight, OfAStaircase) {
  EXPECT_NEAR(step_height(staircase(0.1)), 0.1, 0.01);
  EXPECT_NEAR(step_height(staircase(0.2)), 0.2, 0.02);
  EXPECT_LT(step_height(staircase(0.0)), 1e-12) << "a line has none";
}

TEST(StepHeight, OfAlmostNothing) {
  EXPECT_EQ(step_height({}), 0.0);
  EXPECT_EQ(step_height(std::vector<double>{1.0, 2.0}), 0.0);
}

}  // namespace
}  // namespace gpubench::calibrate
