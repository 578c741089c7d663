// SPDX-License-Identifier: Apache-2.0
#include "classifier/model/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "classifier/verdict/point_analysis.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double seconds_on(const Prediction& prediction, std::string_view resource) {
  for (const auto& each : prediction.resources)
    if (each.resource == resource) return each.seconds;
  return 0.0;
}

ModelInput at_clock(double hertz) {
  ModelInput conditions;
  conditions.clock_hz = hertz;
  return conditions;
}

/// Bytes by level of a demand on these caches, and beyond them.
std::vector<double> split(double bytes, double footprint, bool cold, const std::vector<Cache>& caches) {
  MemoryDemand demand;
  demand.footprint_bytes = footprint;
  demand.first_touch_bytes = cold ? std::min(bytes, footprint) : 0.0;
  demand.other_bytes = bytes - demand.first_touch_bytes;
  for (const auto& cache : caches)
    demand.levels.push_back({cache.capacity_bytes, cache.capacity_sigma, cache.hit_exponent, 1.0});
  std::vector<double> result;
  demand.split(result);
  return result;
}

TEST(OverlapSum, KnownAnswers) {
  OverlapSum sum;
  EXPECT_EQ(sum.value(), 0.0);
  sum.add(3.0);
  EXPECT_DOUBLE_EQ(sum.value(), 3.0);
  sum.add(3.0);
  EXPECT_NEAR(sum.value(), 3.0 * 1.0905077, 1e-6);  // 2^(1/8)
  OverlapSum small_first;
  small_first.add(1e-300);  // whose eighth power underflows
  small_first.add(2e-300);
  EXPECT_NEAR(small_first.value() / 1e-300, std::pow(1.0 + 256.0, 0.125), 1e-9);
}

TEST(Split, HalfAtTheCapacity) {
  const std::vector<Cache> caches = {{"l2", 40e6, 0.01, {8e12, 0.01, {}}}};
  const auto at = split(100.0, 40e6, false, caches);
  EXPECT_DOUBLE_EQ(at[0], 50.0);
  EXPECT_DOUBLE_EQ(at[1], 50.0);
  const auto twice = split(100.0, 80e6, false, caches);
  EXPECT_NEAR(twice[0], 100.0 / 1025.0, 1e-9);  // 1 / (1 + 2^10)
  const auto half = split(100.0, 20e6, false, caches);
  EXPECT_NEAR(half[1], 100.0 / 1025.0, 1e-9);
}

TEST(Split, OutwardsFromLevelToLevel) {
  const std::vector<Cache> caches = {{"l1", 1e3, 0.0, {1.0, 0.0, {}}}, {"l2", 1e6, 0.0, {1.0, 0.0, {}}}};
  const auto parts = split(8.0, 1e6, false, caches);
  EXPECT_NEAR(parts[0], 0.0, 1e-12);
  EXPECT_NEAR(parts[1], 4.0, 1e-12);
  EXPECT_NEAR(parts[2], 4.0, 1e-12);
}

TEST(Split, HugeAndNoFootprint) {
  const std::vector<Cache> caches = {{"l2", 40e6, 0.0, {8e12, 0.0, {}}}};
  EXPECT_EQ(split(5.0, 1e300, false, caches)[1], 5.0);
  EXPECT_EQ(split(5.0, 0.0, false, caches)[0], 5.0);
  EXPECT_EQ(split(5.0, 1.0, false, {})[0], 5.0);
}

TEST(Split, ColdCachesSendTheFirstTouchToDram) {
  const std::vector<Cache> caches = {{"l2", 40e6, 0.0, {8e12, 0.0, {}}}};
  const auto once = split(1e6, 1e6, true, caches);
  EXPECT_EQ(once[1], 1e6);
  const auto thrice = split(3e6, 1e6, true, caches);
  EXPECT_NEAR(thrice[1], 1e6, 1.0);
  EXPECT_NEAR(thrice[0], 2e6, 1.0);
}

