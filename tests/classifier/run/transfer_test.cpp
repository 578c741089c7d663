// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "classifier/classifier.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

gpubench::Run run_on(const Calibration& calibration, double seconds, const Work& work) {
  gpubench::Run run;
  run.devices = {calibration.device};
  run.calibrations = {calibration};
  auto measurement = measured(seconds, work, calibration.device.id);
  measurement.make_primary().samples_seconds = {seconds, seconds};
  run.points.push_back({measurement, std::nullopt});
  return run;
}

TEST(JudgeBy, TheSameDeviceKeepsItsTimes) {
  auto calibration = gpu();
  calibration.device.name = "G";
  auto run = run_on(calibration, 1.1e-3, streaming(2e9, 2e9));
  find(calibration, "dram-copy").value = 3.7e12;
  EXPECT_TRUE(judge_by(calibration, "other.json", run));
  EXPECT_EQ(run.points[0].measurement.seconds()->median, 1.1e-3);
  EXPECT_NEAR(*run.points[0].verdict->achieved, 4.0 / 3.7 / 1.1, 1e-9);
  ASSERT_EQ(run.calibrations.size(), 1U);
  EXPECT_EQ(run.warnings.size(), 1U);
}

TEST(JudgeBy, AnotherDeviceGetsEstimates) {
  auto here = gpu();
  here.device.name = "G";
  auto there = gpu();
  there.device.name = "H";
  there.device.id = "cuda:3";
  for (auto& each : there.ceilings)
    if (each.resource.starts_with("dram")) each.value *= 2.0;
  find(there, "launch").value = 3e-6;
  auto run = run_on(here, 2e-6 + 1.2e-3, streaming(2e9, 2e9));  // 1 ms at the ceiling
  EXPECT_TRUE(judge_by(there, "h.json", run));
  const auto& measurement = run.points[0].measurement;
  EXPECT_NEAR(measurement.seconds()->median, 3e-6 + 0.6e-3, 1e-6);  // as far from the ceiling as here
  EXPECT_TRUE(measurement.primary().samples_seconds.empty());
  EXPECT_NE(measurement.primary().method.find("not measured: estimated"), std::string::npos);
  EXPECT_EQ(run.points[0].verdict->regime, Regime::memory);
  EXPECT_EQ(run.devices[0].name, "H");
  EXPECT_EQ(run.devices[0].id, "cuda:0");
}

TEST(JudgeBy, WhatCannotBeCarriedOverLosesItsTime) {
  auto here = gpu();
  here.device.name = "G";
  auto there = gpu();
  there.device.name = "H";
  remove(there, "fp32");
  auto run = run_on(here, 1.1e-3, streaming(2e9, 2e9, 1e9));
  EXPECT_TRUE(judge_by(there, "h.json", run));
  EXPECT_FALSE(run.points[0].measurement.seconds());
  EXPECT_TRUE(run.points[0].measurement.skipped);
  EXPECT_FALSE(judge_by(cpu(), "c.json", run));
}

TEST(JudgeBy, MoreMultiprocessorsHaveFewerBlocksToStartLater) {
  auto here = gpu_that_starts_blocks();
  here.device.name = "G";
  auto there = gpu_that_starts_blocks();
  there.device.name = "H";
  there.device.units = 5100;
  auto run = run_on(here, 2e-6 + 10e-6, streaming(1e3, 0.0));
  run.points[0].measurement.launches = Launches{1, 10100, 10000};
  EXPECT_TRUE(judge_by(there, "h.json", run));
  EXPECT_EQ(run.points[0].measurement.launches, (Launches{1, 10100, 5000}));
  EXPECT_NEAR(run.points[0].measurement.seconds()->median, 2e-6 + 5e-6, 0.01e-6);
}

}  // namespace
}  // namespace gpubench::classifier
