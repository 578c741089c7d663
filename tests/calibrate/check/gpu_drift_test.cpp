// SPDX-License-Identifier: Apache-2.0
// The drift check on the GPU that is here.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "calibrate/calibrate.h"
#include "calibrate/check/drift.h"
#include "gpu/devices.h"

namespace gpubench::calibrate {
namespace {

TEST(CudaDrift, AFreshCalibrationHoldsAndAChangedOneDoesNot) {
  if (bench::gpus().empty()) GTEST_SKIP() << "no GPU to test on: " << bench::why_no_gpu();
  const Device device = bench::gpus().front();
  Calibration calibration = calibrate(device, {});
  const DriftCheck check = check_drift(device, calibration);
  ASSERT_EQ(check.readings.size(), 2u) << (check.not_checked.empty() ? "" : check.not_checked.front());
  for (const DriftReading& reading : check.readings) {
    EXPECT_NE(reading.outcome, DriftOutcome::drifted) << reading.resource << " " << reading.change;
    EXPECT_NE(reading.method.find(calibration.find(reading.resource)->shape), std::string::npos) << reading.method;
  }
  RecordProperty("seconds", std::to_string(check.seconds_taken));
  for (Ceiling& ceiling : calibration.ceilings) {
    ceiling.value *= 0.5;
    ceiling.ci95 = {0.5 * ceiling.ci95.low, 0.5 * ceiling.ci95.high};
  }
  EXPECT_EQ(check_drift(device, calibration).outcome, DriftOutcome::drifted);
}

TEST(CudaTogether, EveryGpuGivesAReading) {
  const auto gpus = bench::gpus();
  if (gpus.size() < 2) GTEST_SKIP() << "needs two GPUs, and there are " << gpus.size();
  std::vector<Calibration> calibrations;
  for (const Device& gpu : gpus) calibrations.push_back(calibrate(gpu, {}));
  const Together together = measure_together(calibrations);
  EXPECT_EQ(together.readings.size(), 2 * gpus.size());
  for (const auto& reason : together.absent) ADD_FAILURE() << reason;
}

}  // namespace
}  // namespace gpubench::calibrate