TEST(DramMix, LinearInTimePerByte) {
  const std::vector<DramMix> mixes = {{0.0, 1.0, 0.1}, {1.0 / 3.0, 1.3, 0.1}, {0.5, 1.4, 0.1}, {1.0, 1.1, 0.3}};
  EXPECT_DOUBLE_EQ(dram_seconds_per_byte(0.0, mixes).first, 1.0);
  EXPECT_DOUBLE_EQ(dram_seconds_per_byte(1.0 / 3.0, mixes).first, 1.3);
  EXPECT_DOUBLE_EQ(dram_seconds_per_byte(0.25, mixes).first, 1.225);  // three quarters of the way
  EXPECT_DOUBLE_EQ(dram_seconds_per_byte(0.5, mixes).first, 1.4);
  EXPECT_DOUBLE_EQ(dram_seconds_per_byte(0.75, mixes).first, 1.25);
  EXPECT_DOUBLE_EQ(dram_seconds_per_byte(0.75, mixes).second, 0.2);
  EXPECT_DOUBLE_EQ(dram_seconds_per_byte(1.0, mixes).first, 1.1);
}

TEST(DramMix, WhatExistsIsUsed) {
  const std::vector<DramMix> copy_alone = {{0.5, 2.0, 0.1}};
  for (const double w : {0.0, 0.5, 1.0}) EXPECT_DOUBLE_EQ(dram_seconds_per_byte(w, copy_alone).first, 2.0);
  const std::vector<DramMix> ends = {{0.0, 1.0, 0.1}, {1.0, 3.0, 0.1}};
  EXPECT_DOUBLE_EQ(dram_seconds_per_byte(0.25, ends).first, 1.5);
}

TEST(SigmaOf, FromTheInterval) {
  EXPECT_NEAR(sigma_of(100.0, {98.04, 101.96}, 5), 0.01, 1e-6);
  EXPECT_EQ(sigma_of(100.0, {100.0, 100.0}, 1), unknown_sigma);
  EXPECT_EQ(sigma_of(100.0, {0.0, 0.0}, 5), unknown_sigma);  // never filled in
  EXPECT_EQ(sigma_of(100.0, {nan, 101.0}, 5), unknown_sigma);
  EXPECT_EQ(sigma_of(100.0, {101.0, 99.0}, 5), unknown_sigma);
}

// 4 GB read and 4 GB written at 4 TB/s: 2 ms; 1e11 FLOP at 40 TFLOP/s: 2.5 ms.
TEST(Predict, ByHand) {
  const auto machine = machine_of(gpu());
  const auto prediction = predict(streaming(4e9, 4e9, 1e11), {}, machine);
  EXPECT_NEAR(seconds_on(prediction, "dram"), 2e-3, 1e-9);
  EXPECT_NEAR(seconds_on(prediction, "l2"), 0.0, 1e-12);
  EXPECT_NEAR(seconds_on(prediction, "fp32"), 2.5e-3, 1e-12);
  EXPECT_NEAR(prediction.work_seconds(), 2.5e-3 * std::pow(1.0 + std::pow(0.8, 8), 0.125), 1e-9);  // 2.550 ms
  EXPECT_TRUE(prediction.missing.empty());
}

TEST(Predict, LevelsFollowOneAnother) {
  const auto machine = machine_of(gpu());
  const auto prediction = predict(streaming(40e6, 0.0), {}, machine);  // half hits
  EXPECT_NEAR(seconds_on(prediction, "l2"), 2.5e-6, 1e-12);
  EXPECT_NEAR(seconds_on(prediction, "dram"), 5e-6, 1e-12);
  EXPECT_NEAR(prediction.memory_seconds(), 7.5e-6, 1e-12);
  EXPECT_NEAR(prediction.work_seconds(), 7.5e-6, 1e-12);
}

