// SPDX-License-Identifier: Apache-2.0
// The counter pass and declared against counted work, on a fake chip.
#include "bench/counters/counter_pass.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <utility>

#include "tests/bench/fake_metric_source.h"
#include "tests/bench/go_over.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

using Names = std::vector<std::string>;

Device gpu_with_cache() {
  Device device;
  device.id = "cuda:0";
  device.kind = DeviceKind::gpu;
  device.last_level_cache_bytes = 1 << 20;
  return device;
}

CounterPass::Opener opener(FakeChip& chip) {
  return [&chip](const Device&) { return std::make_unique<FakeMetricSource>(chip); };
}

FakeChip copying_chip() {
  FakeChip chip;
  chip.metrics = {{"dram__bytes_read.sum", {3e8, "byte", false}},
                  {"dram__bytes_write.sum", {1e8, "byte", false}},
                  {"lts__t_bytes.sum", {5e8, "byte", false}}};
  return chip;
}

TEST(CounterPass, ValuesAreKeyedAndOrderedByName) {
  FakeChip chip = copying_chip();
  CounterPass phase(gpu_with_cache(), {"l2_bytes", "dram_write_bytes", "dram_read_bytes", "l1_bytes"}, opener(chip));
  Measurement measurement;
  int prepared = 0;
  int executed = 0;
  go_over(phase, measurement, {[&] { EXPECT_EQ(prepared++, executed); }, [&] { ++executed; }});
  EXPECT_THAT(measurement.counters, ElementsAre(Counter{"dram_read_bytes", 3e8, "bytes", "fake"},
                                                Counter{"dram_write_bytes", 1e8, "bytes", "fake"},
                                                Counter{"l2_bytes", 5e8, "bytes", "fake"}));
  EXPECT_THAT(measurement.absent_counters, ElementsAre(AbsentCounter{"l1_bytes", "FK100 has no counter for it"}));
  EXPECT_EQ(prepared, 1);
  EXPECT_EQ(executed, 1);
  EXPECT_THAT(phase.warnings(), ElementsAre("No l1_bytes on cuda:0: FK100 has no counter for it."));
}

TEST(CounterPass, CountersByInstructionThatPassKernelsOverAreAbsent) {
  FakeChip chip = copying_chip();
  chip.metrics["smsp__inst_executed.sum"] = {1000.0, "inst", false};
  chip.metrics["smsp__sass_x.sum"] = {7.0, "inst", false};
  CounterPass phase(gpu_with_cache(), {"smsp__sass_x.sum", "instructions"}, opener(chip));
  for (const auto& [seen, there] : {std::pair(1000.0, true), std::pair(3.0, true), std::pair(0.0, false)}) {
    chip.metrics[std::string(all_by_instruction)] = {seen, "inst", false};
    Measurement measurement;
    go_over(phase, measurement, {[] {}, [] {}});
    ASSERT_EQ(measurement.counters.size(), there ? 2U : 1U) << seen;
    EXPECT_EQ(measurement.counters[0].name, "instructions");
    if (there) continue;
    EXPECT_EQ(measurement.absent_counters.at(0).name, "smsp__sass_x.sum");
    EXPECT_THAT(measurement.absent_counters.at(0).reason, HasSubstr("CUDA graph"));
  }
}

TEST(CounterPass, ACounterOfKernelsSaysSo) {
  FakeChip chip = copying_chip();
  chip.metrics["lts__t_bytes.sum.per_second"] = {5e12, "byte/s", false};
  CounterPass phase(gpu_with_cache(), {"l2_bytes", "lts__t_bytes.sum.per_second"}, opener(chip));
  Measurement measurement;
  go_over(phase, measurement, {[] {}, [] {}});
  EXPECT_THAT(measurement.counters,
              ElementsAre(Counter{"l2_bytes", 5e8, "bytes", "fake"},
                          Counter{"lts__t_bytes.sum.per_second", 5e12, "byte/s", "fake, each kernel by itself"}));
}

