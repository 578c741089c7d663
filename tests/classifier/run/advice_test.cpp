// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "classifier/classifier.h"
#include "classifier/verdict/point_analysis.h"
#include "tests/classifier/machines.h"
#include "tests/matchers.h"

namespace gpubench::classifier {
namespace {

const Advice* find_advice(Verdict&& verdict, const std::string& part) = delete;
const Advice* find_advice(const Verdict& verdict, const std::string& part) {
  for (const auto& advice : verdict.advice)
    if (advice.action.find(part) != std::string::npos) return &advice;
  return nullptr;
}

TEST(Advice, OverheadIsBatched) {
  const auto verdict = classify(measured(2.5e-6, streaming(1e6, 1e6)), gpu());
  const auto* const batch = find_advice(verdict, "CUDA graph");
  ASSERT_NE(batch, nullptr);
  EXPECT_NEAR(*batch->gain, 5.0, 1e-9);  // 2.5 us without 2 us
  EXPECT_EQ(batch->evidence, "the launch takes 2.00 us of 2.50 us");
  EXPECT_NE(find_advice(verdict, "fuse"), nullptr);
  const auto hidden = classify(measured(1.99e-6, streaming(1e3, 1e3)), gpu());
  EXPECT_FALSE(find_advice(hidden, "CUDA graph")->gain);  // nobody can tell what is left
  EXPECT_THAT(classify(measured(1.2e-6, streaming(1e3, 1e3), "cpu"), cpu()).advice.front().action,
              HasSubstr("parallel region"));
}

TEST(Advice, ACpuHasNoTensorCores) {
  const auto verdict = classify(measured(1e-3, streaming(0.0, 0.0, 0.96e9), "cpu"), cpu());
  EXPECT_EQ(verdict.limiter, "fp32");
  EXPECT_THAT(verdict.advice, IsEmpty());
  Work work;
  work.flops[fp64] = 0.48e9;
  const auto half = classify(measured(1e-3, work, "cpu"), cpu());
  ASSERT_THAT(half.advice, SizeIs(1));
  EXPECT_EQ(half.advice.front().action, "compute in FP32 where its precision suffices");
}

TEST(Advice, CodeForNarrowVectorsIsToBeCompiledForTheProcessor) {
  auto calibration = cpu();
  calibration.device.architecture = "avx512";
  auto measurement = measured(1e-3, streaming(0.0, 0.0, 0.15e9), "cpu");  // 15 % of FP32
  const auto is_told = [&](double flops, double bytes = 0.0) {
    measurement.work = streaming(bytes, 0.0, flops);
    const auto verdict = classify(measurement, calibration);
    return find_advice(verdict, "-march") != nullptr;
  };
  EXPECT_FALSE(is_told(0.15e9)) << "not known";
  measurement.compiled_vectors = "avx512";
  EXPECT_FALSE(is_told(0.15e9));
  measurement.compiled_vectors = "baseline";
  EXPECT_TRUE(is_told(0.15e9));
  EXPECT_FALSE(is_told(0.5e9)) << "faster than 128 bits could be: a library chose its code at run time";
  EXPECT_FALSE(is_told(0.01e9)) << "it waits for something else";
  EXPECT_TRUE(is_told(0.05e9, 1e6));
  EXPECT_FALSE(is_told(0.05e9, 24e6)) << "memory takes longer";
  measurement.work = streaming(0.0, 0.0, 0.15e9);
  const auto verdict = classify(measurement, calibration);
  const auto* const advice = find_advice(verdict, "-march");
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->code, AdviceCode::wider_vectors);
  EXPECT_FALSE(advice->gain);
  EXPECT_EQ(advice->evidence, "its source is compiled for vectors of 128 bits, and the FP32 ceiling is of 512");
}

TEST(Advice, NothingIsGainedThatNobodyDeclared) {
  // As sum(range(100)): what is left without a launch that it has none of.
  for (const auto& advice : classify(measured(1.2e-6, Work{}, "cpu"), cpu()).advice)
    EXPECT_FALSE(advice.gain) << advice.action;
  EXPECT_TRUE(classify(measured(1.2e-6, streaming(1e3, 1e3), "cpu"), cpu()).advice.front().gain);
}

TEST(Advice, LatencyOfMemoryNeedsBytesInFlight) {
  auto measurement = measured(22e-6, streaming(20e6, 20e6));
  EXPECT_TRUE(classify(measurement, gpu()).advice.empty()) << "nothing says what it waits for";
  measurement.counters = {{"stalled_by_memory", 9.0, "warps", "test"}};
  const auto verdict = classify(measurement, gpu());
  EXPECT_EQ(verdict.limiter, "memory-latency");
  const auto* const advice = find_advice(verdict, "bytes in flight");
  ASSERT_NE(advice, nullptr);
  EXPECT_NEAR(*advice->gain, 22.0 / 9.5, 1e-3);  // 2 us and 7.5 us at the ceilings
}

TEST(Advice, SmallGridsAndTails) {
  auto calibration = gpu();
  calibration.device.units = 100;
  Work work;
  work.flops[fp32] = 40e9;  // 1 ms
  auto small = measured(4.1e-3, work);
  small.grid = Grid{25, 2};
  const auto judged_1 = classify(small, calibration);
  const auto* const grid = find_advice(judged_1, "grid is too small");
  ASSERT_NE(grid, nullptr);
  EXPECT_NEAR(*grid->gain, 4.0, 0.05);
  EXPECT_EQ(grid->evidence, "25 blocks on 100 multiprocessors");
  auto tail = measured(1.35e-3, work);
  tail.grid = Grid{225, 1};  // 2.25 waves
  const auto judged_2 = classify(tail, calibration);
  const auto* const wave = find_advice(judged_2, "last wave");
  ASSERT_NE(wave, nullptr);
  EXPECT_NEAR(*wave->gain, 3.0 / 2.25, 0.01);
  auto at_ceiling = measured(1.03e-3, work);
  at_ceiling.grid = tail.grid;
  const auto judged_3 = classify(at_ceiling, calibration);
  EXPECT_EQ(find_advice(judged_3, "last wave"), nullptr) << "it is at its ceiling all the same";
}

TEST(Advice, WasteIsCoalesced) {
  auto measurement = measured(4.1e-3, streaming(2e9, 0.0));
  measurement.counters = {{"dram_read_bytes", 16e9, "bytes", "test"}, {"dram_write_bytes", 0.0, "bytes", "test"}};
  const auto verdict = classify(measurement, gpu());
  EXPECT_EQ(verdict.limiter, "dram");
  const auto* const advice = find_advice(verdict, "coalesce");
  ASSERT_NE(advice, nullptr);
  EXPECT_NEAR(*advice->gain, 4.1 / 0.6, 0.05) << "4 ms become 0.5 ms, and 0.1 ms stay as they are";
  const auto lean = classify(measured(0.6e-3, streaming(2e9, 0.0)), gpu());
  EXPECT_EQ(find_advice(lean, "coalesce"), nullptr);
}

TEST(Advice, WasteOfLocalMemoryIsNotCoalesced) {
  auto measurement = measured(4.1e-3, streaming(2e9, 0.0));
  measurement.counters = {{"dram_read_bytes", 16e9, "bytes", "test"}, {"dram_write_bytes", 0.0, "bytes", "test"}};
  measurement.launches = Launches{1, 40'000, 40'000, 6.5e9};
  const auto verdict = classify(measurement, gpu());
  EXPECT_EQ(find_advice(verdict, "coalesce"), nullptr);
  const auto* const advice = find_advice(verdict, "allow it more registers");
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->code, AdviceCode::fewer_spills);
  EXPECT_NE(advice->evidence.find("its threads have 6.50 GB of local memory"), std::string::npos) << advice->evidence;
  EXPECT_NEAR(*advice->gain, 4.1 / 0.6, 0.05);
  measurement.launches->local_bytes = 0.1e9;
  const auto strewn = classify(measurement, gpu());
  EXPECT_NE(find_advice(strewn, "coalesce"), nullptr) << "too little for so many bytes";
}