TEST(Predict, FootprintDecidesTheLevel) {
  const auto machine = machine_of(gpu());
  Work work = streaming(8e9, 0.0);
  work.footprint_bytes = 1e6;
  EXPECT_NEAR(seconds_on(predict(work, {}, machine), "l2"), 1e-3, 1e-9);
  work.footprint_bytes = 0.0;  // nobody worked it out
  EXPECT_NEAR(seconds_on(predict(work, {}, machine), "dram"), 2e-3, 1e-9);
}

TEST(Predict, RandomPlacesTakeCeilingsOfTheirOwn) {
  auto calibration = gpu();
  Work work = streaming(8e6, 0.0);
  work.random = RandomAccesses{1e6, 2e6, 1e6};
  EXPECT_NEAR(predict(work, {}, machine_of(calibration)).memory_seconds(), 1e-6, 1e-12);  // none is calibrated
  calibration.ceilings.push_back(ceiling("l2-random-read", 3.2e12));                      // 100 G sectors a second
  calibration.ceilings.push_back(ceiling("dram-random-read", 0.64e12));
  calibration.ceilings.push_back(ceiling("l2-random-update", 50e9));
  const auto machine = machine_of(calibration);
  auto prediction = predict(work, {}, machine);
  EXPECT_NEAR(seconds_on(prediction, "l2-random-read"), 10e-6, 1e-9);
  EXPECT_NEAR(seconds_on(prediction, "l2-random-update"), 40e-6, 1e-9);
  EXPECT_NEAR(prediction.memory_seconds(), 51e-6, 1e-9);  // beside the bytes in order
  EXPECT_EQ(binding_of(prediction).decision, (Decision{Regime::memory, "l2-random-update"}));
  work.random->bytes = 40e9;
  EXPECT_NEAR(seconds_on(predict(work, {}, machine), "dram-random-read"), 50e-6, 1e-8);
  work.random->bytes = 1e6;
  ModelInput cold;
  cold.cold = true;
  EXPECT_NEAR(seconds_on(predict(work, cold, machine), "dram-random-read"), 50e-6, 1e-8);
}

TEST(Predict, PipesFollowTheClock) {
  auto calibration = gpu();
  find(calibration, "fp32").clock_hz = 2e9;
  const auto machine = machine_of(calibration);
  Work work;
  work.flops[fp32] = 40e12;
  EXPECT_NEAR(seconds_on(predict(work, at_clock(1e9), machine), "fp32"), 2.0, 1e-9);
  EXPECT_NEAR(seconds_on(predict(work, {}, machine), "fp32"), 1.0, 1e-9);
  EXPECT_NEAR(seconds_on(predict(work, at_clock(0.2e9), machine), "fp32"), 1.0, 1e-9);  // an idle clock
  EXPECT_NEAR(seconds_on(predict(work, at_clock(nan), machine), "fp32"), 1.0, 1e-9);
}

TEST(Predict, IssuingAndThePipeThatIsFedAreOneResource) {
  const auto machine = machine_of(gpu());
  Work work;
  work.flops[fp32] = 40e12;  // 1 s
  const auto has = [](const Prediction& prediction, std::string_view name) {
    return std::ranges::any_of(prediction.resources, [&](const auto& one) { return one.resource == name; });
  };
  ModelInput conditions;
  conditions.counted.issue_seconds = 1.05;
  const auto by_pipe = predict(work, conditions, machine);
  EXPECT_TRUE(has(by_pipe, "fp32"));
  EXPECT_FALSE(has(by_pipe, "issue"));
  conditions.counted.issue_seconds = 2.0;
  const auto by_issue = predict(work, conditions, machine);
  EXPECT_FALSE(has(by_issue, "fp32"));
  EXPECT_NEAR(seconds_on(by_issue, "issue"), 2.0, 1e-9);
}