/// Two kernels, the first launched twice, as activity records show them.
Measurement of_two_kernels() {
  Measurement measurement;
  for (const char* const name : {"scan", "sort"}) measurement.kernels.emplace_back().launch.name = name;
  measurement.kernel_order = {0, 1, 0};
  return measurement;
}

TEST(CounterPass, KernelsHaveCountersOfTheirOwn) {
  FakeChip chip = copying_chip();
  chip.metrics["lts__t_sector_hit_rate.pct"] = {50.0, "%", false};
  chip.of_kernels = {{"lts__t_bytes.sum", {1e8, 3e8, 1.5e8}}, {"lts__t_sector_hit_rate.pct", {20.0, 40.0, 80.0}}};
  CounterPass phase(gpu_with_cache(), {"l2_bytes", "lts__t_sector_hit_rate.pct"}, opener(chip), true);
  Measurement measurement = of_two_kernels();
  go_over(phase, measurement, {[] {}, [] {}});
  EXPECT_EQ(measurement.kernel_counters_reason, "");
  EXPECT_THAT(measurement.kernels[0].counters,
              ElementsAre(Counter{"l2_bytes", 2.5e8, "bytes", "fake, this kernel"},
                          Counter{"lts__t_sector_hit_rate.pct", 50.0, "%", "fake, this kernel"}));
  EXPECT_EQ(measurement.kernels[1].counters.at(0).value, 3e8);
  EXPECT_THAT(measurement.counters, SizeIs(2)) << "the operation has its own beside them";
  chip.of_kernels[std::string(kernel_duration)] = {1e3, 5e3, 3e3};
  chip.metrics[std::string(kernel_duration)] = {9e3, "ns", false};
  CounterPass weighed(gpu_with_cache(), {"lts__t_sector_hit_rate.pct", std::string(kernel_duration)}, opener(chip),
                      true);
  measurement = of_two_kernels();
  chip.of_kernels["lts__t_sector_hit_rate.pct"] = {20.0, 40.0, 80.0};
  go_over(weighed, measurement, {[] {}, [] {}});
  EXPECT_DOUBLE_EQ(measurement.kernels[0].counters.at(0).value, 4e3);
  EXPECT_DOUBLE_EQ(measurement.kernels[0].counters.at(1).value, 65.0);
}

TEST(CounterPass, KernelsWithoutCountersSayWhy) {
  FakeChip chip = copying_chip();
  chip.of_kernels = {{"lts__t_bytes.sum", {1e8, 3e8}}};
  const auto reason_for = [&](Measurement measurement, bool each_kernel = true) {
    CounterPass phase(gpu_with_cache(), {"l2_bytes"}, opener(chip), each_kernel);
    go_over(phase, measurement, {[] {}, [] {}});
    for (const KernelGroup& group : measurement.kernels) EXPECT_THAT(group.counters, IsEmpty());
    return measurement.kernel_counters_reason;
  };
  EXPECT_EQ(reason_for(of_two_kernels()), "the profiler counted 2 kernels where activity records show 3");
  EXPECT_EQ(reason_for(of_two_kernels(), false), "") << "nobody asked";
  Measurement side_by_side = of_two_kernels();
  side_by_side.kernel_order.clear();
  side_by_side.kernel_order_reason = "they run side by side";
  EXPECT_EQ(reason_for(side_by_side), "they run side by side");
  EXPECT_EQ(reason_for({}), "");
}

TEST(CounterPass, EachPassStartsFromThePreparedState) {
  FakeChip chip = copying_chip();
  chip.metrics_a_pass = 1;
  CounterPass phase(gpu_with_cache(), {"l2_bytes", "dram_write_bytes", "dram_read_bytes"}, opener(chip));
  Measurement measurement;
  std::string order;
  go_over(phase, measurement, {[&] { order += 'p'; }, [&] { order += 'x'; }});
  EXPECT_EQ(order, "pxpxpx");
  EXPECT_THAT(measurement.counters, SizeIs(3));
}

