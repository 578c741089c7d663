// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/calls.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/matchers.h"

namespace gpubench::classifier {
namespace {

void add_time(Measurement& measurement, TimingMode clock, double seconds) {
  Timing& timing = measurement.timings.emplace_back();
  timing.clock = clock;
  timing.seconds =
      Summary{20, seconds, seconds, seconds, seconds, seconds, seconds, 0.0, {0.99 * seconds, 1.01 * seconds}};
}

Measurement called(double call, double stream, double graph) {
  Measurement measurement;
  add_time(measurement, TimingMode::stream, stream);
  add_time(measurement, TimingMode::call, call);
  if (graph > 0.0) {  // else it cannot be captured
    add_time(measurement, TimingMode::device, 0.9 * stream);
    add_time(measurement, TimingMode::graph, graph);
  }
  measurement.launches = Launches{3, 300, 0};
  measurement.bare_launch_seconds = Estimate{2e-6, {1.9e-6, 2.1e-6}};
  return measurement;
}

Verdict of_gpu(Regime regime, double confidence) {
  Verdict verdict;
  verdict.regime = regime;
  verdict.limiter = "dram";
  verdict.confidence = confidence;
  verdict.shares = {{"launch", 0.25}, {"dram", 0.75}};
  verdict.evidence = "reads 1 MB";
  verdict.advice = {{"fuse", "", 2.0, AdviceCode::fuse}, {"capture", "", 3.0, AdviceCode::batch_launches}};
  return verdict;
}

TEST(JudgeCall, AGraphThatTakesNothingKnownHasAGainWithoutAnInterval) {
  Measurement measurement = called(30e-6, 10e-6, 8e-6);
  for (Timing& timing : measurement.timings)
    if (timing.clock == TimingMode::graph) timing.seconds->median_ci95.low = 0.0;
  Verdict verdict = of_gpu(Regime::memory, 0.9);
  judge_call(measurement, verdict);
  EXPECT_TRUE(verdict.advice.front().gain);
  EXPECT_FALSE(verdict.advice.front().gain_ci95);
}

TEST(JudgeCall, ACallThatTheGpuWaitsForIsOverheadOfTheHost) {
  Verdict verdict = of_gpu(Regime::memory, 0.9);
  judge_call(called(30e-6, 10e-6, 8e-6), verdict);
  EXPECT_EQ(verdict.regime, Regime::overhead);
  EXPECT_EQ(verdict.limiter, "host");
  EXPECT_EQ(verdict.certainty, Certainty::certain);
  EXPECT_EQ(verdict.runner_up, Regime::memory);
  for (const char* part : {"30.0 us as called", "8.00 us replayed as a CUDA graph", "9.00 us on the device alone",
                           "24.0 us in Python", "6.00 us for 3 launches", "busy for 10.0 us", "reads 1 MB"})
    EXPECT_THAT(verdict.evidence, HasSubstr(part));
  ASSERT_EQ(verdict.advice.size(), 2U);
  EXPECT_THAT(verdict.advice.front().evidence, HasSubstr("measured: captured it takes 8.00 us instead of 30.0 us"));
  EXPECT_NEAR(verdict.advice.front().gain.value_or(0.0), 3.75, 1e-9);
  EXPECT_FALSE(verdict.advice.back().gain) << "shorter GPU work gains nothing while the host is slower";
  EXPECT_NEAR(verdict.shares.front().fraction, 2.0 / 3.0, 1e-12);
  EXPECT_DOUBLE_EQ(std::accumulate(verdict.shares.begin(), verdict.shares.end(), 0.0,
                                   [](double sum, const Share& share) { return sum + share.fraction; }),
                   1.0);
}

TEST(JudgeCall, ACallThatKeepsTheGpuBusyKeepsItsVerdict) {
  Verdict verdict = of_gpu(Regime::memory, 0.9);
  judge_call(called(10.1e-6, 10e-6, 9.8e-6), verdict);
  EXPECT_EQ(verdict.regime, Regime::memory);
  EXPECT_NEAR(verdict.confidence, 0.9, 0.03);
  EXPECT_THAT(verdict.evidence, HasSubstr("it takes 10.1 us as called, 9.80 us replayed"));
  EXPECT_EQ(verdict.advice.size(), 2U);
}

TEST(JudgeCall, NearTheBorderItIsSureOfNeither) {
  for (const double call : {10.7e-6, 11e-6, 11.3e-6}) {
    Verdict verdict = of_gpu(Regime::memory, 1.0);
    judge_call(called(call, 10e-6, 10e-6), verdict);
    EXPECT_LT(verdict.confidence, 0.95) << call;
    EXPECT_NE(verdict.certainty, Certainty::certain) << call;
  }
}

TEST(JudgeCall, OverheadEitherWayIsSurer) {
  Verdict verdict = of_gpu(Regime::overhead, 0.7);
  judge_call(called(11.5e-6, 10e-6, 9e-6), verdict);
  EXPECT_EQ(verdict.regime, Regime::overhead);
  EXPECT_GT(verdict.confidence, 0.85);
}

TEST(JudgeCall, WhatCannotBeCapturedIsJudgedByItsRecords) {
  Measurement measurement = called(30e-6, 29e-6, 0.0);
  Verdict verdict = of_gpu(Regime::latency, 1.0);
  judge_call(measurement, verdict);
  EXPECT_EQ(verdict.regime, Regime::unknown) << "its stream time has the host's waits in it";
  EXPECT_THAT(verdict.evidence, HasSubstr("nothing says how long"));

  measurement.activity.emplace().seconds = Estimate{5e-6, {4.9e-6, 5.1e-6}};
  verdict = of_gpu(Regime::latency, 1.0);
  judge_call(measurement, verdict);
  EXPECT_EQ(verdict.regime, Regime::overhead);
  EXPECT_THAT(verdict.advice.front().action, Not(HasSubstr("capture")));

  measurement.activity->seconds = Estimate{29e-6, {28.9e-6, 29.1e-6}};
  verdict = of_gpu(Regime::memory, 1.0);
  judge_call(measurement, verdict);
  EXPECT_EQ(verdict.regime, Regime::memory);
}

TEST(JudgeCall, AGpuThatIsSlowerForReplaysTooIsNotWaiting) {
  Verdict verdict = of_gpu(Regime::compute, 0.9);
  judge_call(called(200e-6, 175e-6, 200e-6), verdict);
  EXPECT_EQ(verdict.regime, Regime::compute) << "the power limit slowed both down";
}

TEST(JudgeCall, WithoutACallNothingChanges) {
  Measurement measurement;
  add_time(measurement, TimingMode::stream, 1e-5);
  Verdict verdict = of_gpu(Regime::memory, 0.9);
  const Verdict before = verdict;
  judge_call(measurement, verdict);
  EXPECT_EQ(verdict, before);
}

}  // namespace
}  // namespace gpubench::classifier