TEST(Predict, MatrixUnitsDoNotFollowOneClockReading) {
  auto calibration = gpu();
  find(calibration, "tensor-bf16").clock_hz = 2e9;
  const auto machine = machine_of(calibration);
  Work work;
  work.flops[tensor_bf16] = 1e12;
  const double rested = seconds_on(predict(work, {}, machine), "tensor-bf16");
  EXPECT_GT(rested, 0.0);
  EXPECT_EQ(seconds_on(predict(work, at_clock(1.4e9), machine), "tensor-bf16"), rested);
}

TEST(Predict, OnlyACpusCachesReadAndWriteAtOnce) {
  const auto ratio = [](const Calibration& calibration, double footprint) {
    const auto machine = machine_of(calibration);
    Work read = streaming(2e5, 0.0);
    Work both = streaming(2e5, 1e5);
    read.footprint_bytes = both.footprint_bytes = footprint;
    return predict(both, {}, machine).memory_seconds() / predict(read, {}, machine).memory_seconds();
  };
  EXPECT_NEAR(ratio(cpu(), 3e5), 1.0, 1e-9);
  EXPECT_NEAR(ratio(cpu(), 3e9), 1.5, 1e-9);
  EXPECT_NEAR(ratio(gpu(), 3e5), 1.5, 1e-9);
  EXPECT_NEAR(ratio(gpu(), 3e9), 1.5, 1e-9);
}

TEST(Predict, MatrixProductsOfACpuCountOnItsVectorPipes) {
  const auto machine = machine_of(cpu());
  Work work;
  work.flops[tensor_tf32] = 1e12;
  work.flops[fp32] = 1e12;
  work.flops[tensor_fp64] = 1e12;
  const auto prediction = predict(work, {}, machine);
  EXPECT_NEAR(seconds_on(prediction, "fp32"), 2.0, 1e-9);
  EXPECT_NEAR(seconds_on(prediction, "fp64"), 2.0, 1e-9);
  EXPECT_TRUE(prediction.missing.empty());
}

TEST(Predict, MissesNoCeilingOfWorkThatCannotTakeTime) {
  auto calibration = gpu();
  remove(calibration, "fp64");
  const auto machine = machine_of(calibration);
  auto work = streaming(4e9, 4e9, 1e11);  // 2.5 ms; FP32, 40 TFLOP/s, is the slowest pipe left: a 64th of it is 0.6
  work.flops[fp64] = 1e7;                 // 16 us, were it so slow
  EXPECT_TRUE(predict(work, {}, machine).missing.empty());
  work.flops[fp64] = 1e8;
  EXPECT_EQ(predict(work, {}, machine).missing, std::vector<std::string_view>{"fp64"});
  work = {};
  work.flops[fp64] = 1.0;
  EXPECT_EQ(predict(work, {}, machine).missing.size(), 1U) << "beside nothing";
}

TEST(Predict, SaysWhatIsMissing) {
  auto calibration = gpu();
  for (const auto* resource : {"dram-read", "dram-write", "dram-copy", "dram-triad", "fp32"})
    remove(calibration, resource);
  const auto machine = machine_of(calibration);
  const auto large = predict(streaming(1e9, 0.0, 1e9), {}, machine);
  ASSERT_EQ(large.missing.size(), 2U);
  EXPECT_EQ(large.missing[0], "dram");
  EXPECT_EQ(large.missing[1], "fp32");
  EXPECT_TRUE(predict(streaming(1e6, 0.0), {}, machine).missing.empty());  // L2 holds it
}

TEST(MachineOf, LeavesOutWhatCannotBeUsed) {
  auto calibration = cpu();
  find(calibration, "launch").value = nan;
  find(calibration, "dram-read").value = 0.0;
  find(calibration, "fp32").value = -1.0;
  calibration.levels = {{"l3", 32e6, {}}, {"l9", 64e6, {}}, {"l1", 32e3, {}}, {"l2", nan, {}}};
  const auto machine = machine_of(calibration);
  EXPECT_FALSE(machine.launch);
  EXPECT_EQ(machine.dram.size(), 3U);
  EXPECT_FALSE(machine.pipes[static_cast<std::size_t>(fp32)]);
  ASSERT_EQ(machine.caches.size(), 2U);
  EXPECT_EQ(machine.caches[0].resource, "l1");  // from the smallest to the largest
  EXPECT_EQ(machine.caches[1].resource, "l3");
  EXPECT_EQ(machine.caches[1].capacity_sigma, unknown_sigma);
}