TEST(CounterPass, APointThatWasCountedBeforeHasTheNewCountersAlone) {
  FakeChip chip = copying_chip();
  CounterPass phase(gpu_with_cache(), {"l2_bytes"}, opener(chip));
  Measurement measurement;
  measurement.counters = {{"l2_bytes", 1.0, "bytes", "an earlier run"}, {"sm_clock", 1e9, "Hz", "an earlier run"}};
  go_over(phase, measurement, {[] {}, [] {}});
  EXPECT_THAT(measurement.counters, ElementsAre(Counter{"l2_bytes", 5e8, "bytes", "fake"}));
}

/// Takes points through all rounds of a phase.
void go_over_all(CounterPass& phase, std::vector<Measurement>& points, const Replay& replay) {
  for (std::size_t round = 0; round < phase.rounds(); ++round) {
    phase.begin(round);
    for (std::size_t i = 0; i < points.size(); ++i) {
      Replay each = replay;
      each.point = i;
      phase.fill(points[i], each);
    }
  }
  for (std::size_t i = 0; i < points.size(); ++i) phase.finish(i, points[i]);
}

TEST(CounterPass, EachGroupIsARoundOverAllPoints) {
  FakeChip chip = copying_chip();
  chip.metrics_a_pass = 1;
  CounterPass phase(gpu_with_cache(), {"dram_read_bytes", "l2_bytes"}, opener(chip));
  std::vector<Measurement> points(3);
  go_over_all(phase, points, {[] {}, [] {}});
  for (const Measurement& measurement : points) EXPECT_THAT(measurement.counters, SizeIs(2));
  const Names read = {"dram__bytes_read.sum"};
  const Names l2 = {"lts__t_bytes.sum"};
  EXPECT_THAT(chip.begun, ElementsAre(read, l2));
  EXPECT_THAT(chip.counted, ElementsAre(read, read, read, l2, l2, l2));
}

TEST(CounterPass, APointThatMissesARoundLacksItsCountersAlone) {
  FakeChip chip = copying_chip();
  chip.metrics_a_pass = 1;
  CounterPass phase(gpu_with_cache(), {"dram_read_bytes", "l2_bytes"}, opener(chip));
  ASSERT_EQ(phase.rounds(), 2U);
  Measurement stopped;
  Measurement broken;
  phase.begin(0);
  phase.fill(stopped, {[] {}, [] {}});
  Replay second = {[] {}, [] {}};
  second.point = 1;
  phase.fill(broken, second);
  phase.begin(1);
  phase.give_up(broken, "no memory");
  phase.finish(0, stopped);
  phase.finish(1, broken);
  EXPECT_THAT(stopped.counters, SizeIs(1));
  EXPECT_THAT(stopped.absent_counters,
              ElementsAre(AbsentCounter{"l2_bytes", "the run was stopped before this was counted"}));
  EXPECT_THAT(broken.counters, SizeIs(1));
  EXPECT_THAT(broken.absent_counters, ElementsAre(AbsentCounter{"l2_bytes", "no memory"}));
}

TEST(CounterPass, AGroupThatCannotBeCountedCostsItsOwnCountersAlone) {
  FakeChip chip = copying_chip();
  chip.metrics_a_pass = 1;
  chip.errors = {{"lts__t_bytes.sum", "no room for it"}};
  CounterPass phase(gpu_with_cache(), {"dram_read_bytes", "l2_bytes"}, opener(chip));
  Measurement measurement;
  for (int point = 0; point < 2; ++point) go_over(phase, measurement = {}, {[] {}, [] {}});
  EXPECT_THAT(measurement.counters, ElementsAre(Counter{"dram_read_bytes", 3e8, "bytes", "fake"}));
  EXPECT_THAT(measurement.absent_counters, ElementsAre(AbsentCounter{"l2_bytes", "no room for it"}));
  EXPECT_THAT(phase.warnings(), ElementsAre("Not all counters on cuda:0: no room for it."));
}

