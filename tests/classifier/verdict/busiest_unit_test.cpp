// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/busiest_unit.h"

#include <gtest/gtest.h>

#include "classifier/classifier.h"
#include "classifier/verdict/point_analysis.h"
#include "tests/classifier/machines.h"
#include "tests/matchers.h"

namespace gpubench::classifier {
namespace {

Measurement with_units(Measurement measurement, const std::vector<std::pair<const char*, double>>& percents) {
  for (const auto& [name, value] : percents) measurement.counters.push_back({name, value, "%", "cupti range"});
  return measurement;
}

TEST(BusiestUnit, ABusyUnitIsTheLimiterWhateverTheModelSays) {
  // By its bytes a third of DRAM's ceiling: latency, if nothing else is known.
  const auto plain = measured(62e-6, streaming(80e6, 1e3));
  EXPECT_EQ(classify(plain, gpu()).regime, Regime::latency);
  const auto gather = classify(with_units(plain, {{"lsu_input_busy", 97.0}, {"dram_busy", 30.0}}), gpu());
  EXPECT_EQ(gather.regime, Regime::memory);
  EXPECT_EQ(gather.limiter, "lsu");
  EXPECT_GT(gather.confidence, 0.95);
  EXPECT_NEAR(*gather.achieved, 0.97, 0.04);
  EXPECT_THAT(gather.evidence, HasSubstr("load-store unit is at 97 % of its peak (counter lsu_input_busy)"));
  EXPECT_EQ(gather.advice.front().code, AdviceCode::relieve_unit);
  EXPECT_EQ(gather.advice.front().gain_ci95->low, 1.0) << "the work may come onto another unit";
  EXPECT_NEAR(*gather.advice.front().gain, 62.0 / (2.0 + 20.0), 0.01);  // DRAM's ceiling is what stays
  const auto special = classify(with_units(plain, {{"special_busy", 91.0}}), gpu());
  EXPECT_EQ(special.regime, Regime::compute);
  EXPECT_EQ(special.limiter, "special");
}

// The figures themselves say compute just where time is 1.5 times what memory needs, and some draws already do before.
TEST(BusiestUnit, TheRegimeOfMostDrawsIsNamed) {
  std::vector<Regime> seen;
  for (double seconds = 27e-6; seconds < 37e-6; seconds += 0.25e-6) {
    const auto verdict = classify(with_units(measured(seconds, streaming(80e6, 1e3)), {{"issue_busy", 79.0}}), gpu());
    EXPECT_NE(verdict.regime, Regime::unknown) << seconds << ": " << verdict.evidence;
    EXPECT_GE(verdict.confidence, verdict.runner_up_probability) << seconds;
    seen.push_back(verdict.regime);
  }
  EXPECT_EQ(seen.front(), Regime::memory);
  EXPECT_EQ(seen.back(), Regime::compute);
}

TEST(BusiestUnit, AFairlyBusyUnitForbidsCertainLatency) {
  const auto plain = measured(62e-6, streaming(80e6, 1e3));
  const auto fairly = classify(with_units(plain, {{"alu_busy", 62.0}}), gpu());
  EXPECT_EQ(fairly.regime, Regime::latency);
  EXPECT_LT(fairly.confidence, 0.95);
  const auto idle = classify(with_units(plain, {{"alu_busy", 30.0}, {"stalled_by_barrier", 6.0}}), gpu());
  EXPECT_EQ(idle.regime, Regime::latency);
  EXPECT_GT(idle.confidence, 0.95);
  EXPECT_THAT(idle.evidence, HasSubstr("wait at barriers"));
  EXPECT_EQ(idle.advice.front().code, AdviceCode::fewer_barriers);
}

/// `active`: for what part of 250 us the mean multiprocessor works, at 1 GHz.
Verdict of_uneven_grid(const char* unit, double percent, double active) {
  auto point = measured(252e-6, streaming(8e6, 8e6));
  point.timings.push_back(measured(250e-6, {}).timings.front());
  point.timings.back().clock = TimingMode::device;
  point.launches = Launches{1, 300, 168};
  point.counters.push_back({"sm_active_cycles", active * 250e3, "cycles", "cupti range"});
  point.counters.push_back({"sm_clock", 1e9, "Hz", "cupti range"});
  return classify(with_units(point, {{unit, percent}}), gpu());
}

// 300 blocks on 132 multiprocessors, three on some and two on others: FP32 products of ConvNeXt on an H200.
TEST(BusiestUnit, OfAMultiprocessorIsJudgedByTheTimeInWhichItWorks) {
  const auto verdict = of_uneven_grid("l1_data_busy", 70.3, 0.78);
  EXPECT_EQ(verdict.limiter, "l1-data");
  EXPECT_EQ(verdict.certainty, Certainty::likely) << verdict.confidence;
  EXPECT_GT(verdict.confidence, 0.9);
  EXPECT_NEAR(*verdict.achieved, 0.703, 0.01);
  EXPECT_THAT(verdict.evidence,
              HasSubstr("L1 data stage is at 70 % of its peak (counter l1_data_busy), and at 90 % for the 78 % of the "
                        "time that the mean multiprocessor works"));
  EXPECT_EQ(of_uneven_grid("l1_data_busy", 65.0, 0.78).regime, Regime::memory) << "83 % of 78 %";
  EXPECT_EQ(of_uneven_grid("l1_data_busy", 58.0, 0.78).regime, Regime::latency) << "74 % of 78 %";
  EXPECT_EQ(of_uneven_grid("l1_data_busy", 60.0, 0.63).regime, Regime::latency) << "over a third has no blocks";
  EXPECT_EQ(of_uneven_grid("l2_data_busy", 65.0, 0.78).regime, Regime::latency) << "all share it";
  EXPECT_EQ(of_uneven_grid("l1_data_busy", 79.0, 0.78).certainty, Certainty::certain) << "of the whole time, too";
}

TEST(BusiestUnit, UpdatesThatMeetAtFewAddressesAreTheLimiter) {
  const auto plain = measured(62e-6, streaming(8e6, 1e3));
  const auto contended = classify(
      with_units(plain, {{"l2_atomics_busy", 0.4}, {"l2_atomics_hottest_busy", 65.0}, {"alu_busy", 5.0}}), gpu());
  EXPECT_EQ(contended.regime, Regime::memory);
  EXPECT_EQ(contended.limiter, "atomic-global");
  EXPECT_EQ(contended.certainty, Certainty::likely);
  EXPECT_GT(contended.confidence, 0.9);
  EXPECT_THAT(contended.evidence, HasSubstr("updates meet at few addresses"));
  EXPECT_THAT(contended.evidence,
              HasSubstr("at 65 % of their peak (counter l2_atomics_hottest_busy), those of all at 0.4 %"));
  ASSERT_FALSE(contended.advice.empty());
  EXPECT_THAT(contended.advice.front().action, HasSubstr("in registers or shared memory first"));
  EXPECT_FALSE(contended.advice.front().gain);  // combined updates take a pass of their own
  // Work of all slices alike, little of it where that is known to be little, or another limiter.
  auto calibration = gpu();
  calibration.ceilings.push_back(ceiling("atomic-global-float-one", 569e6));
  for (const auto& [mean, hottest] : {std::pair(30.0, 65.0), std::pair(0.4, 36.0)})
    EXPECT_EQ(
        classify(with_units(plain, {{"l2_atomics_busy", mean}, {"l2_atomics_hottest_busy", hottest}}), calibration)
            .regime,
        Regime::latency);
  const auto busy = classify(
      with_units(plain, {{"l2_atomics_busy", 0.4}, {"l2_atomics_hottest_busy", 65.0}, {"alu_busy", 90.0}}), gpu());
  EXPECT_EQ(busy.limiter, "alu");
}

TEST(BusiestUnit, FloatsThatAreAddedAtOneAddressWaitForEachOther) {
  const auto plain = measured(62e-6, streaming(8e6, 1e3));
  const auto at = [&](double hottest, double clock) {
    return with_units(plain, {{"l2_atomics_busy", 0.4}, {"l2_atomics_hottest_busy", hottest}, {"l2_clock", clock}});
  };
  auto calibration = gpu();
  calibration.ceilings.push_back(ceiling("atomic-global-float-one", 569e6));
  const auto in_turn = classify(at(33.3, 1.7e9), calibration);
  EXPECT_EQ(in_turn.regime, Regime::memory);
  EXPECT_EQ(in_turn.limiter, "atomic-global");
  EXPECT_EQ(in_turn.certainty, Certainty::likely);
  EXPECT_THAT(in_turn.evidence, HasSubstr("added at one address, one after another"));
  EXPECT_THAT(in_turn.advice.at(0).action, HasSubstr("in registers or shared memory first"));
  EXPECT_EQ(classify(at(20.0, 1.7e9), calibration).regime, Regime::latency) << "they could be added faster";
  EXPECT_EQ(classify(at(45.0, 1.7e9), calibration).regime, Regime::latency) << "whole numbers are added faster";
}

/// Additions at one address, counted on an H200: each waits for 40 us, an empty kernel takes 2 us, and little else
/// works.
const std::vector<std::pair<const char*, double>> queued_updates = {
    {"l2_atomics_busy", 0.355},  {"l2_atomics_hottest_busy", 33.4},
    {"l2_clock", 1.7e9},         {"l2_tags_busy", 0.536},
    {"dram_busy", 0.001},        {"stalled_by_memory", 17983.0},
    {"issue_busy", 0.008},       {"lsu_busy", 0.00723},
    {"stalled_by_barrier", 4.7}, {"l1_data_busy", 0.2}};

Verdict of_queued_updates(const std::vector<std::pair<const char*, double>>& other = {},
                          const std::vector<Ceiling>& ceilings = {}) {
  auto units = queued_updates;
  for (const auto& each : other) {
    std::erase_if(units, [&](const auto& unit) { return std::string_view(unit.first) == each.first; });
    units.push_back(each);
  }
  auto calibration = gpu();
  calibration.ceilings.insert(calibration.ceilings.end(), ceilings.begin(), ceilings.end());
  auto point = measured(950e-6, streaming(4.0, 4.0));
  point.clock_hz = 1.98e9;
  return classify(with_units(point, units), calibration);
}

TEST(BusiestUnit, UpdatesThatQueueAtOneSliceAreTheLimiterWhereTheirRateIsNotKnown) {
  const auto verdict = of_queued_updates();
  EXPECT_EQ(verdict.regime, Regime::memory) << verdict.evidence;
  EXPECT_EQ(verdict.limiter, "atomic-global");
  EXPECT_EQ(verdict.certainty, Certainty::likely);
  EXPECT_NEAR(verdict.confidence, 0.8, 1e-9) << "a ceiling is missing";
  EXPECT_THAT(verdict.evidence,
              HasSubstr("updates meet at few addresses: the atomic units of the busiest slice of L2"));
  EXPECT_THAT(verdict.evidence, HasSubstr("wait for 40.2 us each, 20.1x as long as an empty kernel takes"));
  EXPECT_THAT(verdict.evidence, HasSubstr("only a full calibration knows (gpubench --calibrate=full)"));
  ASSERT_FALSE(verdict.advice.empty());
  EXPECT_THAT(verdict.advice.front().action, HasSubstr("in registers or shared memory first"));
  const auto known = of_queued_updates({}, {ceiling("atomic-global-float-one", 569e6)});
  EXPECT_EQ(known.regime, Regime::memory);
  EXPECT_GT(known.confidence, verdict.confidence);
}

TEST(BusiestUnit, UpdatesThatMayWaitForEachOtherAreNoVerdictWhereNothingShowsAQueue) {
  const std::vector<std::pair<const char*, double>> others[] = {
      {{"stalled_by_memory", 500.0}},     // 1.1 us, as loads alone may take
      {{"stalled_by_memory", 0.0}},       // not counted
      {{"stalled_by_barrier", 20000.0}},  // most wait for something else
      {{"dram_busy", 40.0}},              // the queue may be DRAM's
      {{"l2_tags_busy", 3.0}},            // few of what L2 is asked for are updates
      {{"lsu_busy", 0.0001}}};            // few instructions ask for memory
  for (const auto& other : others) {
    const auto verdict = of_queued_updates(other);
    EXPECT_EQ(verdict.regime, Regime::unknown) << other.front().first << ": " << verdict.evidence;
    EXPECT_EQ(verdict.limiter, "");
    EXPECT_THAT(verdict.evidence, HasSubstr("updates meet at few addresses"));
    EXPECT_THAT(verdict.evidence, HasSubstr("latency, or memory (L2 atomics)"));
    EXPECT_THAT(verdict.evidence, HasSubstr("gpubench --calibrate=full"));
  }
  EXPECT_EQ(of_queued_updates({{"l2_atomics_hottest_busy", 15.0}}).regime, Regime::latency) << "they do not wait";
  const auto other_rate = of_queued_updates({{"stalled_by_memory", 500.0}}, {ceiling("atomic-global-float-one", 2e9)});
  EXPECT_EQ(other_rate.regime, Regime::latency) << "they could be added faster";
}

TEST(BusiestUnit, L1sDataStageIsNamedByWhatKeepsItBusy) {
  const auto plain = measured(62e-6, streaming(8e6, 1e3));
  const auto limiter = [&](double stage, double shared, double lsu) {
    const auto verdict =
        classify(with_units(plain, {{"l1_data_busy", stage}, {"shared_busy", shared}, {"lsu_busy", lsu}}), gpu());
    EXPECT_EQ(verdict.regime, Regime::memory);
    return verdict.limiter;
  };
  EXPECT_EQ(limiter(97.0, 0.0, 20.0), "l1-data") << "scattered accesses to global memory";
  EXPECT_EQ(limiter(97.0, 96.0, 20.0), "shared") << "bank conflicts";
  EXPECT_EQ(limiter(97.0, 96.0, 95.0), "lsu") << "one turn for each instruction: no conflicts";
  const auto product = classify(
      with_units(plain, {{"l1_data_busy", 95.2}, {"shared_busy", 95.0}, {"lsu_busy", 4.0}, {"tensor_busy", 94.0}}),
      gpu());
  EXPECT_EQ(product.limiter, "tensor") << "matrix instructions read their operands through it";
}

TEST(BusiestUnit, LoadsThatWaitForEachOtherAreNotToBeMoreOfThem) {
  auto calibration = gpu();
  calibration.ceilings.push_back(ceiling("latency-dram", 340e-9));
  find(calibration, "fp32").clock_hz = 2e9;
  const auto loads = [&](double stalled) {
    return classify(with_units(measured(62e-6, streaming(8e6, 1e3)), {{"dram_busy", 25.0},
                                                                      {"issue_busy", 2.0},
                                                                      {"lsu_busy", 0.8},
                                                                      {"stalled_by_memory", stalled},
                                                                      {"stalled_by_dependency", 1.0}}),
                    calibration);
  };
  const auto alone = loads(60.0);  // 600 cycles each
  EXPECT_EQ(alone.regime, Regime::latency);
  EXPECT_EQ(alone.advice.front().code, AdviceCode::more_bytes_in_flight);
  const auto queue = loads(600.0);
  EXPECT_EQ(queue.regime, Regime::latency);
  EXPECT_THAT(queue.evidence, HasSubstr("its loads take 8.82x what DRAM takes when it is idle"));
  EXPECT_EQ(queue.advice.front().code, AdviceCode::coalesce);
}

/// A gather of 16 384 numbers by PyTorch on an H200, counted just after memory had been given back; its units as they
/// would look.
TEST(BusiestUnit, WhatOthersWriteToDramIsNoEvidence) {
  auto measurement = with_units(measured(4.3e-6, {}), {{"l2_sectors_busy", 95.0},
                                                       {"l2_data_busy", 88.0},
                                                       {"dram_busy", 70.0},
                                                       {"lsu_input_busy", 4.0},
                                                       {"stalled_by_memory", 60.0}});
  const auto judged = [&](double written) {
    auto counted = measurement;
    for (const auto& [name, bytes] : {std::pair("dram_read_bytes", 0.102e6), std::pair("dram_write_bytes", written),
                                      std::pair("l1_bytes", 0.721e6), std::pair("l2_bytes", 11.1e6)})
      counted.counters.push_back({name, bytes, "bytes", "test"});
    return classify(counted, gpu());
  };
  const auto stray = judged(9.93e6);
  EXPECT_EQ(stray.regime, Regime::latency);
  EXPECT_NE(stray.certainty, Certainty::certain);
  EXPECT_THAT(stray.evidence, HasSubstr("DRAM was written 9.21 MB that it cannot have written"));
  EXPECT_EQ(judged(0.1e6).regime, Regime::memory) << "L2 was busy with the gather itself";
  EXPECT_THAT(judged(900e6).evidence, Not(HasSubstr("cannot have written"))) << "L2 cannot hold so much";
}

TEST(BusiestUnit, UpdatesThatWaitForEachOtherAreToBeFewer) {
  const auto advice = [&](double updates) {
    return classify(with_units(measured(62e-6, streaming(8e6, 1e3)), {{"dram_busy", 36.0},
                                                                      {"l2_tags_busy", 12.0},
                                                                      {"l2_atomics_busy", updates},
                                                                      {"stalled_by_memory", 60.0},
                                                                      {"stalled_by_dependency", 1.0}}),
                    gpu())
        .advice.front()
        .code;
  };
  EXPECT_EQ(advice(9.0), AdviceCode::combine_updates);
  EXPECT_EQ(advice(0.5), AdviceCode::more_bytes_in_flight) << "a few counts beside other work";
}

TEST(BusiestUnit, LoadsFromElsewhereLeaveDramAndL2Idle) {
  auto calibration = gpu();
  calibration.ceilings.push_back(ceiling("latency-dram", 340e-9));
  find(calibration, "fp32").clock_hz = 2e9;
  const auto judged = [&](double dram) {
    return classify(with_units(measured(4.9e-3, {}), {{"dram_busy", dram},
                                                      {"l2_tags_busy", 2.0},
                                                      {"issue_busy", 0.5},
                                                      {"lsu_busy", 0.05},
                                                      {"stalled_by_memory", 900.0},
                                                      {"stalled_by_dependency", 2.0}}),
                    calibration);
  };
  const auto host_memory = judged(0.1);
  EXPECT_EQ(host_memory.regime, Regime::latency);
  EXPECT_LE(host_memory.confidence, 0.7) << "a link may be the limit, and nobody counts it";
  EXPECT_THAT(host_memory.evidence, HasSubstr("they come from host memory or another GPU"));
  EXPECT_THAT(host_memory.advice.front().action, HasSubstr("into this GPU's memory first"));
  EXPECT_EQ(judged(40.0).advice.front().code, AdviceCode::coalesce) << "a queue at DRAM";
}

TEST(BusiestUnit, KernelsOneAfterAnotherMayEachHaveALimit) {
  auto measurement = with_units(
      measured(2e-3, {}),
      {{"dram_busy", 46.0}, {"fma_busy", 49.0}, {"stalled_by_memory", 12.0}, {"stalled_by_dependency", 2.0}});
  EXPECT_EQ(classify(measurement, gpu()).certainty, Certainty::certain);
  measurement.launches = Launches{2, 1000, 900};
  const auto verdict = classify(measurement, gpu());
  EXPECT_EQ(verdict.regime, Regime::latency);
  EXPECT_NE(verdict.certainty, Certainty::certain);
  EXPECT_THAT(verdict.evidence, HasSubstr("it runs 2 kernels, and what moves data, busy for 46 %"));
  ASSERT_EQ(verdict.advice.size(), 1U);
  EXPECT_EQ(verdict.advice.front().code, AdviceCode::look_at_kernels);
  auto uncounted = measured(2e-3, streaming(2e9, 1.6e9, 44e9));  // 0.9 and 1.1 ms
  uncounted.launches = measurement.launches;
  const auto by_model = classify(uncounted, gpu());
  EXPECT_EQ(by_model.regime, Regime::latency);
  ASSERT_FALSE(by_model.advice.empty());
  EXPECT_EQ(by_model.advice.front().code, AdviceCode::look_at_kernels) << by_model.advice.front().action;
}

TEST(BusiestUnit, BlocksOfUnequalWorkLeaveMultiprocessorsIdle) {
  auto measurement =
      with_units(measured(1e-3, {}), {{"dram_busy", 3.0}, {"stalled_by_memory", 5.0}, {"stalled_by_dependency", 4.0}});
  measurement.make_primary().clock = TimingMode::stream;
  Timing device = measurement.timings.front();
  device.clock = TimingMode::device;
  measurement.timings.push_back(device);
  measurement.grid = Grid{1320, 8};
  measurement.launches = Launches{1, 1320, 1188};
  measurement.counters.push_back({"sm_clock", 2e9, "Hz", "test"});
  measurement.counters.push_back({"sm_active_cycles", 0.12 * 2e6, "cycles", "test"});
  const auto verdict = classify(measurement, gpu());
  EXPECT_EQ(verdict.regime, Regime::latency);
  ASSERT_FALSE(verdict.advice.empty());
  EXPECT_EQ(verdict.advice.front().code, AdviceCode::even_last_wave) << verdict.advice.front().action;
  EXPECT_THAT(verdict.evidence, HasSubstr("the mean multiprocessor works for 12 % of the time"));
  measurement.counters.back().value = 0.95 * 2e6;
  EXPECT_EQ(classify(measurement, gpu()).advice.front().code, AdviceCode::more_bytes_in_flight);
}

TEST(BusiestUnit, WhatKeepsWarpsOutIsSaid) {
  auto measurement = with_units(measured(62e-6, streaming(8e6, 1e3)),
                                {{"issue_busy", 20.0}, {"occupancy", 12.5}, {"stalled_by_memory", 9.0}});
  measurement.grid = Grid{132, 1};
  measurement.activity.emplace();
  KernelLaunch kernel;
  kernel.block = {256, 1, 1};
  kernel.registers = 255;
  measurement.activity->kernels = {kernel};
  const auto crowded = classify(measurement, gpu());
  EXPECT_THAT(crowded.advice.front().action,
              HasSubstr("with 255 registers a thread only 256 threads fit on it at a time"));
  measurement.activity->kernels.front().registers = 40;
  EXPECT_THAT(classify(measurement, gpu()).advice.front().action, Not(HasSubstr("registers")));
  measurement.activity->kernels.front().block = {INT64_MAX, INT64_MAX, 1};
  EXPECT_THAT(classify(measurement, gpu()).advice.front().action, Not(HasSubstr("registers")));
}

TEST(BusiestUnit, WithoutCountersMovingAllThatIsTouchedMayBeTheReason) {
  Work few = streaming(32e6, 0.0);  // 8 us at DRAM's ceiling
  few.footprint_bytes = 256e6;      // 64 us
  const auto strewn = classify(measured(67e-6, few), gpu());
  EXPECT_EQ(strewn.regime, Regime::memory);
  EXPECT_EQ(strewn.limiter, "dram");
  EXPECT_LE(strewn.confidence, 0.8);
  EXPECT_THAT(strewn.evidence, HasSubstr("a few words of each sector"));
  EXPECT_EQ(strewn.advice.front().code, AdviceCode::coalesce);
  EXPECT_EQ(classify(measured(150e-6, few), gpu()).regime, Regime::latency) << "that would take less";
  Work product = few;
  product.flops[fp32] = 1e6;
  EXPECT_EQ(classify(measured(67e-6, product), gpu()).regime, Regime::latency) << "a workspace counts as touched, too";
  few.footprint_bytes = 2560e6;
  EXPECT_EQ(classify(measured(645e-6, few), gpu()).regime, Regime::latency) << "more than whole sectors";
}

TEST(BusiestUnit, TheNumberFormatNamesTheTensorPipe) {
  Work work = streaming(1e6, 1e6);
  work.flops[tensor_bf16] = 1e9;
  const auto verdict = classify(with_units(measured(62e-6, work), {{"tensor_busy", 90.0}}), gpu());
  EXPECT_EQ(verdict.limiter, "tensor-bf16");
  const auto unnamed = classify(with_units(measured(62e-6, streaming(1e6, 1e6)), {{"tensor_busy", 90.0}}), gpu());
  EXPECT_EQ(unnamed.limiter, "tensor");
}

TEST(BusiestUnit, NothingNeedBeDeclared) {
  const auto none = measured(62e-6, Work{});
  EXPECT_EQ(classify(none, gpu()).regime, Regime::unknown);
  EXPECT_EQ(classify(with_units(none, {{"dram_busy", 88.0}}), gpu()).limiter, "dram");
  const auto idle = classify(with_units(none, {{"dram_busy", 20.0}, {"stalled_by_memory", 9.0}}), gpu());
  EXPECT_EQ(idle.regime, Regime::latency);
  EXPECT_THAT(idle.evidence, HasSubstr("DRAM is at 20 % of its peak"));
  EXPECT_THAT(idle.evidence, HasSubstr("wait for global memory"));
}

TEST(BusiestUnit, AGridOfAFewBlocksIsLatencyWhateverIsDeclared) {
  auto calibration = gpu();
  calibration.device.units = 100;
  auto measurement = measured(62e-6, Work{});
  measurement.grid = Grid{10, 4};
  const auto verdict = classify(measurement, calibration);
  EXPECT_EQ(verdict.regime, Regime::latency);
  EXPECT_FALSE(verdict.achieved);
  EXPECT_THAT(verdict.evidence, HasSubstr("leave 90 % of the multiprocessors idle"));
  EXPECT_EQ(verdict.advice.front().code, AdviceCode::larger_grid);
  measurement.grid = Grid{60, 4};
  EXPECT_EQ(classify(measurement, calibration).regime, Regime::unknown);
}

TEST(BusiestUnit, DamagedSharesSayNothing) {
  const auto plain = measured(62e-6, streaming(80e6, 1e3));
  for (const double percent : {-5.0, 500.0, 1e300})
    EXPECT_EQ(classify(with_units(plain, {{"alu_busy", percent}}), gpu()), classify(plain, gpu())) << percent;
}

TEST(Power, AHeldDownClockIsTheLimiter) {
  auto calibration = gpu();
  for (auto& ceiling : calibration.ceilings)
    if (ceiling.resource == "fp32") ceiling.clock_hz = 2e9;
  Work work;
  work.flops[fp32] = 4e9;
  auto measurement = measured(122e-6, work);
  measurement.clock_hz = 1.7e9;
  measurement.conditions.emplace().throttle_reasons = {"power cap"};
  const auto verdict = classify(measurement, calibration);
  EXPECT_EQ(verdict.regime, Regime::compute);
  EXPECT_EQ(verdict.limiter, "power");
  EXPECT_THAT(verdict.evidence, HasSubstr("the power limit held the clock at 1.70 GHz, 85 % of what it can be"));
  measurement.conditions->throttle_reasons.clear();
  EXPECT_EQ(classify(measurement, calibration).limiter, "fp32");
}

/// Counted on an H200: the atomic units of one slice work, and the blocks wait for it.
TEST(LatencyCause, UpdatesOfFewAddressesComeBeforeUnevenBlocks) {
  auto measurement = with_units(
      measured(1e-3, {}),
      {{"dram_busy", 3.0}, {"l2_atomics_busy", 0.4}, {"l2_atomics_hottest_busy", 36.0}, {"stalled_by_memory", 5.0}});
  measurement.make_primary().clock = TimingMode::stream;
  measurement.timings.push_back(measurement.timings.front());
  measurement.timings.back().clock = TimingMode::device;
  measurement.grid = Grid{1320, 8};
  measurement.launches = Launches{1, 1320, 1188};
  measurement.counters.push_back({"sm_clock", 2e9, "Hz", "test"});
  measurement.counters.push_back({"sm_active_cycles", 0.4 * 2e6, "cycles", "test"});
  auto calibration = gpu();
  calibration.ceilings.push_back(ceiling("atomic-global-float-one", 2e9));
  const auto verdict = classify(measurement, calibration);
  EXPECT_EQ(verdict.regime, Regime::latency);
  EXPECT_EQ(verdict.limiter, "contended-atomics");
  EXPECT_THAT(verdict.evidence, HasSubstr("at 36 % of their peak (counter l2_atomics_hottest_busy)"));
  ASSERT_EQ(verdict.advice.size(), 1U);
  EXPECT_EQ(verdict.advice.front().code, AdviceCode::combine_updates);
}

TEST(LatencyCause, IsTheLimiterWhereItIsKnown) {
  auto calibration = gpu();
  calibration.device.units = 100;
  const auto limiter = [&](std::int64_t blocks, const std::vector<std::pair<const char*, double>>& counters) {
    auto measurement = with_units(measured(22e-6, streaming(20e6, 20e6)), counters);
    if (blocks > 0) measurement.grid = Grid{blocks, 4};
    const auto verdict = classify(measurement, calibration);
    EXPECT_EQ(verdict.regime, Regime::latency);
    return verdict.limiter;
  };
  EXPECT_EQ(limiter(0, {}), "latency");
  EXPECT_EQ(limiter(10, {}), "few-blocks");
  EXPECT_EQ(limiter(10, {{"stalled_by_barrier", 5.0}}), "few-blocks");
  EXPECT_EQ(limiter(400, {}), "one-block");
  EXPECT_EQ(limiter(404, {}), "latency") << "a second wave";
  EXPECT_EQ(limiter(400, {{"stalled_by_barrier", 5.0}}), "barriers");
  EXPECT_EQ(limiter(404, {{"stalled_by_dependency", 5.0}}), "dependency");
  EXPECT_EQ(limiter(404, {{"stalled_by_shared", 5.0}}), "shared-latency");
  EXPECT_EQ(limiter(404, {{"stalled_by_memory", 5.0}}), "memory-latency");
  EXPECT_EQ(limiter(404, {{"stalled_by_memory", 5.0}, {"stalled_by_barrier", 5.0}, {"stalled_by_shared", 5.0}}),
            "latency")
      << "nothing stands out";
  auto host = measured(1e-3, streaming(1e6, 0.0), "cpu");
  EXPECT_EQ(classify(host, cpu()).limiter, "latency");
  EXPECT_TRUE(classify(host, cpu()).advice.empty());
  host.work.random = RandomAccesses{1e5, 0.0, 1e9};
  EXPECT_EQ(classify(host, cpu()).limiter, "memory-latency");
  host.work.random->bytes = 1e4;
  EXPECT_EQ(classify(host, cpu()).limiter, "latency") << "L1 holds so small a table";
}

TEST(Commands, HaveAFixedCostAndARate) {
  auto calibration = gpu();
  Ceiling fixed = calibration.ceilings.front();
  fixed.resource = "copy-host-to-device";
  fixed.value = 2e-6;
  fixed.ci95 = {2e-6, 2e-6};
  Ceiling rate = fixed;
  rate.resource = "host-to-device-pinned";
  rate.value = 50e9;
  rate.ci95 = {50e9, 50e9};
  calibration.ceilings.insert(calibration.ceilings.end(), {fixed, rate});
  const auto copy = [&](double seconds, std::int64_t bytes) {
    auto measurement = measured(seconds, Work{});
    KernelGroup& group = measurement.kernels.emplace_back();
    group.kind = CommandKind::copy;
    group.launch.name = "copy, host to device";
    group.bytes = bytes;
    return classify(measurement, calibration);
  };
  const auto small = copy(2.1e-6, 4096);
  EXPECT_EQ(small.regime, Regime::overhead);
  EXPECT_EQ(small.limiter, "copy-host-to-device");
  EXPECT_GT(small.confidence, 0.95);
  const auto large = copy(22e-6, 1000000);  // 2 us and 20 us
  EXPECT_EQ(large.regime, Regime::memory);
  EXPECT_EQ(large.limiter, "host-to-device-pinned");
  EXPECT_NEAR(*large.achieved, 20.0 / 22.0, 1e-9);
  EXPECT_GT(large.confidence, 0.95);
  const auto slow = copy(122e-6, 1000000);
  EXPECT_EQ(slow.limiter, "latency") << "it may be the link";
  EXPECT_TRUE(slow.advice.empty());
  Ceiling unpinned = rate;
  unpinned.resource = "host-to-device-pageable";
  unpinned.value = 8e9;
  calibration.ceilings.insert(calibration.ceilings.end() - 1, unpinned);
  const auto pageable = copy(122e-6, 1000000);
  EXPECT_EQ(pageable.regime, Regime::latency);
  EXPECT_EQ(pageable.limiter, "pageable-copy");
  EXPECT_THAT(pageable.advice.front().action, HasSubstr("pinned"));
  EXPECT_EQ(copy(62e-6, 1000000).limiter, "latency") << "faster than such copies are";
  double sum = 0.0;
  for (const auto& share : pageable.shares) sum += share.fraction;
  EXPECT_NEAR(sum, 1.0, 1e-12);
  calibration.ceilings.pop_back();  // a quick calibration knows no engine's rate
  EXPECT_EQ(copy(2.1e-6, 4).limiter, "copy-host-to-device");
  EXPECT_EQ(copy(122e-6, 1000000).regime, Regime::unknown);
}

TEST(Votes, AVerdictAgainstItsOwnExperimentIsNeverCertain) {
  auto measurement = measured(22e-6, streaming(40e6, 40e6));
  ASSERT_GT(classify(measurement, gpu()).confidence, 0.95);
  Variant less_traffic{Ablation::less_traffic, 0.0, measurement.seconds(), ""};
  measurement.variants = {less_traffic};  // without its traffic it takes as long
  const auto verdict = classify(measurement, gpu());
  EXPECT_EQ(verdict.cross_checks.back().outcome, gpubench::Outcome::disagrees);
  EXPECT_LT(verdict.confidence, 0.95);
  EXPECT_NE(verdict.certainty, Certainty::certain);
}

}  // namespace
}  // namespace gpubench::classifier