TEST(MachineOf, TakesNoFurtherFigureOfACpuForAnother) {
  const auto machine = machine_of(cpu());
  auto calibration = cpu();
  for (const char* resource : {"fp32-one-core",
                               "fp32-avx2",
                               "fp32-sustained",
                               "ridge-fp32-sustained",
                               "dram-read-one-core",
                               "dram-write-ordinary",
                               "dram-write-nontemporal",
                               "dram-read-sustained",
                               "l1-one-core",
                               "l2-one-core",
                               "latency-dram",
                               "bf16-dot",
                               "int8-dot",
                               "amx-bf16",
                               "amx-int8",
                               "int32-multiply-add",
                               "division-fp32",
                               "atomic-one",
                               "barrier",
                               "gemm-fp32-one-core"})
    calibration.ceilings.push_back(ceiling(resource, 1.0));
  calibration.unit_levels = {{"l1-one-core", 16e3, {15e3, 17e3}}};
  const auto same = machine_of(calibration);
  EXPECT_EQ(same.launch->seconds, machine.launch->seconds);
  ASSERT_EQ(same.caches.size(), machine.caches.size());
  for (std::size_t i = 0; i < machine.caches.size(); ++i) {
    EXPECT_EQ(same.caches[i].resource, machine.caches[i].resource);
    EXPECT_EQ(same.caches[i].capacity_bytes, machine.caches[i].capacity_bytes);
    EXPECT_EQ(same.caches[i].rate.per_second, machine.caches[i].rate.per_second);
  }
  ASSERT_EQ(same.dram.size(), machine.dram.size());
  for (std::size_t i = 0; i < machine.dram.size(); ++i)
    EXPECT_EQ(same.dram[i].seconds_per_byte, machine.dram[i].seconds_per_byte);
  for (std::size_t i = 0; i < machine.pipes.size(); ++i) {
    ASSERT_EQ(same.pipes[i].has_value(), machine.pipes[i].has_value()) << pipe_names[i];
    if (machine.pipes[i]) {
      EXPECT_EQ(same.pipes[i]->per_second, machine.pipes[i]->per_second);
    }
  }
}

TEST(Drawn, EachFigureFromItsInterval) {
  const auto machine = machine_of(gpu());
  double sum = 0.0;
  double square = 0.0;
  constexpr std::size_t count = 2000;
  for (std::size_t draw = 0; draw < count; ++draw) {
    const auto other = drawn(machine, draw);
    const double z = std::log(other.launch->seconds / machine.launch->seconds);
    sum += z / count;
    square += z * z / count;
    EXPECT_GT(other.overlap.value, 1.0);
  }
  EXPECT_NEAR(sum, 0.0, 1e-6);
  EXPECT_NEAR(std::sqrt(square), 0.02 / 1.959964, 1e-5);
  EXPECT_EQ(drawn(machine, 7).caches[0].capacity_bytes, drawn(machine, 7).caches[0].capacity_bytes);
}