/// A metric of one pass, and one of two.
CounterPass::Opener long_and_short(FakeChip& chip) {
  chip.metrics = {{"fake__short.sum", {1.0, "byte", false}}, {"fake__long.sum", {2.0, "byte", false}}};
  chip.passes_of = {{"fake__long.sum", 2}};
  return opener(chip);
}

TEST(CounterPass, InputsAreKeptForSeveralPassesOfARoundAlone) {
  FakeChip chip;
  std::string order;
  const Replay replay = {{[&] { order += 'p'; }, [&] { order += 'x'; }}, [&] {
                           order += 'k';
                           return std::nullopt;
                         }};
  std::vector<Measurement> points(2);
  CounterPass phase(gpu_with_cache(), {"fake__short.sum", "fake__long.sum"}, long_and_short(chip));
  go_over_all(phase, points, replay);
  EXPECT_EQ(order, "pxpxkpxpxkpxpx");
  EXPECT_EQ(points[0].counters.at(0).source, "fake");
  EXPECT_THAT(phase.warnings(), IsEmpty());
}

TEST(CounterPass, PassesAreRoundsOverManyPointsWhereTheSourceCan) {
  FakeChip chip;
  chip.by_passes = true;
  CounterPass phase(gpu_with_cache(), {"fake__short.sum", "fake__long.sum"}, long_and_short(chip));
  std::vector<Measurement> points(300);
  phase.expect(points.size());
  const std::size_t rounds = phase.rounds();
  EXPECT_EQ(rounds, 6U) << "one, two passes over each of two parts, and one for what takes long to set up";
  bool kept = false;
  for (std::size_t round = 0; round < rounds; ++round) {
    phase.begin(round);
    for (std::size_t point = 0; point < points.size(); ++point) {
      Replay replay = {{[] {}, [] {}}, [&] {
                         kept = true;
                         return std::nullopt;
                       }};
      replay.point = point * 2;
      if (phase.wants(replay.point, points[point])) phase.fill(points[point], replay);
    }
  }
  EXPECT_THAT(chip.begun, ElementsAre(ElementsAre("fake__short.sum"), ElementsAre("fake__long.sum"), IsEmpty(),
                                      ElementsAre("fake__long.sum"), IsEmpty()))
      << "nothing for the last round, which no point needs";
  EXPECT_THAT(chip.max_points, ElementsAre(256U, 256U));
  EXPECT_EQ(chip.points.size(), 300U * 3);
  EXPECT_EQ(chip.points.back(), 598U);
  EXPECT_FALSE(kept) << "each pass finds the data of a fresh set-up";
  for (std::size_t point = 0; point < points.size(); ++point) phase.finish(point * 2, points[point]);
  EXPECT_THAT(points[299].counters, SizeIs(2));
}

TEST(CounterPass, WhatTakesLongToSetUpHasItsPassesTogether) {
  FakeChip chip;
  chip.by_passes = true;
  CounterPass phase(gpu_with_cache(), {"fake__long.sum"}, long_and_short(chip));
  std::vector<Measurement> points(3);
  phase.expect(points.size());
  std::vector<std::size_t> set_up;
  for (std::size_t round = 0; round < phase.rounds(); ++round) {
    phase.begin(round);
    for (std::size_t point = 0; point < points.size(); ++point) {
      if (!phase.wants(point, points[point])) continue;
      set_up.push_back(point);
      Replay replay = {[] {}, [] {}};
      replay.point = point;
      replay.set_up_seconds = point == 1 ? 0.5 : 1e-3;
      phase.fill(points[point], replay);
    }
  }
  EXPECT_THAT(set_up, ElementsAre(0U, 1U, 2U, 0U, 2U, 1U)) << "the first time shows how long it takes";
  EXPECT_THAT(chip.points, ElementsAre(0U, 2U, 0U, 2U, 1U));
  for (std::size_t point = 0; point < points.size(); ++point) {
    phase.finish(point, points[point]);
    EXPECT_THAT(points[point].counters, SizeIs(1)) << point;
  }
}

