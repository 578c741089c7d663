// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "classifier/classifier.h"
#include "classifier/verdict/confidence.h"
#include "tests/classifier/machines.h"
#include "tests/matchers.h"

namespace gpubench::classifier {
namespace {

double sum_of_shares(const Verdict& verdict) {
  double sum = 0.0;
  for (const auto& share : verdict.shares) sum += share.fraction;
  return sum;
}

TEST(Classify, Overhead) {
  const auto verdict = classify(measured(2.5e-6, streaming(1e6, 1e6)), gpu());
  EXPECT_EQ(verdict.regime, Regime::overhead);
  EXPECT_EQ(verdict.limiter, "launch");
  EXPECT_FALSE(verdict.achieved);
  EXPECT_EQ(verdict.certainty, Certainty::certain);
  EXPECT_NEAR(share_of(verdict, "launch"), 0.8, 1e-12);
  EXPECT_NEAR(share_of(verdict, "l2"), 0.1, 1e-6);  // 0.25 us
  EXPECT_NEAR(share_of(verdict, "unexplained"), 0.1, 1e-6);
  EXPECT_NEAR(verdict.model_seconds, 2.25e-6, 1e-12);
  EXPECT_THAT(verdict.evidence, HasSubstr("spends 2.00 us of 2.50 us on the launch"));
}

TEST(Classify, OverheadOfACpuIsNotCertainWhereThreadsAreNotKnown) {
  // A loop of one thread takes as long.
  const auto verdict = classify(measured(1.25e-6, streaming(1e3, 1e3), "cpu"), cpu());
  EXPECT_EQ(verdict.regime, Regime::overhead);
  EXPECT_EQ(verdict.certainty, Certainty::likely);
  EXPECT_THAT(verdict.evidence, HasSubstr("takes 1.25 us, little longer than an empty parallel region (1.00 us)"));
}

TEST(Classify, LatencyOfACpuForWantOfAnotherLimitIsNearABoundary) {
  // As sines of bytes alone, or a sort: what it calculates may be what it does all the time.
  EXPECT_EQ(classify(measured(1e-3, streaming(1e6, 1e6), "cpu"), cpu()).certainty, Certainty::boundary);
  EXPECT_EQ(classify(measured(1e-3, streaming(1e6, 1e6, 1e6), "cpu"), cpu()).certainty, Certainty::boundary);
}

TEST(Classify, WhatOneThreadDoesIsJudgedByOneCore) {
  const auto memory = classify(measured_on_host(0.21, streaming(1e9, 1e9), 1.0), cpu_with_cores());
  EXPECT_EQ(memory.regime, Regime::memory);
  EXPECT_EQ(memory.limiter, "dram");
  EXPECT_NEAR(memory.achieved.value(), 0.2 / 0.21, 1e-3) << "of the 10 GB/s that one core has";
  EXPECT_THAT(memory.evidence, HasSubstr("one thread works, so the ceilings are of one core of 4"));
  const auto compute = classify(measured_on_host(0.0041, streaming(1e3, 0.0, 1e9), 1.0), cpu_with_cores());
  EXPECT_EQ(compute.regime, Regime::compute);
  ASSERT_FALSE(compute.advice.empty());
  EXPECT_EQ(compute.advice.back().code, AdviceCode::more_threads);
  EXPECT_FALSE(compute.advice.back().gain);
  const auto all = classify(measured_on_host(0.21, streaming(1e9, 1e9), 3.9), cpu_with_cores());
  EXPECT_EQ(all.regime, Regime::latency);
  EXPECT_NEAR(all.achieved.value(), 0.1 / 0.21, 1e-3);
}

TEST(Classify, OneThreadStartsNoParallelRegion) {
  // As long as an empty region, which it does not start.
  const auto serial = classify(measured_on_host(1e-6, streaming(1e3, 0.0), 1.0), cpu_with_cores());
  EXPECT_NE(serial.regime, Regime::overhead);
  const auto call = classify(measured_on_host(1.1e-9, streaming(8.0, 0.0), 1.0), cpu_with_cores());
  EXPECT_EQ(call.regime, Regime::overhead);
  EXPECT_EQ(call.certainty, Certainty::certain);
  EXPECT_THAT(call.evidence, HasSubstr("takes 1.10 ns, little longer than an empty call (1.00 ns)"));
  const auto parallel = classify(measured_on_host(1.1e-6, streaming(1e3, 0.0), 3.9), cpu_with_cores());
  EXPECT_EQ(parallel.regime, Regime::overhead);
  EXPECT_EQ(parallel.certainty, Certainty::certain);
}

TEST(Classify, OneThreadHasNoLaunchWhereACalibrationKnowsNoSingleCore) {
  const auto verdict = classify(measured_on_host(1e-6, streaming(1e3, 0.0, 1e3), 1.0), cpu());
  EXPECT_EQ(verdict.regime, Regime::latency);
}

TEST(Classify, MemoryOfDram) {
  const auto verdict = classify(measured(1.1e-3, streaming(2e9, 2e9)), gpu());  // 1 ms at the ceiling
  EXPECT_EQ(verdict.regime, Regime::memory);
  EXPECT_EQ(verdict.limiter, "dram");
  EXPECT_NEAR(*verdict.achieved, 1.0 / 1.1, 1e-9);
  EXPECT_EQ(verdict.certainty, Certainty::certain);
  EXPECT_EQ(verdict.runner_up, Regime::latency);
  EXPECT_EQ(verdict.evidence, "reads and writes 4.00 GB at 3.64 TB/s, 91 % of DRAM's ceiling for this mix");
  EXPECT_EQ(verdict.shares.size(), 3U);  // launch, dram, unexplained
}

TEST(Classify, AGpuThatOthersComputedOnMakesNothingCertain) {
  Measurement measurement = measured(1.1e-3, streaming(2e9, 2e9));
  measurement.conditions.emplace().gpu_share = 0.92;
  EXPECT_EQ(classify(measurement, gpu()).certainty, Certainty::certain);
  measurement.conditions->gpu_share = 0.85;
  const auto verdict = classify(measurement, gpu());
  EXPECT_EQ(verdict.certainty, Certainty::likely);
  EXPECT_LE(verdict.confidence, 0.85);
  EXPECT_THAT(verdict.evidence, HasSubstr("measured under load: it had 85 % of its GPU"));
}

TEST(Classify, ACollectiveWaitsForOthersAndHasNoVerdict) {
  Measurement measurement = measured(1.1e-3, streaming(2e9, 2e9));
  measurement.kernels.resize(1);
  measurement.kernels[0].launch.name = "gemm(float*)";
  EXPECT_EQ(classify(measurement, gpu()).regime, Regime::memory);
  measurement.kernels[0].launch.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
  const auto verdict = classify(measurement, gpu());
  EXPECT_EQ(verdict.regime, Regime::unknown);
  EXPECT_THAT(verdict.advice, IsEmpty());
  EXPECT_THAT(verdict.evidence, HasSubstr("as long as its slowest rank"));
  measurement.kernels[0].launch.name = "ncclSymkDevKernel_AllReduce(ncclSymkDevWorkArgs)";  // of symmetric memory
  EXPECT_EQ(classify(measurement, gpu()).regime, Regime::unknown);
}

TEST(Classify, SpecialFunctions) {
  Calibration calibration = gpu();
  Work work = streaming(4e6, 0.0, 4e9);  // 0.1 ms of FP32
  work.flops[special] = 4e9;
  const auto without = classify(measured(1.1e-3, work), calibration);
  EXPECT_EQ(without.regime, Regime::unknown);
  EXPECT_THAT(without.evidence, HasSubstr("no ceiling was measured for special function"));
  calibration.ceilings.push_back(ceiling("special", 4e12));  // 1 ms
  const auto verdict = classify(measured(1.1e-3, work), calibration);
  EXPECT_EQ(verdict.regime, Regime::compute);
  EXPECT_EQ(verdict.limiter, "special");
  EXPECT_NEAR(*verdict.achieved, 1.0 / 1.1, 1e-9);
  EXPECT_EQ(verdict.certainty, Certainty::certain);
  EXPECT_THAT(verdict.evidence, HasSubstr("does 4.00 Gop at 3.64 Top/s, 91 % of the special function ceiling"));
}

TEST(Classify, MemoryOfACache) {
  Work work = streaming(80e6, 0.0);
  work.footprint_bytes = 10e6;
  const auto verdict = classify(measured(13e-6, work), gpu());  // 2 us + 10 us
  EXPECT_EQ(verdict.regime, Regime::memory);
  EXPECT_EQ(verdict.limiter, "l2");
  EXPECT_THAT(verdict.evidence, HasSubstr("reads 80.0 MB at 6.15 TB/s, 77 % of L2's ceiling"));
}

TEST(Classify, BetweenTwoLevelsNamesBoth) {
  const auto verdict = classify(measured(10e-6, streaming(0.0, 40e6)), gpu());  // 2 us + 2.5 us of L2 + 5 us of DRAM
  EXPECT_EQ(verdict.limiter, "dram");
  EXPECT_THAT(verdict.evidence, HasSubstr("writes 40.0 MB at 4.00 TB/s, 75 % of what L2 and DRAM allow together"));
  EXPECT_NEAR(share_of(verdict, "l2"), 0.25, 1e-9);
  EXPECT_NEAR(share_of(verdict, "dram"), 0.5, 1e-9);
}

TEST(Classify, Compute) {
  Work work = streaming(1e9, 1e9);   // 0.5 ms
  work.flops[tensor_bf16] = 1.6e12;  // 2 ms
  const auto verdict = classify(measured(2.2e-3, work), gpu());
  EXPECT_EQ(verdict.regime, Regime::compute);
  EXPECT_EQ(verdict.limiter, "tensor-bf16");
  EXPECT_NEAR(*verdict.achieved, 2.0 / 2.2, 1e-9);
  EXPECT_EQ(verdict.evidence, "does 1.60 TFLOP at 727 TFLOP/s, 91 % of the tensor-bf16 ceiling");
}

TEST(Classify, Latency) {
  const auto verdict =
      classify(measured(22e-6, streaming(20e6, 20e6)), gpu());  // 20 us beside the launch, 7.5 us of memory
  EXPECT_EQ(verdict.regime, Regime::latency);
  EXPECT_EQ(verdict.limiter, "latency");
  EXPECT_NEAR(*verdict.achieved, 7.5 / 22.0, 1e-6);
  EXPECT_EQ(verdict.runner_up, Regime::memory);
  EXPECT_NEAR(share_of(verdict, "unexplained"), 12.5 / 22.0, 1e-6);
  EXPECT_THAT(verdict.evidence, HasSubstr("works for 20.0 us beyond the launch and reaches 38 % of what L2 and DRAM"));
  EXPECT_THAT(verdict.evidence, HasSubstr("no resource reaches 67 % of its ceiling"));
}

TEST(Classify, FrontiersAreBoundaryCases) {
  // A thousandth to one side, where the chances are even.
  const auto at_overhead = classify(measured(4e-6 * 0.999, streaming(8e6, 8e6)), gpu());
  EXPECT_EQ(at_overhead.certainty, Certainty::boundary);
  EXPECT_NEAR(at_overhead.confidence, 0.51, 0.02);
  const auto at_latency = classify(measured(2e-6 + 1.5e-3 * 0.998, streaming(2e9, 2e9)), gpu());
  EXPECT_NEAR(at_latency.confidence, 0.515, 0.02);
  const auto at_ridge = classify(measured(1.1e-3, streaming(2e9, 2e9, 39.9e9)), gpu());  // 1 ms each
  EXPECT_NEAR(at_ridge.confidence, 0.515, 0.02);
  EXPECT_EQ(at_ridge.certainty, Certainty::boundary);
}

TEST(Classify, BelowOneHalfThereIsNoVerdict) {
  // Far below the launch ceiling: that ceiling does not fit this timing.
  const auto verdict = classify(measured(0.1e-6, streaming(1e3, 1e3)), gpu());
  EXPECT_EQ(verdict.regime, Regime::unknown);
  EXPECT_TRUE(verdict.limiter.empty());
  EXPECT_TRUE(verdict.advice.empty());
  EXPECT_EQ(verdict.confidence, 0.0);
  EXPECT_THAT(verdict.evidence,
              HasSubstr("has no verdict: overhead (launch) would be right with a probability of 3.8 %"));
}

TEST(Classify, AShareThatTheLaunchMakesSmallIsSaidWithoutIt) {
  const auto verdict = classify(measured(5e-6, streaming(9e6, 9e6)), gpu());  // 2.25 us of 3 beside the launch
  EXPECT_EQ(verdict.regime, Regime::memory);
  EXPECT_NEAR(*verdict.achieved, 0.45, 1e-3);
  EXPECT_THAT(verdict.evidence, HasSubstr("; without the launch it takes 3.00 us and reaches 75 %"));
  const auto long_one = classify(measured(1.1e-3, streaming(2e9, 2e9)), gpu());
  EXPECT_THAT(long_one.evidence, Not(HasSubstr("without the launch")));
}

// Time's sigma 0.5/1.96 %, launch's 2/1.96 %, the model's 5 %; a distance of twice their root sum of squares is Phi(2)
// = 97.7 %.
TEST(Classify, ConfidenceByHand) {
  const double sigma = std::sqrt(std::pow(0.01 / 1.959964, 2) + std::pow(0.02 / 1.959964, 2) + 0.05 * 0.05);
  const double seconds = 4e-6 * std::exp(-2.0 * sigma);
  const auto verdict = classify(measured(seconds, streaming(7e6, 7e6)), gpu());
  EXPECT_EQ(verdict.regime, Regime::overhead);
  EXPECT_EQ(verdict.runner_up, Regime::memory);
  EXPECT_NEAR(verdict.confidence, 0.97725, 0.005);
}

TEST(Classify, MoreNoiseLessConfidence) {
  const auto sharp = classify(measured(3.4e-6, streaming(6e6, 5e6)), gpu());
  const auto dull = classify(measured(3.4e-6, streaming(6e6, 5e6), "cuda:0", 0.5), gpu());
  EXPECT_EQ(sharp.regime, dull.regime);
  EXPECT_GT(sharp.confidence, dull.confidence + 0.1);
}

TEST(Classify, FewSamplesAreNotTrusted) {
  auto measurement = measured(3.6e-6, streaming(6e6, 5e6));
  const double many = classify(measurement, gpu()).confidence;
  measurement.make_primary().seconds->count = 1;
  measurement.make_primary().seconds->median_ci95 = {3.6e-6, 3.6e-6};
  EXPECT_LT(classify(measurement, gpu()).confidence, many);
}

TEST(Classify, AboveTheCeilingIsSaid) {
  const auto verdict = classify(measured(0.7e-3, streaming(2e9, 2e9)), gpu());  // 1 ms at the ceiling
  EXPECT_EQ(verdict.regime, Regime::memory);
  EXPECT_GT(*verdict.achieved, 1.4);
  EXPECT_LE(verdict.confidence, 0.75 / 1.4);
  EXPECT_EQ(verdict.certainty, Certainty::boundary);
  EXPECT_THAT(verdict.evidence, HasSubstr("the declared bytes need 1.43x that time at DRAM's ceiling for this mix"));
  EXPECT_EQ(sum_of_shares(verdict), 1.0);
  const auto within = classify(measured(0.97e-3, streaming(2e9, 2e9)), gpu());
  EXPECT_EQ(within.certainty, Certainty::certain);
  EXPECT_EQ(within.evidence.find("declared"), std::string::npos);
  Work flops;
  flops.flops[fp32] = 40e9;  // 1 ms
  EXPECT_THAT(classify(measured(0.5e-3, flops), gpu()).evidence,
              HasSubstr("the declared operations need 2x that time at the FP32 ceiling"));
}

TEST(Classify, AboveTheCeilingBesideTheLaunch) {
  const auto verdict = classify(measured(6e-6, streaming(22e6, 22e6)), gpu());  // needs over 5 us where 4 us are left
  EXPECT_EQ(verdict.regime, Regime::unknown);
  EXPECT_THAT(verdict.evidence, HasSubstr("the declared bytes need"));
  EXPECT_EQ(verdict.certainty, Certainty::boundary);
}

TEST(Classify, BelowTheLaunch) {
  const auto slightly = classify(measured(1.98e-6, streaming(1e3, 1e3)), gpu());
  EXPECT_EQ(slightly.regime, Regime::overhead);
  EXPECT_EQ(slightly.certainty, Certainty::certain);
  EXPECT_EQ(share_of(slightly, "launch"), 1.0);
  EXPECT_THAT(slightly.evidence, HasSubstr("no longer than an empty kernel (2.00 us)"));
  const auto far = classify(measured(1e-6, streaming(1e3, 1e3)), gpu());
  EXPECT_EQ(far.regime, Regime::unknown);
  EXPECT_THAT(far.evidence, HasSubstr("it is faster than the launch ceiling"));
}

TEST(Classify, NoDeclaredWork) {
  const auto shorter = classify(measured(3e-6, Work{}), gpu());
  EXPECT_EQ(shorter.regime, Regime::overhead);
  const auto longer = classify(measured(30e-6, Work{}), gpu());
  EXPECT_EQ(longer.regime, Regime::unknown);
  EXPECT_EQ(longer.limiter, "");
  EXPECT_FALSE(longer.achieved);
  EXPECT_EQ(longer.confidence, 0.0);
  EXPECT_THAT(longer.evidence, HasSubstr("declares no bytes and no FLOPs"));
  Work random;
  random.random = RandomAccesses{1e6, 0.0, 1e9};
  EXPECT_THAT(classify(measured(30e-6, random), gpu()).evidence,
              HasSubstr("declares random accesses alone, and no ceiling of these was measured"));
}

TEST(Classify, NoLaunchCeiling) {
  auto calibration = gpu();
  remove(calibration, "launch");
  const auto near_roof = classify(measured(1.1e-3, streaming(2e9, 2e9)), calibration);
  EXPECT_EQ(near_roof.regime, Regime::memory);
  EXPECT_NE(near_roof.certainty, Certainty::certain);
  EXPECT_EQ(near_roof.model_seconds, 0.0);
  EXPECT_THAT(near_roof.evidence, HasSubstr("no launch ceiling was measured"));
  EXPECT_EQ(classify(measured(3e-6, streaming(1e3, 1e3)), calibration).regime, Regime::unknown);
}

TEST(Classify, NoCeilingOfADeclaredPipe) {
  auto calibration = gpu();
  remove(calibration, "fp32");
  const auto near_roof = classify(measured(1.1e-3, streaming(2e9, 2e9, 1e9)), calibration);
  EXPECT_EQ(near_roof.regime, Regime::memory);
  EXPECT_NE(near_roof.certainty, Certainty::certain);
  EXPECT_EQ(near_roof.model_seconds, 0.0);
  EXPECT_THAT(near_roof.evidence, HasSubstr("no ceiling was measured for FP32, so that work is left out"));
  const auto far = classify(measured(9e-3, streaming(2e9, 2e9, 1e9)), calibration);
  EXPECT_EQ(far.regime, Regime::unknown);
  Work flops;
  flops.flops[fp32] = 1e9;
  EXPECT_THAT(classify(measured(9e-3, flops), calibration).evidence, HasSubstr("no ceiling was measured for its work"));
}

TEST(Classify, NoCeilingOfDeclaredRandomPlaces) {
  Work work = streaming(4e6, 4e6);
  work.random = RandomAccesses{1e6, 0.0, 1e6};
  const auto without = classify(measured(50e-6, work), gpu());
  EXPECT_EQ(without.regime, Regime::unknown);
  EXPECT_THAT(without.evidence, HasSubstr("no ceiling was measured for random L2 reads"));
  EXPECT_EQ(without.evidence.find("DRAM"), std::string::npos) << "hardly any of its places lie there";
  auto calibration = gpu();
  calibration.ceilings.push_back(ceiling("l2-random-read", 32.0 * 1e6 / 40e-6));
  EXPECT_EQ(classify(measured(50e-6, work), calibration).limiter, "l2-random-read");
  EXPECT_EQ(classify(measured(500e-6, work), calibration).regime, Regime::latency);
  EXPECT_EQ(classify(measured(3e-6, work), gpu()).certainty, Certainty::certain) << "overhead needs no such ceiling";
  const auto of_cpu = classify(measured(50e-3, work, "cpu"), cpu());
  EXPECT_EQ(of_cpu.regime, Regime::latency) << "there is no such ceiling to measure";
  work.bytes_read = 19e9;
  EXPECT_EQ(classify(measured(5e-3, work), gpu()).regime, Regime::memory) << "what is in order explains the time";
}

TEST(Classify, NoCeilingsAndForeignOnes) {
  EXPECT_THAT(classify(measured(1e-3, streaming(1e9, 0.0)), Calibration{}).evidence,
              HasSubstr("holds no usable ceiling"));
  const auto foreign = classify(measured(1e-3, streaming(1e9, 0.0), "cpu"), gpu());
  EXPECT_EQ(foreign.regime, Regime::unknown);
  EXPECT_THAT(foreign.evidence, HasSubstr("was measured on cpu, but the ceilings belong to cuda:0"));
}

TEST(Classify, ColdCachesReadFromDram) {
  auto measurement = measured(4.8e-6, streaming(10e6, 0.0));  // 2 + 1.25 us of L2, or 2 + 2.5 us of DRAM
  EXPECT_EQ(classify(measurement, gpu()).regime, Regime::latency);
  measurement.cache_state = "cold";
  const auto cold = classify(measurement, gpu());
  EXPECT_EQ(cold.regime, Regime::memory);
  EXPECT_EQ(cold.limiter, "dram");
}

TEST(Shares, AlwaysAddToOneExactly) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-1.0, 1.0);
  const auto calibration = gpu();
  for (int i = 0; i < 2000; ++i) {
    Work work = streaming(1e8 * std::pow(100.0, exponent(random)), 1e8 * std::pow(100.0, exponent(random)));
    work.flops[fp32] = 4e9 * std::pow(100.0, exponent(random));
    work.flops[tensor_bf16] = 4e10 * std::pow(100.0, exponent(random));
    const double seconds = model_time(work, calibration) * std::pow(3.0, exponent(random));
    const auto verdict = classify(measured(seconds, work), calibration);
    ASSERT_EQ(sum_of_shares(verdict), 1.0);
    for (const auto& share : verdict.shares) ASSERT_GE(share.fraction, 0.0) << share.resource;
  }
}