TEST(Advice, WasteThatTakesLittleOfTheTimeIsNotWorthAWord) {
  // As an empty kernel has: its code and arguments are read.
  auto spins = measured(1e-3, streaming(4.0, 0.0));
  spins.counters = {{"dram_read_bytes", 0.0, "bytes", "test"},
                    {"dram_write_bytes", 0.0, "bytes", "test"},
                    {"l2_bytes", 55e3, "bytes", "test"}};
  const auto verdict = classify(spins, gpu());
  EXPECT_EQ(verdict.regime, Regime::latency);
  EXPECT_EQ(find_advice(verdict, "coalesce"), nullptr);
}

TEST(Advice, WithoutWasteTheOtherResourcesAreLeft) {
  // 4 ms in DRAM for 0.5 ms declared, and 2 ms of multiply-adds: twice as fast at most.
  Work work = streaming(1e9, 0.0);
  work.flops[fp32] = 80e9;
  auto measurement = measured(4.1e-3, work);
  measurement.counters = {{"dram_read_bytes", 8e9, "bytes", "test"}, {"dram_write_bytes", 0.0, "bytes", "test"}};
  const auto verdict = classify(measurement, gpu());
  const auto* const advice = find_advice(verdict, "coalesce");
  ASSERT_NE(advice, nullptr);
  EXPECT_GT(*advice->gain, 1.5);
  EXPECT_LE(*advice->gain, 2.1);
}