TEST(CounterPass, OneSetUpDoesForAllGroupsAndPassesWhereItIsKnownToTakeLong) {
  FakeChip chip;
  chip.by_passes = true;
  CounterPass phase(gpu_with_cache(), {"fake__short.sum", "fake__long.sum"}, long_and_short(chip));
  std::vector<Measurement> points(2);
  points[1].set_up_seconds = 0.5;  // while it was timed
  phase.expect(points.size());
  std::vector<int> set_ups(2);
  for (std::size_t round = 0; round < phase.rounds(); ++round) {
    phase.begin(round);
    for (std::size_t point = 0; point < points.size(); ++point) {
      if (!phase.wants(point, points[point])) continue;
      ++set_ups[point];
      Replay replay = {[] {}, [] {}};
      replay.point = point;
      replay.set_up_seconds = point == 1 ? 0.4 : 1e-3;
      phase.fill(points[point], replay);
    }
  }
  EXPECT_THAT(set_ups, ElementsAre(3, 1)) << "the first: once for each group, and once more for its second pass";
  for (std::size_t point = 0; point < points.size(); ++point) {
    phase.finish(point, points[point]);
    EXPECT_THAT(points[point].counters, SizeIs(2)) << point;
    EXPECT_THAT(points[point].absent_counters, IsEmpty()) << point;
  }
}

TEST(CounterPass, KernelsThatAreCountedOneByOneNeedAllPassesOfAPointTogether) {
  FakeChip chip;
  chip.by_passes = true;
  CounterPass phase(gpu_with_cache(), {"fake__long.sum"}, long_and_short(chip), true);
  phase.expect(10);
  EXPECT_EQ(phase.rounds(), 1U);
}

TEST(CounterPass, PassesOnDifferentInputsAreSaidToBe) {
  FakeChip chip;
  CounterPass phase(gpu_with_cache(), {"fake__long.sum"}, long_and_short(chip));
  std::vector<Measurement> points(2);
  go_over_all(phase, points, {{[] {}, [] {}}, [] { return std::optional<std::string>("no memory for 8 GiB"); }});
  for (const Measurement& measurement : points) {
    ASSERT_THAT(measurement.counters, SizeIs(1));
    EXPECT_EQ(measurement.counters[0].source,
              "fake, some in 2 passes, each on what the one before left: no memory for 8 GiB");
  }
  EXPECT_THAT(phase.warnings(), SizeIs(1));
}

TEST(CounterPass, NothingIsOpenedWhenNothingIsWanted) {
  CounterPass phase(gpu_with_cache(), {},
                    [](const Device&) -> std::unique_ptr<MetricSource> { throw std::logic_error("opened"); });
  Measurement measurement;
  go_over(phase, measurement, {[] { FAIL(); }, [] { FAIL(); }});
  EXPECT_EQ(measurement, Measurement{});
}

TEST(CounterPass, WithoutASourceEveryMetricIsAbsentAndTheRunIsToldOnce) {
  int opened = 0;
  CounterPass phase(gpu_with_cache(), {"l2_bytes", "dram_read_bytes"},
                    [&](const Device&) -> std::unique_ptr<MetricSource> {
                      ++opened;
                      throw MetricsUnavailable("the driver keeps the counters");
                    });
  Measurement measurement;
  measurement.make_primary().samples_seconds = {1.0};
  for (int point = 0; point < 3; ++point) go_over(phase, measurement, {[] { FAIL(); }, [] { FAIL(); }});
  EXPECT_EQ(opened, 1);
  EXPECT_THAT(measurement.absent_counters,
              ElementsAre(AbsentCounter{"dram_read_bytes", "the driver keeps the counters"},
                          AbsentCounter{"l2_bytes", "the driver keeps the counters"}));
  EXPECT_THAT(measurement.primary().samples_seconds, ElementsAre(1.0));
  EXPECT_THAT(phase.warnings(), ElementsAre("No counters on cuda:0: the driver keeps the counters."));
}