TEST(Certainty, Thresholds) {
  EXPECT_EQ(certainty_of(0.95), Certainty::certain);
  EXPECT_EQ(certainty_of(0.9499), Certainty::likely);
  EXPECT_EQ(certainty_of(0.8), Certainty::likely);
  EXPECT_EQ(certainty_of(0.7999), Certainty::boundary);
}

// Launched 40 times, 2 us each, of 100: by the launches it is overhead, unless a graph hides them.
TEST(Classify, LaunchesOfManyKernelsWithoutADeviceClockDecideNothing) {
  auto many = measured(100e-6, streaming(380e6, 0.0));
  EXPECT_EQ(classify(many, gpu()).certainty, Certainty::certain);
  many.launches = Launches{40, 40, 0};
  const auto verdict = classify(many, gpu());
  EXPECT_EQ(verdict.regime, Regime::memory);
  EXPECT_LE(verdict.confidence, 0.5);
  EXPECT_THAT(verdict.evidence, HasSubstr("launching its 40 kernels may take 80.0 us of that: only a device time can"));
  many.timings.push_back(measured(97e-6, {}).primary());
  many.timings.front().clock = TimingMode::stream;
  many.timings.back().clock = TimingMode::device;
  EXPECT_EQ(classify(many, gpu()).certainty, Certainty::certain) << "the device works all the time";
}