TEST(Advice, FasterPipesUpToTheMemory) {
  Work work = streaming(1e9, 1e9);  // 0.5 ms
  work.flops[fp64] = 40e9;          // 2 ms, in FP32 1 ms
  const auto verdict = classify(measured(2.1e-3, work), gpu());
  const auto* const advice = find_advice(verdict, "in FP32");
  ASSERT_NE(advice, nullptr);
  EXPECT_NEAR(*advice->gain, 2.0, 0.02);
}

TEST(Advice, AGainHasAnIntervalAboutIt) {
  auto measurement = measured(60e-6, streaming(80e6, 0.0));
  measurement.counters = {{"stalled_by_memory", 9.0, "warps", "test"}};
  const auto verdict = classify(measurement, gpu());
  ASSERT_FALSE(verdict.advice.empty());
  const Advice& advice = verdict.advice.front();
  ASSERT_TRUE(advice.gain && advice.gain_ci95);
  // The model's 5 %, and the little of the time and of the ceiling.
  EXPECT_NEAR(advice.gain_ci95->high / *advice.gain, std::exp(1.96 * 0.052), 0.02);
  EXPECT_NEAR(*advice.gain / advice.gain_ci95->low, std::exp(1.96 * 0.052), 0.02);
  for (const Advice& each : verdict.advice) EXPECT_GE(each.gain_ci95.value_or(Interval{1.0, 1.0}).low, 1.0);
}

TEST(Advice, TheIntervalOfAGainIsFiniteWhateverTheSamples) {
  auto measurement = measured(2.5e-6, streaming(1e6, 1e6));
  measurement.timings.front().seconds->median_ci95 = {1e-9, 1.0};  // as under load
  const auto verdict = classify(measurement, gpu());
  ASSERT_FALSE(verdict.advice.empty());
  ASSERT_TRUE(verdict.advice.front().gain_ci95);
  for (const Advice& each : verdict.advice)
    if (each.gain_ci95) EXPECT_TRUE(std::isfinite(each.gain_ci95->high));
}

TEST(Advice, ByFallingGainAndNeverBelowFivePerCent) {
  for (const double seconds : {2.5e-6, 5e-6, 20e-6, 1.1e-3}) {
    const auto verdict = classify(measured(seconds, streaming(seconds * 2e12, seconds * 1e12)), gpu());
    double last = 1e300;
    for (const auto& advice : verdict.advice) {
      EXPECT_GE(advice.gain.value_or(1.05), 1.05);
      EXPECT_LE(advice.gain.value_or(0.0), last);
      last = advice.gain.value_or(0.0);
      EXPECT_FALSE(advice.evidence.empty());
    }
  }
}

}  // namespace
}  // namespace gpubench::classifier