TEST(CounterPass, ABusyPointDoesNotSpoilTheNext) {
  FakeChip chip = copying_chip();
  chip.error = "held by another profiler";
  CounterPass phase(gpu_with_cache(), {"l2_bytes"}, opener(chip));
  Measurement busy;
  go_over(phase, busy, {[] {}, [] {}});
  EXPECT_THAT(busy.absent_counters, ElementsAre(AbsentCounter{"l2_bytes", "held by another profiler"}));
  chip.error.clear();
  Measurement fine;
  go_over(phase, fine, {[] {}, [] {}});
  EXPECT_THAT(fine.counters, SizeIs(1));
  EXPECT_THAT(fine.absent_counters, IsEmpty());
}

TEST(CounterPass, AnExecutionThatThrowsMakesTheCountersAbsent) {
  FakeChip chip = copying_chip();
  CounterPass phase(gpu_with_cache(), {"l2_bytes"}, opener(chip));
  Measurement measurement;
  go_over(phase, measurement, {[] {}, [] { throw std::runtime_error("launch failed"); }});
  EXPECT_THAT(measurement.absent_counters, ElementsAre(AbsentCounter{"l2_bytes", "launch failed"}));
}

TEST(CounterPass, AValueThatIsNoneIsAbsent) {
  FakeChip chip = copying_chip();
  chip.metrics["lts__t_bytes.sum"].value = std::numeric_limits<double>::quiet_NaN();
  chip.metrics["dram__bytes_read.sum"].lost = true;
  CounterPass phase(gpu_with_cache(), {"l2_bytes", "dram_read_bytes", "dram_write_bytes"}, opener(chip));
  Measurement measurement;
  go_over(phase, measurement, {[] {}, [] {}});
  EXPECT_THAT(measurement.counters, ElementsAre(Counter{"dram_write_bytes", 1e8, "bytes", "fake"}));
  EXPECT_THAT(measurement.absent_counters,
              ElementsAre(AbsentCounter{"dram_read_bytes", "the fake lost it"},
                          AbsentCounter{"l2_bytes", "lts__t_bytes.sum came back without a value"}));
}

TEST(CounterPass, TheCpuHasNoCountersYet) {
  Device cpu;
  cpu.id = "cpu";
  CounterPass phase(cpu, {"dram_read_bytes"});
  Measurement measurement;
  go_over(phase, measurement, {[] {}, [] {}});
  ASSERT_THAT(measurement.absent_counters, SizeIs(1));
  EXPECT_THAT(measurement.absent_counters[0].reason, HasSubstr("counters of the CPU are not supported"));
}

/// Declares 1 MB read and 1 MB written on a GPU whose cache is a tenth of that.
Measurement counted(double read, double written) {
  Measurement measurement;
  measurement.work.bytes_read = 1e6;
  measurement.work.bytes_written = 1e6;
  measurement.counters = {{"dram_read_bytes", read, "bytes", "fake"}, {"dram_write_bytes", written, "bytes", "fake"}};
  return measurement;
}

Device small_cache() {
  Device device = gpu_with_cache();
  device.last_level_cache_bytes = 100'000;
  return device;
}

TEST(DeclaredWork, BytesThatAgreeAreNotMentioned) {
  EXPECT_THAT(work_differences(counted(1.0e6, 1.0e6), small_cache()), IsEmpty());
  EXPECT_THAT(work_differences(counted(1.04e6, 1.04e6), small_cache()), IsEmpty());
  EXPECT_THAT(work_differences(counted(0.96e6, 0.96e6), small_cache()), IsEmpty());
}

TEST(DeclaredWork, BytesThatDifferAreTold) {
  EXPECT_THAT(work_differences(counted(4.2e6, 2e6), small_cache()), ElementsAre("moves 3.1x the bytes it declares"));
  EXPECT_THAT(work_differences(counted(1.2e6, 1e6), small_cache()), ElementsAre("moves 1.10x the bytes it declares"));
  EXPECT_THAT(work_differences(counted(1e6, 0), small_cache()), ElementsAre("moves 0.50x the bytes it declares"));
  EXPECT_THAT(work_differences(counted(1e3, 0), small_cache()), ElementsAre("moves none of the bytes it declares"));
  EXPECT_THAT(work_differences(counted(26e6, 0), small_cache()), ElementsAre("moves 13x the bytes it declares"));
}