TEST(Classify, LatencyIsNotSurerTheNearerACeilingIs) {
  const auto verdict = [](double seconds) { return classify(measured(seconds, streaming(4e9, 0.0)), gpu()); };
  for (const double seconds : {1.7e-3, 1.9e-3, 5e-3}) {  // of 1 ms at DRAM's ceiling
    EXPECT_EQ(verdict(seconds).regime, Regime::latency);
    EXPECT_LE(verdict(seconds).confidence, 0.7) << seconds;
  }
}

TEST(Classify, LatencyBesideAUnitThatWasNotSeenIsNotCertain) {
  auto point = measured(62e-6, streaming(80e6, 1e3, 1e6));
  point.counters = {{"dram_busy", 30.0, "%", "test"}, {"stalled_by_barrier", 6.0, "", "test"}};
  EXPECT_EQ(classify(point, gpu()).certainty, Certainty::certain);
  point.absent_counters = {{"alu_busy", "refused"}};
  const auto verdict = classify(point, gpu());
  EXPECT_EQ(verdict.regime, Regime::latency);
  EXPECT_EQ(verdict.certainty, Certainty::likely);
  point.absent_counters.clear();
  point.counters = {{"dram_read_bytes", 40e6, "byte", "test"}, {"dram_write_bytes", 40e6, "byte", "test"}};
  const auto of_bytes = classify(point, gpu());
  EXPECT_EQ(of_bytes.regime, Regime::latency);
  EXPECT_DOUBLE_EQ(of_bytes.confidence, 0.7) << "bytes alone show no unit";
}

