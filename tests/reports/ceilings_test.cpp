// SPDX-License-Identifier: Apache-2.0
// Calibrations as text: groups, bars, caveats, checks; two beside each other; several GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "reports/comparisons.h"
#include "reports/reports.h"
#include "reports/shared_text.h"
#include "tests/reports/golden.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

Ceiling ceiling(const std::string& resource, double value, const std::string& unit, CeilingGroup group) {
  Ceiling result;
  result.resource = resource;
  result.value = value;
  result.unit = unit;
  result.ci95 = {0.999 * value, 1.001 * value};
  result.repeats = 9;
  result.method = "made up";
  result.clock_hz = 1.98e9;
  result.group = group;
  return result;
}

/// Something in every group, with a caveat, checks and a name as long as the longest.
Calibration full_calibration() {
  Calibration calibration;
  calibration.device.id = "cuda:0";
  calibration.device.kind = DeviceKind::gpu;
  calibration.device.name = "NVIDIA H200";
  calibration.device.architecture = "sm_90";
  calibration.mode = "full";
  calibration.created_utc = "2026-06-28T09:00:00Z";
  calibration.seconds_taken = 36.0;
  using enum CeilingGroup;
  calibration.ceilings = {ceiling("launch", 1.56e-6, "s", overhead),
                          ceiling("fp32", 6.59e13, "FLOP/s", compute),
                          ceiling("dram-read", 4.34e12, "B/s", memory),
                          ceiling("ridge-dram-read-sustained", 3.51e12, "B/s", memory),
                          ceiling("latency-dram", 3.33e-7, "s", latency),
                          ceiling("host-to-device-pinned", 9.999e8, "B/s", link),
                          ceiling("atomic-global-one", 1.36e9, "op/s", atomics)};
  calibration.ceilings[1].theoretical_limit = 6.69e13;
  calibration.ceilings[2].theoretical_limit = 4.81e12;
  calibration.ceilings[3].theoretical_limit = 4.81e12;
  calibration.ceilings[3].caveats = {"the driver held the clock back (power cap)"};
  calibration.ceilings[2].caveats = {"the driver held the clock back (power cap)"};
  calibration.ceilings[4].cycles = 659.8;
  calibration.ceilings[5].ci95 = {9.99e8, 1.002e9};
  calibration.levels = {{"l2", 4.2e7, {4.0e7, 4.4e7}}};
  calibration.absent = {{"peer-1-read", "there is no other GPU"}};
  DriftCheck drift;
  drift.calibration_utc = calibration.created_utc;
  drift.readings.resize(2);
  drift.readings[0].resource = "dram-copy";
  drift.readings[0].change = -0.0312;
  drift.readings[0].outcome = DriftOutcome::unsteady;
  drift.readings[1].resource = "fp32";
  drift.readings[1].change = 0.0001;
  drift.outcome = DriftOutcome::unsteady;
  calibration.drift = drift;
  Health health;
  health.kind = "NVIDIA H200";
  health.checks = {
      {"dram-read", "B/s", 4.34e12, {4.62e12, 4.73e12}, 0.03, Standing::below, 4.34 / 4.62 - 1.0, true, "a"},
      {"fp32", "FLOP/s", 6.59e13, {6.588e13, 6.612e13}, 0.03, Standing::inside, 0.0, false, "a"}};
  calibration.health = health;
  return calibration;
}

TEST(CalibrationConsole, CachesOfOneUnitAreOfACoreOnACpu) {
  Calibration calibration = full_calibration();
  calibration.unit_levels = {{"l1", 32768.0, {30000.0, 34000.0}}};
  EXPECT_THAT(console(calibration, {false, 80}), testing::HasSubstr("caches of one multiprocessor: "));
  calibration.device.kind = DeviceKind::cpu;
  EXPECT_THAT(console(calibration, {false, 80}), testing::HasSubstr("caches of one core: "));
}

TEST(CalibrationConsole, HasGroupsBarsCaveatsAndChecks) {
  for (const int width : {44, 80, 120}) {
    const std::string text = console(full_calibration(), {false, width});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
    if (width == 120) expect_golden(text, std::filesystem::path(GPUBENCH_GOLDEN) / "calibration-full-120.txt");
  }
}

TEST(CalibrationFiles, OneLineACeiling) {
  gpubench::Run run;
  run.devices = {full_calibration().device};
  run.calibrations = {full_calibration()};
  expect_golden(ceilings_csv(run), std::filesystem::path(GPUBENCH_GOLDEN) / "ceilings.csv");
  expect_golden(ceilings_markdown(run), std::filesystem::path(GPUBENCH_GOLDEN) / "ceilings.md");
}

TEST(Groups, ComeFromTheFileOrElseFromTheUnit) {
  Ceiling one;
  one.resource = "latency-dram";
  one.unit = "s";
  EXPECT_EQ(group_of(one), CeilingGroup::latency);
  one.resource = "launch";
  EXPECT_EQ(group_of(one), CeilingGroup::overhead);
  one.resource = "gemm-fp32";
  one.unit = "FLOP/s";
  EXPECT_EQ(group_of(one), CeilingGroup::compute);
  one.resource = "l1";
  one.unit = "B/s";
  EXPECT_EQ(group_of(one), CeilingGroup::memory);
  one.group = CeilingGroup::link;
  EXPECT_EQ(group_of(one), CeilingGroup::link);
}

TEST(HealthText, SaysWhatIsSlowerFirst) {
  EXPECT_EQ(health_text(*full_calibration().health),
            "slower than its kind, NVIDIA H200: 6.1 % below in dram-read; as expected in 1 of 2 figures");
  EXPECT_TRUE(is_ill(*full_calibration().health));
  EXPECT_EQ(health_text({"", {}, "no figures are known for this kind of GPU"}),
            "no figures are known for this kind of GPU");
  EXPECT_EQ(health_text({"X", {}, "MIG is on"}), "not compared with X: MIG is on");
  Health faster = *full_calibration().health;
  faster.checks[0] = faster.checks[1];
  faster.checks[1].standing = Standing::above;
  faster.checks[1].difference = 0.1;
  EXPECT_EQ(health_text(faster),
            "as expected of its kind, NVIDIA H200, in 1 of 2 figures; faster: 10.0 % above in fp32");
  EXPECT_FALSE(is_ill(faster));
}

TEST(Spreads, TheLargestFirst) {
  GpuSpread small{"NVIDIA H200", "fp32", "FLOP/s", 8, 6.6e13, 0.01, "cuda:1", 6.55e13, -0.008, false};
  GpuSpread large{"NVIDIA H200", "dram-read", "B/s", 8, 4.72e12, 0.09, "cuda:3", 4.3e12, -0.089, true};
  const std::string text = console(std::vector<GpuSpread>{small, large}, {false, 80});
  EXPECT_LT(text.find("dram-read"), text.find("fp32")) << text;
  EXPECT_NE(text.find("cuda:1 ?"), std::string::npos) << text;
  EXPECT_NE(text.find("-8.9 %"), std::string::npos) << text;
  EXPECT_EQ(console(std::vector<GpuSpread>{}, {false, 80}), "");
}

}  // namespace
}  // namespace gpubench::reports