TEST(WaveFactor, WholeBrokenAndTooFew) {
  EXPECT_EQ(wave_factor(std::nullopt, 100), 1.0);
  EXPECT_EQ(wave_factor(Grid{200, 2}, 0), 1.0);  // how many multiprocessors is not known
  EXPECT_EQ(wave_factor(Grid{0, 0}, 100), 1.0);
  EXPECT_DOUBLE_EQ(wave_factor(Grid{200, 2}, 100), 1.0);         // one whole wave
  EXPECT_DOUBLE_EQ(wave_factor(Grid{202, 2}, 100), 3.0 / 2.02);  // and a bit: two multiprocessors have three blocks
  EXPECT_DOUBLE_EQ(wave_factor(Grid{250, 1}, 100), 3.0 / 2.5);
  EXPECT_DOUBLE_EQ(wave_factor(Grid{700, 2}, 100), 1.0);        // three and a half waves, seven blocks each
  EXPECT_DOUBLE_EQ(wave_factor(Grid{900, 2}, 100), 1.0);        // many waves even out
  EXPECT_DOUBLE_EQ(wave_factor(Grid{25, 2}, 100), 4.0);         // three quarters have nothing to do
  EXPECT_DOUBLE_EQ(wave_factor(Grid{150, 2}, 100), 2.0 / 1.5);  // half of them have two blocks
}

TEST(Predict, ATailCostsAFactor) {
  auto calibration = gpu();
  calibration.device.units = 100;
  const auto machine = machine_of(calibration);
  Work work;
  work.flops[fp32] = 40e9;  // 1 ms
  ModelInput conditions;
  conditions.grid = Grid{202, 2};
  const auto prediction = predict(work, conditions, machine);
  EXPECT_NEAR(prediction.work_seconds(), 1e-3 * 3.0 / 2.02, 1e-12);
  EXPECT_NEAR(seconds_on(prediction, "fp32"), 1e-3, 1e-12);
}

void count(Measurement& measurement, std::string name, double value) {
  measurement.counters.push_back({std::move(name), value, "", "test"});
}

TEST(Predict, CountedLevelsOverlap) {
  const auto machine = machine_of(gpu());
  auto measurement = measured(1e-3, streaming(1e9, 1e9, 1e9));
  count(measurement, "dram_read_bytes", 2e9);
  count(measurement, "dram_write_bytes", 2e9);
  count(measurement, "l2_bytes", 9e9);
  count(measurement, "l1_bytes", 8e9);
  count(measurement, "flops_fp32", 20e9);
  const auto prediction = predict(measurement.work, model_input_of(measurement), machine);
  EXPECT_TRUE(prediction.counted);
  EXPECT_NEAR(seconds_on(prediction, "dram"), 1e-3, 1e-12);
  EXPECT_NEAR(seconds_on(prediction, "l2"), 1e-3, 1e-12);  // no more than passed L1
  EXPECT_NEAR(prediction.memory_seconds(), 1e-3 * std::pow(2.0, 1.0 / 8.0), 1e-9);
  EXPECT_NEAR(seconds_on(prediction, "fp32"), 0.5e-3, 1e-12);
}

TEST(Counted, HalfTypesCountTwiceWhereTheyAreScalar) {
  Work work;
  work.flops[fp16] = 100.0;
  auto measurement = measured(1e-3, work);
  count(measurement, "flops_half", 200.0);
  EXPECT_TRUE(counted_in(measurement).flops.empty());
  measurement.counters.front().value = 210.0;
  EXPECT_EQ(counted_in(measurement).flops.at(fp16), 210.0);
}

TEST(Counted, IssueTimeFromActivity) {
  auto measurement = measured(1e-3, Work{});
  count(measurement, "issue_active", 80.0);
  count(measurement, "sm_active_cycles", 1e6);
  count(measurement, "sm_clock", 2e9);
  EXPECT_NEAR(*counted_in(measurement).issue_seconds, 0.4e-3, 1e-12);
  measurement.counters[0].value = nan;
  EXPECT_FALSE(counted_in(measurement).issue_seconds);
}