TEST(Classify, StartingBlocksBesideUncountedBytesIsNotCertain) {
  const auto certainty = [](double bytes) {
    return classify(measured_blocks(103e-6, streaming(bytes, 0.0), 100100), gpu_that_starts_blocks()).certainty;
  };
  EXPECT_EQ(certainty(150e6), Certainty::certain);
  EXPECT_EQ(certainty(240e6), Certainty::likely) << "60 us at least: twice as many bytes would take longest";
}

TEST(Classify, BlocksThatTakeLongestToStart) {
  // 2 us to launch, 1 us of DRAM, 100 us of starting blocks.
  const auto verdict = classify(measured_blocks(103e-6, streaming(4e6, 0.0), 100100), gpu_that_starts_blocks());
  EXPECT_EQ(verdict.regime, Regime::overhead);
  EXPECT_EQ(verdict.limiter, "block-start");
  EXPECT_GT(verdict.confidence, 0.99);
  EXPECT_NEAR(*verdict.achieved, 100.0 / 103.0, 1e-9);
  EXPECT_EQ(verdict.evidence, "spends 100 us of 103 us on starting 100100 blocks");
  EXPECT_NEAR(share_of(verdict, "launch"), 2.0 / 103.0, 1e-9);
  EXPECT_NEAR(share_of(verdict, "block-start"), 100.0 / 103.0, 1e-6);
  EXPECT_NEAR(share_of(verdict, "unexplained"), 1.0 / 103.0, 1e-6);
  ASSERT_EQ(verdict.advice.size(), 1U);
  EXPECT_TRUE(verdict.advice[0].action.starts_with("start fewer blocks that do more")) << verdict.advice[0].action;
  EXPECT_EQ(verdict.advice[0].code, AdviceCode::fewer_blocks);
  EXPECT_NEAR(*verdict.advice[0].gain, 103.0 / (2.0 + 101.0 * 0.005), 0.01);  // L2 serves 4 MB in 0.5 us
  EXPECT_FALSE(classify(measured_blocks(103e-6, {}, 100100), gpu_that_starts_blocks()).advice.front().gain)
      << "what is left of blocks that do nothing is not known";
}

TEST(Classify, BlocksThatStartFasterThanTheirCeiling) {
  const auto verdict = classify(measured_blocks(52e-6, streaming(4e6, 0.0), 100100), gpu_that_starts_blocks());
  EXPECT_NE(verdict.evidence.find("its blocks need 1.92x that time at the block-start ceiling"), std::string::npos)
      << verdict.evidence;
  EXPECT_LT(verdict.confidence, 0.8);
}

}  // namespace
}  // namespace gpubench::classifier
