// SPDX-License-Identifier: Apache-2.0
// What is said of several GPUs, and of a calibration that has drifted.
#include "main/run/run_ceilings.h"

#include <gtest/gtest.h>

namespace gpubench {
namespace {

TEST(SeveralGpus, TheSlowestIsNamed) {
  EXPECT_EQ(
      slowest_text({"NVIDIA H200", "dram-read", "B/s", 8, 4.72e12, 0.1, "cuda:3", 4.3e12, 4.3 / 4.72 - 1.0, true}),
      "cuda:3 is the slowest of 8 NVIDIA H200 in dram-read: 4.30 TB/s, 8.9 % below their median.");
  EXPECT_EQ(slowest_text({"X", "latency-dram", "s", 2, 3e-7, 0.1, "cuda:1", 3.3e-7, 0.1, true}),
            "cuda:1 is the slowest of 2 X in latency-dram: 330 ns, 10.0 % above their median.");
}

TEST(SeveralGpus, TogetherBesideAlone) {
  calibrate::TogetherReading one;
  one.device = "cuda:2";
  one.reading.resource = "fp32";
  one.reading.unit = "FLOP/s";
  one.reading.stored = {6.6e13, {6.59e13, 6.61e13}};
  one.reading.now = {6.0e13, {5.9e13, 6.1e13}};
  one.reading.change = 6.0 / 6.6 - 1.0;
  EXPECT_EQ(together_text(one),
            "cuda:2 reaches 60.0 TFLOP/s in fp32 while all GPUs work, 9.1 % below 66.0 TFLOP/s alone.");
}

TEST(SeveralGpus, OneAloneIsLeftAlone) {
  gpubench::Run run;
  run.calibrations.resize(2);  // CPUs, say
  compare_several_gpus({}, run);
  EXPECT_TRUE(run.warnings.empty());
}

TEST(DriftText, SaysWhatIsOffAndHowFar) {
  Device device;
  device.id = "cuda:0";
  DriftCheck check;
  check.calibration_utc = "2026-06-28T09:00:00Z";
  check.not_checked = {"fp32: no memory"};
  EXPECT_EQ(drift_text(check, device),
            "The calibration of cuda:0 of 2026-06-28T09:00:00Z could not be checked for drift: fp32: no memory.");
  check.not_checked.clear();
  check.outcome = DriftOutcome::agrees;
  EXPECT_EQ(drift_text(check, device), "");
  DriftReading off;
  off.resource = "dram-copy";
  off.unit = "B/s";
  off.stored = {4.3e12, {4.29e12, 4.31e12}};
  off.now = {4.1e12, {4.09e12, 4.11e12}};
  off.change = 4.1 / 4.3 - 1.0;
  off.outcome = DriftOutcome::drifted;
  DriftReading fine = off;
  fine.resource = "fp32";
  fine.outcome = DriftOutcome::agrees;
  check.readings = {off, fine};
  check.outcome = DriftOutcome::drifted;
  EXPECT_EQ(
      drift_text(check, device),
      "cuda:0 has drifted from its calibration of 2026-06-28T09:00:00Z: dram-copy 4.100 TB/s, 4.7 % below 4.300 TB/s.");
  check.outcome = check.readings[0].outcome = DriftOutcome::disturbed;
  check.readings[0].disturbance = "1 other process computed on this GPU";
  EXPECT_EQ(
      drift_text(check, device),
      "cuda:0 does not reach its calibration of 2026-06-28T09:00:00Z: dram-copy 4.100 TB/s, 4.7 % below 4.300 TB/s "
      "(1 other process computed on this GPU).");
}

}  // namespace
}  // namespace gpubench
