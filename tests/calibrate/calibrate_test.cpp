// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "calibrate/calibration_context.h"
#include "tests/matchers.h"

namespace gpubench::calibrate {
namespace {

Ceiling launch(double seconds) {
  Ceiling ceiling;
  ceiling.resource = "launch";
  ceiling.unit = "s";
  ceiling.group = CeilingGroup::overhead;
  ceiling.value = seconds;
  ceiling.ci95 = {seconds, seconds};
  ceiling.repeats = 9;
  ceiling.method = "empty kernel";
  return ceiling;
}

Calibration process(double seconds) {
  Calibration result;
  result.ceilings = {launch(seconds)};
  return result;
}

TEST(Processes, TheMedianAndTheSpreadOfProcessesCount) {
  Calibration calibration;
  calibration.ceilings = {launch(9.0)};
  calibration.ceilings[0].resource = "dram-read";
  take_overheads(calibration, {process(1.24e-6), process(1.35e-6), process(1.26e-6)});
  ASSERT_EQ(calibration.ceilings.size(), 2U);
  const Ceiling& ceiling = calibration.ceilings[0];
  EXPECT_EQ(ceiling.resource, "launch");
  EXPECT_DOUBLE_EQ(ceiling.value, 1.26e-6);
  // Mean 1.28333, standard deviation 0.058595, Student's t of two degrees of freedom 4.30265.
  EXPECT_NEAR(ceiling.ci95.low, 1.137777e-6, 1e-11);
  EXPECT_NEAR(ceiling.ci95.high, 1.428890e-6, 1e-11);
  EXPECT_EQ(ceiling.repeats, 3);
  EXPECT_EQ(ceiling.method, "empty kernel; median of 3 processes, interval over them");
  EXPECT_EQ(calibration.ceilings[1].resource, "dram-read");
}

TEST(Processes, OneProcessKeepsItsIntervalAndSaysSo) {
  Calibration calibration;
  take_overheads(calibration, {process(1.24e-6)});
  ASSERT_EQ(calibration.ceilings.size(), 1U);
  EXPECT_EQ(calibration.ceilings[0].repeats, 9);
  EXPECT_THAT(calibration.ceilings[0].caveats, ElementsAre(HasSubstr("one process")));
}

TEST(Processes, WhatOnlySomeHaveIsOfThoseAndWhatNoneHasIsAbsent) {
  Calibration first = process(1e-6);
  first.absent = {{"grid-sync", "no cooperative kernels"}, {"memset", "out of memory"}};
  first.warnings = {"another process"};
  Calibration second = process(2e-6);
  second.ceilings.push_back(launch(3e-6));
  second.ceilings.back().resource = "memset";
  second.warnings = {"another process"};
  Calibration calibration;
  take_overheads(calibration, {first, second});
  ASSERT_EQ(calibration.ceilings.size(), 2U);
  EXPECT_EQ(calibration.ceilings[1].resource, "memset");
  EXPECT_DOUBLE_EQ(calibration.ceilings[1].value, 3e-6);
  ASSERT_EQ(calibration.absent.size(), 1U);
  EXPECT_EQ(calibration.absent[0].resource, "grid-sync");
  EXPECT_TRUE(calibration.warnings.empty());
}

TEST(Processes, TheCalibrationsOwnProcessIsOneMore) {
  Calibration calibration = process(1.35e-6);
  take_overheads(calibration, {process(1.24e-6), process(1.26e-6)});
  ASSERT_EQ(calibration.ceilings.size(), 1U);
  EXPECT_DOUBLE_EQ(calibration.ceilings[0].value, 1.26e-6);
  EXPECT_EQ(calibration.ceilings[0].repeats, 3);
}

TEST(Processes, NoProcessChangesNothing) {
  Calibration calibration = process(1e-6);
  const Calibration before = calibration;
  take_overheads(calibration, {});
  EXPECT_EQ(calibration, before);
}

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