TEST(HitExponent, FromTheLadder) {
  for (const double truth : {6.0, 10.0, 20.0}) {
    std::vector<LadderPoint> ladder;
    for (double set = 10e6; set < 200e6; set *= 1.12) {
      const double hits = 1.0 / (1.0 + std::pow(set / 40e6, truth));
      ladder.push_back({set, 1.0 / (hits / 8e12 + (1.0 - hits) / 4e12)});
    }
    EXPECT_NEAR(std::log(hit_exponent_of(ladder, 40e6, 1.0 / 8e12, 1.0 / 4e12).value / truth), 0.0, 0.06) << truth;
  }
  EXPECT_EQ(hit_exponent_of({}, 40e6, 1.0 / 8e12, 1.0 / 4e12).value, hit_prior.value);
}

TEST(Predict, TheNearCachesFollowTheClock) {
  auto calibration = gpu();
  find(calibration, "l2").clock_hz = 2e9;
  find(calibration, "dram-read").clock_hz = 2e9;
  const auto machine = machine_of(calibration);
  const auto whole = predict(streaming(1e6, 0.0), {}, machine);
  const auto half = predict(streaming(1e6, 0.0), at_clock(1e9), machine);
  EXPECT_NEAR(seconds_on(half, "l2") / seconds_on(whole, "l2"), 2.0, 1e-9);
  const auto dram = predict(streaming(1e9, 0.0), at_clock(1e9), machine);
  EXPECT_NEAR(seconds_on(dram, "dram"), 0.25e-3, 1e-9);
}

// A GPU's L1 and shared memory have ceilings in a full calibration, and times where their traffic was counted.
TEST(Counted, L1AndSharedMemoryTakeTimeOfTheirOwn) {
  auto calibration = gpu();
  calibration.ceilings.push_back(ceiling("l1", 32e12));
  calibration.ceilings.push_back(ceiling("shared", 32e12));
  auto measurement = measured(1e-3, streaming(1e9, 0.0));
  const auto of = [&](const char* resource) {
    const auto machine = machine_of(calibration);
    for (const auto& each : predict(measurement.work, model_input_of(measurement), machine).resources)
      if (each.resource == resource) return each.seconds;
    return 0.0;
  };
  EXPECT_EQ(of("shared"), 0.0);
  EXPECT_EQ(of("l1"), 0.0) << "nothing was counted";
  measurement.counters = {{"dram_read_bytes", 1e9, "bytes", "test"},
                          {"dram_write_bytes", 0.0, "bytes", "test"},
                          {"l1_bytes", 16e9, "bytes", "test"},
                          {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 250e6, "", "test"}};
  EXPECT_NEAR(of("l1"), 0.5e-3, 1e-9);
  EXPECT_NEAR(of("shared"), 1e-3, 1e-9);  // 32 GB
  EXPECT_EQ(verdict_of(measurement, machine_of(calibration), "cuda:0").limiter, "shared");
}

// A loader past L1's counter must not make L2's traffic vanish, and another operation's dirty lines are not its own.
TEST(Counted, WhatL1DoesNotSeeAndWhatIsNotOnesOwn) {
  auto measurement = measured(1e-3, streaming(1e6, 0.0));
  measurement.counters = {{"dram_read_bytes", 0.0, "bytes", "test"},
                          {"dram_write_bytes", 6e6, "bytes", "test"},
                          {"l1_bytes", 0.0, "bytes", "test"},
                          {"l2_bytes", 8e6, "bytes", "test"}};
  EXPECT_EQ(counted_in(measurement).l2_bytes, 8e6);
  EXPECT_EQ(counted_in(measurement).dram_write_bytes, 6e6);
  measurement.counters[2].value = 1e6;
  EXPECT_EQ(counted_in(measurement).l2_bytes, 1e6);
  EXPECT_EQ(counted_in(measurement).dram_write_bytes, 1e6);
}

