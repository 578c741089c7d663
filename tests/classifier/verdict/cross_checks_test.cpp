// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/cross_checks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "classifier/classifier.h"
#include "tests/classifier/machines.h"
#include "tests/matchers.h"

namespace gpubench::classifier {
namespace {

TEST(Weigh, AContradictionLeavesNothingCertain) {
  Verdict verdict;
  verdict.regime = Regime::latency;
  verdict.confidence = 0.99;
  weigh({Experiment::ncu_rule, Outcome::disagrees, "latency", ""}, verdict);
  EXPECT_DOUBLE_EQ(verdict.confidence, 0.99);  // the rule is another opinion, not an experiment
  weigh({Experiment::ablation, Outcome::disagrees, "the traffic", ""}, verdict);
  EXPECT_NEAR(verdict.confidence, 0.99 * 0.05 / (0.99 * 0.05 + 0.01 * 0.95), 1e-9);
  EXPECT_NE(verdict.certainty, Certainty::certain);
}

Measurement with_variant(Ablation perturbation, double remaining_fraction, double seconds) {
  auto measurement = measured(10e-6, streaming(1e6, 1e6));
  Variant variant{perturbation, remaining_fraction, measurement.seconds(), ""};
  variant.seconds->median = seconds;
  variant.seconds->median_ci95 = {0.99 * seconds, 1.01 * seconds};
  measurement.variants = {variant};
  return measurement;
}

TEST(Ablation, TimeThatGoesWithTheWorkIsThatWorks) {
  const auto outcome = [](Regime regime, Ablation perturbation, double remaining_fraction, double seconds) {
    return perturbation_checks(regime, with_variant(perturbation, remaining_fraction, seconds)).at(0).outcome;
  };
  EXPECT_EQ(outcome(Regime::memory, less_arithmetic, 0.5, 10e-6), Outcome::agrees);
  EXPECT_EQ(outcome(Regime::compute, less_arithmetic, 0.5, 10e-6), Outcome::disagrees);
  EXPECT_EQ(outcome(Regime::compute, less_arithmetic, 0.5, 5.2e-6), Outcome::agrees);
  EXPECT_EQ(outcome(Regime::memory, less_traffic, 0.0, 1e-6), Outcome::agrees);
  EXPECT_EQ(outcome(Regime::overhead, less_traffic, 0.0, 1e-6), Outcome::disagrees);
  EXPECT_EQ(outcome(Regime::overhead, less_arithmetic, 0.0, 9.9e-6), Outcome::agrees);
  EXPECT_EQ(outcome(Regime::memory, less_arithmetic, 0.5, 7.5e-6), Outcome::undecided);
  EXPECT_EQ(outcome(Regime::latency, less_arithmetic, 0.5, 10e-6), Outcome::undecided);
  const auto check = perturbation_checks(Regime::memory, with_variant(less_arithmetic, 0.5, 10e-6)).at(0);
  EXPECT_EQ(check.says, "not the arithmetic");
  EXPECT_EQ(check.evidence, "with 50 % of its arithmetic it takes 10.0 us instead of 10.0 us");
}

TEST(Ablation, WhatWasNotTimedDoesNotVote) {
  auto measurement = with_variant(less_arithmetic, 0.5, 10e-6);
  measurement.variants.front().seconds->median = std::nan("");
  EXPECT_TRUE(perturbation_checks(Regime::memory, measurement).empty());
  measurement.variants.front().seconds.reset();
  EXPECT_TRUE(perturbation_checks(Regime::memory, measurement).empty());
  measurement = with_variant(less_arithmetic, 1.0, 10e-6);
  EXPECT_TRUE(perturbation_checks(Regime::memory, measurement).empty());
}

TEST(SpeedOfLight, TheRulesClasses) {
  EXPECT_EQ(speed_of_light_class({85.0, 20.0, {}}), "high throughput");
  EXPECT_EQ(speed_of_light_class({59.9, 20.0, {}}), "latency");
  EXPECT_EQ(speed_of_light_class({59.9, 20.0, 0.9}), "small grid");
  EXPECT_EQ(speed_of_light_class({59.9, 20.0, 1.0}), "latency");
  EXPECT_EQ(speed_of_light_class({70.0, 61.0, {}}), "balanced");
  EXPECT_EQ(speed_of_light_class({70.0, 60.0, {}}), "high compute");
  EXPECT_EQ(speed_of_light_class({20.0, 79.0, {}}), "high memory");
}

TEST(SpeedOfLight, VotesWithAReason) {
  Verdict verdict;
  verdict.regime = Regime::memory;
  verdict.limiter = "dram";
  EXPECT_EQ(speed_of_light_check(verdict, {20.0, 90.0, {}}).outcome, Outcome::agrees);
  EXPECT_EQ(speed_of_light_check(verdict, {90.0, 20.0, {}}).outcome, Outcome::disagrees);
  EXPECT_EQ(speed_of_light_check(verdict, {65.0, 62.0, {}}).outcome, Outcome::undecided);
  verdict.regime = Regime::overhead;
  const auto check = speed_of_light_check(verdict, {5.0, 10.0, {}});
  EXPECT_EQ(check.outcome, Outcome::disagrees);
  EXPECT_THAT(check.evidence, HasSubstr("without its launch"));
}

TEST(SpeedOfLight, EveryDifferenceHasAReason) {
  for (const Regime regime : {Regime::overhead, Regime::latency, Regime::memory, Regime::compute})
    for (const char* const limiter : {"launch", "block-start", "latency", "dram", "l2", "fp32", "tensor-bf16", "issue"})
      for (int sm = 0; sm <= 100; sm += 10)
        for (int memory = 0; memory <= 100; memory += 10) {
          Verdict verdict;
          verdict.regime = regime;
          verdict.limiter = limiter;
          const auto check = speed_of_light_check(verdict, {double(sm), double(memory), 0.5});
          const auto end_of_figures = check.evidence.find("of peak") + 7;
          EXPECT_EQ(check.evidence.size() > end_of_figures + 10, check.outcome == Outcome::disagrees) << check.evidence;
        }
}

}  // namespace
}  // namespace gpubench::classifier
