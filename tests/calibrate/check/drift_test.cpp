// SPDX-License-Identifier: Apache-2.0
// When a stored ceiling counts as drifted: decided on made-up samples.
#include "calibrate/check/drift.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace gpubench::calibrate {
namespace {

Ceiling ceiling(const std::string& resource, double value, double half_width, const std::string& unit = "B/s") {
  Ceiling result;
  result.resource = resource;
  result.value = value;
  result.unit = unit;
  result.ci95 = {value - half_width, value + half_width};
  return result;
}

/// Seven samples within `scatter` of the median, whose interval is then all of them.
DriftSamples set(double median, double scatter = 0.0, const std::string& disturbance = "") {
  DriftSamples samples;
  for (int i = -3; i <= 3; ++i) samples.values.push_back(median + scatter * i / 3.0);
  samples.method = "made up";
  samples.disturbance = disturbance;
  return samples;
}

DriftOutcome judged(const Ceiling& stored, const std::vector<DriftSamples>& sets) {
  return judge_drift(stored, sets).outcome;
}

TEST(JudgeDrift, TwoPercentBeyondBothIntervals) {
  const Ceiling stored = ceiling("dram-copy", 100.0, 1.0);
  EXPECT_EQ(judged(stored, {set(100.0)}), DriftOutcome::agrees);
  EXPECT_EQ(judged(stored, {set(97.1)}), DriftOutcome::agrees);  // 1.9 % below the interval
  EXPECT_EQ(judged(stored, {set(96.9)}), DriftOutcome::drifted);
  EXPECT_EQ(judged(stored, {set(103.1)}), DriftOutcome::drifted);
  EXPECT_EQ(judged(stored, {set(102.9)}), DriftOutcome::agrees);
}

TEST(JudgeDrift, AWideIntervalOfEitherHoldsItBack) {
  EXPECT_EQ(judged(ceiling("dram-copy", 100.0, 10.0), {set(89.0)}), DriftOutcome::agrees);
  EXPECT_EQ(judged(ceiling("dram-copy", 100.0, 1.0), {set(90.0, 8.0)}), DriftOutcome::agrees);
  EXPECT_EQ(judged(ceiling("dram-copy", 100.0, 1.0), {set(90.0, 1.0)}), DriftOutcome::drifted);
}

TEST(JudgeDrift, SetsThatContradictEachOtherAreUnsteady) {
  const Ceiling stored = ceiling("dram-copy", 100.0, 1.0);
  EXPECT_EQ(judged(stored, {set(90.0), set(100.0)}), DriftOutcome::unsteady);
  EXPECT_EQ(judged(stored, {set(100.0), set(90.0)}), DriftOutcome::unsteady);
  EXPECT_EQ(judged(stored, {set(90.0), set(110.0)}), DriftOutcome::unsteady);
  EXPECT_EQ(judged(stored, {set(90.0), set(92.0)}), DriftOutcome::drifted);
}

TEST(JudgeDrift, WhatIsExplainedOtherwiseIsNoDrift) {
  const Ceiling stored = ceiling("fp32", 100.0, 1.0, "FLOP/s");
  EXPECT_EQ(judged(stored, {set(80.0, 0.0, "others ran")}), DriftOutcome::disturbed);
  EXPECT_EQ(judged(stored, {set(80.0), set(80.0, 0.0, "others ran")}), DriftOutcome::disturbed);
  EXPECT_EQ(judged(stored, {set(120.0, 0.0, "others ran")}), DriftOutcome::drifted);  // nobody is faster for company
  EXPECT_EQ(judged(ceiling("launch", 100.0, 1.0, "s"), {set(220.0, 0.0, "others ran")}), DriftOutcome::disturbed);
}

TEST(JudgeDrift, ALaunchMayDifferByATwofold) {
  const Ceiling stored = ceiling("launch", 100.0, 1.0, "s");
  EXPECT_EQ(judged(stored, {set(190.0)}), DriftOutcome::agrees);
  EXPECT_EQ(judged(stored, {set(60.0)}), DriftOutcome::agrees);
  EXPECT_EQ(judged(stored, {set(220.0)}), DriftOutcome::drifted);
  EXPECT_EQ(judged(stored, {set(40.0)}), DriftOutcome::drifted);  // it was measured under load
}

TEST(JudgeDrift, SaysHowFarOff) {
  const DriftReading reading = judge_drift(ceiling("dram-copy", 200.0, 2.0), {set(180.0, 1.0), set(190.0, 1.0)});
  EXPECT_NEAR(reading.change, -0.05, 1e-12);
  EXPECT_NEAR(reading.beyond, (191.0 - 198.0) / 200.0, 1e-12);
  EXPECT_EQ(reading.now, (Estimate{190.0, {189.0, 191.0}}));
  EXPECT_EQ(reading.stored, (Estimate{200.0, {198.0, 202.0}}));
  EXPECT_EQ(reading.samples, 14);
  EXPECT_EQ(reading.sets, 2);
  EXPECT_EQ(reading.method, "made up");
}

/// Hands out prepared sets, one a call.
struct FakeDevice {
  std::deque<DriftSamples> sets;
  std::vector<std::string> asked;
  DriftSampler sampler() {
    return [this](const Ceiling& stored) {
      asked.push_back(stored.resource);
      if (sets.empty()) throw NoDriftSamples("no memory");
      DriftSamples next = sets.front();
      sets.pop_front();
      return next;
    };
  }
};

Calibration calibration() {
  Calibration result;
  result.created_utc = "2026-01-01T00:00:00Z";
  result.ceilings = {ceiling("fp32", 50.0, 0.5, "FLOP/s"), ceiling("dram-copy", 100.0, 1.0)};
  return result;
}

TEST(CheckDrift, OneSetOfEachWhenAllAgrees) {
  FakeDevice device{{set(100.0), set(50.0)}, {}};
  const DriftCheck check = check_drift(calibration(), device.sampler());
  EXPECT_EQ(device.asked, (std::vector<std::string>{"dram-copy", "fp32"}));
  EXPECT_EQ(check.outcome, DriftOutcome::agrees);
  EXPECT_EQ(check.readings.size(), 2u);
  EXPECT_EQ(check.calibration_utc, "2026-01-01T00:00:00Z");
  EXPECT_TRUE(check.not_checked.empty());
}

TEST(CheckDrift, OfACpuIsOfTheLaunchToo) {
  FakeDevice device{{set(100.0), set(50.0), set(0.01), set(0.01)}, {}};
  Calibration stored = calibration();
  stored.device.kind = DeviceKind::cpu;
  stored.ceilings.push_back(ceiling("launch", 24.0, 1.0, "s"));
  const DriftCheck check = check_drift(stored, device.sampler());
  EXPECT_EQ(device.asked, (std::vector<std::string>{"dram-copy", "fp32", "launch", "launch"}));
  EXPECT_EQ(check.outcome, DriftOutcome::drifted);
}

TEST(CheckDrift, WithoutAReadingNothingAgrees) {
  FakeDevice device{{}, {}};
  Calibration without = calibration();
  without.ceilings.clear();
  const DriftCheck check = check_drift(without, device.sampler());
  EXPECT_EQ(check.outcome, DriftOutcome::unchecked);
  EXPECT_EQ(check.not_checked.size(), 2u);
}

TEST(CheckDrift, AsksTwiceBeforeItDecides) {
  FakeDevice drifted{{set(90.0), set(50.0), set(90.0)}, {}};
  EXPECT_EQ(check_drift(calibration(), drifted.sampler()).outcome, DriftOutcome::drifted);
  EXPECT_EQ(drifted.asked, (std::vector<std::string>{"dram-copy", "fp32", "dram-copy"}));
  FakeDevice noisy{{set(90.0), set(50.0), set(100.0)}, {}};
  EXPECT_EQ(check_drift(calibration(), noisy.sampler()).outcome, DriftOutcome::unsteady);
}

TEST(CheckDrift, TheWorstDecides) {
  FakeDevice device{{set(90.0), set(40.0), set(100.0), set(40.0)}, {}};
  const DriftCheck check = check_drift(calibration(), device.sampler());
  EXPECT_EQ(check.readings[0].outcome, DriftOutcome::unsteady);
  EXPECT_EQ(check.readings[1].outcome, DriftOutcome::drifted);
  EXPECT_EQ(check.outcome, DriftOutcome::drifted);
}

TEST(CheckDrift, WhatCannotBeCheckedIsNamed) {
  FakeDevice device{{set(100.0)}, {}};
  const DriftCheck check = check_drift(calibration(), device.sampler());
  EXPECT_EQ(check.readings.size(), 1u);
  EXPECT_EQ(check.not_checked, (std::vector<std::string>{"fp32: no memory"}));
  FakeDevice none;
  const DriftCheck empty = check_drift(Calibration{}, none.sampler());
  EXPECT_TRUE(none.asked.empty());
  EXPECT_EQ(empty.not_checked.size(), 2u);
  EXPECT_EQ(empty.outcome, DriftOutcome::unchecked);
}

}  // namespace
}  // namespace gpubench::calibrate