TEST(Machine, OverlapFromTheIntensitySweep) {
  auto calibration = gpu();
  EXPECT_EQ(machine_of(calibration).overlap.value, overlap_prior.value);
  for (double intensity = 0.5; intensity < 200.0; intensity *= 1.4) {
    const double memory = 1.0 / 4e12;
    const double pipe = intensity / 40e12;
    const double seconds = std::pow(std::pow(memory, 3.0) + std::pow(pipe, 3.0), 1.0 / 3.0);
    calibration.intensity_sweep.push_back({intensity, intensity / seconds, 1.0 / seconds, std::nullopt});
  }
  const auto machine = machine_of(calibration);
  EXPECT_NEAR(machine.overlap.value, 3.0, 0.2);
}

TEST(BlockStart, TakesTimeBeyondTheFirstBlocks) {
  const auto machine = machine_of(gpu_that_starts_blocks());
  const auto prediction = predict(streaming(4e6, 0.0), model_input_of(measured_blocks(1.0, {}, 10100)), machine);
  EXPECT_NEAR(prediction.start_seconds(), 10e-6, 1e-15);
  EXPECT_EQ(predict({}, model_input_of(measured_blocks(1.0, {}, 100)), machine).start_seconds(), 0.0);
  EXPECT_EQ(predict({}, model_input_of(measured(1.0, {})), machine).start_seconds(), 0.0)
      << "blocks that nobody counted";
  EXPECT_EQ(predict({}, model_input_of(measured_blocks(1.0, {}, 10100)), machine_of(gpu())).start_seconds(), 0.0);
  EXPECT_TRUE(predict({}, model_input_of(measured_blocks(1.0, {}, 10100)), machine_of(gpu())).missing.empty())
      << "an older calibration has no such ceiling";
}

TEST(BlockStart, OverlapsWithTheWorkAndHasNoTail) {
  auto prediction =
      predict(streaming(4e6, 0.0), model_input_of(measured_blocks(1.0, {}, 600)), machine_of(gpu_that_starts_blocks()));
  prediction.overlap.value = 2.0;  // 0.5 us from L2, 0.5 us to start
  EXPECT_NEAR(prediction.busy_seconds(), 0.5e-6, 1e-12);
  EXPECT_NEAR(prediction.work_seconds(), 0.5e-6 * std::sqrt(2.0), 1e-12);
  prediction.wave_factor = 3.0;
  EXPECT_NEAR(prediction.work_seconds(), 0.5e-6 * std::sqrt(10.0), 1e-12);
}

TEST(BlockStart, FollowsTheClock) {
  auto calibration = gpu_that_starts_blocks();
  find(calibration, "block-start").clock_hz = 2e9;
  auto conditions = model_input_of(measured_blocks(1.0, {}, 1100));
  conditions.clock_hz = 1e9;
  EXPECT_NEAR(predict({}, conditions, machine_of(calibration)).start_seconds(), 2e-6, 1e-15);
}

TEST(ModelInput, TheFixedCostOfItsLaunchShapes) {
  auto measurement = measured(1e-6, {});
  EXPECT_FALSE(model_input_of(measurement).kernel_overhead_seconds);
  Timing device;
  device.clock = TimingMode::device;
  device.kernel_overhead_seconds = Estimate{0.5e-6, {0.4e-6, 0.6e-6}};
  measurement.timings.push_back(device);
  EXPECT_EQ(model_input_of(measurement).kernel_overhead_seconds, 0.5e-6);
  measurement.timings[1].kernel_overhead_seconds->value = nan;
  EXPECT_FALSE(model_input_of(measurement).kernel_overhead_seconds);
}

TEST(CountedCache, ItsNearerHalfIsFilledFirst) {
  const CountedCache cache{"l2", 40e6, {10.0, 0.1}, 20e6};
  EXPECT_DOUBLE_EQ(cache.near_fraction(), 0.5);
  EXPECT_GT((CountedCache{"l2", 40e6, {10.0, 0.1}, 10e6}.near_fraction()), 0.99);
  EXPECT_LT((CountedCache{"l2", 40e6, {10.0, 0.1}, 35e6}.near_fraction()), 0.01);
}

}  // namespace
}  // namespace gpubench::classifier