TEST(DeclaredWork, BytesThatACacheMayHoldSayNothing) {
  Measurement measurement = counted(0, 0);
  measurement.work.footprint_bytes = 4e5;
  EXPECT_THAT(work_differences(measurement, small_cache()), IsEmpty());
  measurement.work.footprint_bytes = 4.1e5;
  EXPECT_THAT(work_differences(measurement, small_cache()), SizeIs(1));
  Device unknown = small_cache();
  unknown.last_level_cache_bytes = 0;
  EXPECT_THAT(work_differences(measurement, unknown), IsEmpty());
}

/// As of a chain of 512 dependent loads in 256 MB: the next execution finds its lines in the cache, and what is counted
/// is another's.
TEST(DeclaredWork, BytesThatStayInTheCacheForTheNextExecutionSayNothing) {
  Measurement measurement = counted(8.7e3, 34.6e3);
  measurement.work.bytes_read = 2048;
  measurement.work.bytes_written = 0;
  measurement.work.footprint_bytes = 1e6;
  EXPECT_THAT(work_differences(measurement, small_cache()), IsEmpty());
  measurement.counters[0].value = 0.2e6;
  EXPECT_THAT(work_differences(measurement, small_cache()), SizeIs(1)) << "more than the cache can have kept";
  measurement = counted(0.1e6, 0.0);
  measurement.work.bytes_written = 0;
  measurement.work.bytes_read = 0.3e6;
  measurement.work.footprint_bytes = 1e6;
  EXPECT_THAT(work_differences(measurement, small_cache()), IsEmpty()) << "the rest was in the cache";
}

TEST(DeclaredWork, WithoutACounterOrADeclarationThereIsNothingToSay) {
  Measurement measurement = counted(9e6, 9e6);
  measurement.counters.pop_back();
  EXPECT_THAT(work_differences(measurement, small_cache()), IsEmpty());
  measurement = counted(9e6, 9e6);
  measurement.work = {};
  EXPECT_THAT(work_differences(measurement, small_cache()), IsEmpty());
}

TEST(DeclaredWork, FlopsAreComparedPipeByPipe) {
  Measurement measurement;
  measurement.work.flops = {{fp32, 2e6}, {tensor_bf16, 1e9}, {int32, 5e6}};
  measurement.counters = {{"flops_fp32", 1e6, "FLOP", "fake"}, {"flops_tensor_bf16", 1.01e9, "FLOP", "fake"}};
  EXPECT_THAT(work_differences(measurement, gpu_with_cache()), ElementsAre("does 0.50x the fp32 FLOPs it declares"));
  measurement.counters[0].value = 0.0;
  EXPECT_THAT(work_differences(measurement, gpu_with_cache()), ElementsAre("does none of the fp32 FLOPs it declares"));
}

TEST(DeclaredWork, HalfFlopsAreHeldAgainstScalarAndPackedCode) {
  Measurement measurement;
  measurement.work.flops = {{bf16, 1e6}};
  const auto differences = [&](double value) {
    measurement.counters = {{"flops_half", value, "FLOP", "fake"}};
    return work_differences(measurement, gpu_with_cache());
  };
  EXPECT_THAT(differences(1e6), IsEmpty()) << "all packed";
  EXPECT_THAT(differences(2e6), IsEmpty()) << "all scalar";
  EXPECT_THAT(differences(1.5e6), IsEmpty()) << "some of each";
  EXPECT_THAT(differences(4e6), ElementsAre("does 2.0x the bf16 FLOPs it declares"));
  EXPECT_THAT(differences(0.5e6), ElementsAre("does 0.50x the bf16 FLOPs it declares"));
}

}  // namespace
}  // namespace gpubench::bench
