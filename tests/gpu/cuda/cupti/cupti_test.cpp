// SPDX-License-Identifier: Apache-2.0
// CUPTI without a GPU: metric names and passes of many chips from the real library's Host API, and every failure from a
// library that plays CUPTI.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/counters/counter_pass.h"
#include "bench/counters/metrics.h"
#include "gpu/cuda/cupti/cupti_range_profiler.h"
#include "gpu/cuda/cupti/cupti_sources.h"
#include "gpu/cuda/handles.h"
#include "tests/bench/fake_metric_source.h"
#include "tests/bench/go_over.h"
#include "tests/gpu/cuda/cupti/fake_cupti.h"
#include "tests/matchers.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GPUBENCH_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GPUBENCH_SANITIZED
#endif

namespace gpubench::bench {
namespace {

/// Counts one point by itself.
MetricValues count_alone(MetricSource& source, const std::vector<std::string>& metrics, const Replay& replay) {
  source.begin(metrics);
  source.count(replay.point, replay);
  MetricValues values = source.read().at(replay.point);
  if (!values.lost.empty()) throw MetricsUnavailable(values.lost);
  return values;
}

struct Chip {
  std::string name;
  std::vector<std::string> absent;
};
void PrintTo(const Chip& chip, std::ostream* out) { *out << chip.name; }

/// CUPTI's Host API, or why it is not to be had here.
std::string load_host_api(std::shared_ptr<const CuptiLibrary>& library) {
#ifdef GPUBENCH_SANITIZED
  (void)library;
  return "CUPTI loads libnvperf_host with RTLD_DEEPBIND, which sanitizers refuse";
#else
  try {
    library = load_cupti();
    return "";
  } catch (const MetricsUnavailable& error) {
    return error.what();
  }
#endif
}

class OfChip : public testing::TestWithParam<Chip> {
 protected:
  void SetUp() override {
    if (const std::string why = load_host_api(library_); !why.empty()) GTEST_SKIP() << why;
  }
  std::shared_ptr<const CuptiLibrary> library_;
};

PassPlan plan_on(const CuptiProfilerHost& host, const std::vector<std::string>& names) {
  const auto resolution = resolve(names, host.chip(), [&](const std::string& name) { return host.unit(name); });
  PassPlan plan = plan_passes(resolution.metrics, [&](const auto& counters) { return host.passes(counters); });
  plan.absent.insert(plan.absent.end(), resolution.absent.begin(), resolution.absent.end());
  return plan;
}

TEST_P(OfChip, EveryPortableNameResolvesOrIsKnownToBeAbsent) {
  const CuptiProfilerHost host(library_, GetParam().name);
  std::vector<std::string> absent;
  for (const auto& names : {parse_metrics("core"), parse_metrics("flops"), parse_metrics("units")})
    for (const auto& missing : plan_on(host, names).absent) absent.push_back(missing.name);
  EXPECT_EQ(absent, GetParam().absent);
}

TEST_P(OfChip, CoreIsOnePassAndFlopsAreFew) {
  const CuptiProfilerHost host(library_, GetParam().name);
  const auto core = plan_on(host, parse_metrics("core"));
  const auto flops = plan_on(host, parse_metrics("flops"));
  std::cout << GetParam().name << ": core " << total_passes(core) << ", flops " << total_passes(flops) << " passes in "
            << flops.groups.size() << " groups\n";
  EXPECT_EQ(total_passes(core), 1U);
  // 7 or 8 with the CUPTI of CUDA 13.0; the tensor pipes hardly share a pass.
  EXPECT_LE(total_passes(flops), 9U);
  // The vector pipes are the first of them, and one pass.
  EXPECT_EQ(total_passes(plan_on(host, {"flops_fp32", "flops_fp64", "flops_half"})), 1U);
  EXPECT_EQ(total_passes(plan_on(host, {"flops_fp32", "flops_fp64", "flops_half", "dram_read_bytes"})), 2U);
}

TEST_P(OfChip, UnitsAreOneGroupOfFewPasses) {
  const CuptiProfilerHost host(library_, GetParam().name);
  const auto units = plan_on(host, parse_metrics("units"));
  std::cout << GetParam().name << ": units " << total_passes(units) << " passes\n";
  EXPECT_EQ(units.groups.size(), 1U);
  EXPECT_LE(total_passes(units), 9U);
  EXPECT_EQ(plan_on(host, parse_metrics("core,units")).groups.size(), 2U);
}

TEST_P(OfChip, TheTwoMetricsOfNvidiasRuleCanBeCounted) {
  const CuptiProfilerHost host(library_, GetParam().name);
  const PassPlan plan = plan_on(host, {"sm__throughput.avg.pct_of_peak_sustained_elapsed",
                                       "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"});
  std::cout << GetParam().name << ": " << total_passes(plan) << " passes\n";
  EXPECT_TRUE(plan.absent.empty()) << plan.absent.front().name << ": " << plan.absent.front().reason;
  EXPECT_GE(total_passes(plan), 1U);
}

TEST_P(OfChip, OneBadNameFailsASetAndIsFoundOut) {
  const CuptiProfilerHost host(library_, GetParam().name);
  EXPECT_EQ(host.passes({"lts__t_bytes.sum", "no__such_metric.sum"}), std::nullopt);
  EXPECT_EQ(host.unit("no__such_metric.sum"), std::nullopt);
  EXPECT_EQ(host.unit("lts__t_bytes.no_such_rollup"), std::nullopt);
  EXPECT_EQ(host.unit("lts__t_bytes.sum"), "bytes");
  EXPECT_EQ(host.passes({"lts__t_bytes.sum"}), 1U);
}

INSTANTIATE_TEST_SUITE_P(Chips, OfChip,
                         testing::Values(Chip{"GA100", {"flops_tensor_fp8", "fma_heavy_busy"}},
                                         Chip{"AD102", {"l2_fabric_busy"}}, Chip{"GH100", {}}, Chip{"GB100", {}},
                                         Chip{"GB202", {"l2_fabric_busy"}}),
                         [](const auto& info) { return info.param.name; });

TEST(Cupti, AnUnknownChipIsRefusedWithTheRemedy) {
  std::shared_ptr<const CuptiLibrary> library;
  if (const std::string why = load_host_api(library); !why.empty()) GTEST_SKIP() << why;
  EXPECT_THAT(message_of<MetricsUnavailable>([&] { const CuptiProfilerHost host(library, "ZZ999"); }),
              HasSubstr("newer toolkit"));
}

TEST(Cupti, AMissingLibraryIsNamedWithTheRemedy) {
  Environment environment;
  environment.set("GPUBENCH_CUPTI", "/nowhere/libcupti.so");
  EXPECT_THAT(message_of<MetricsUnavailable>([&] { load_cupti(); }),
              AllOf(HasSubstr("/nowhere/libcupti.so"), HasSubstr("install")));
}

TEST(Cupti, AForeignLibraryIsRefused) {
  Environment environment;
  environment.set("GPUBENCH_CUPTI", "libm.so.6");
  EXPECT_THAT(message_of<MetricsUnavailable>([&] { load_cupti(); }), HasSubstr("12.6 or newer"));
}

class FakeCupti : public FakeCuptiTest {
 protected:
  std::unique_ptr<MetricSource> open() {
    return open_cupti_metric_source(0, reinterpret_cast<CUctx_st*>(&environment_));
  }
  /// What counting says when something fails; executions are 'p' and 'x' in `executed_`.
  std::string count_error() {
    return message_of<MetricsUnavailable>([&] { count_alone(*open(), {"fake__a.sum"}, replay()); });
  }
  Replay replay() {
    return {[this] { executed_ += 'p'; }, [this] { executed_ += 'x'; }};
  }

  void forget() { function<void()>("fake_cupti_forget")(); }
  static Device gpu() {
    Device device;
    device.id = "cuda:0";
    device.kind = DeviceKind::gpu;
    return device;
  }

  std::string executed_;
};

TEST_F(FakeCupti, CountsInItsOrderAndKeysByName) {
  environment_.set("FAKE_CUPTI_PASSES", "3");
  {
    const auto source = open();
    EXPECT_EQ(source->chip(), "FK100");
    EXPECT_EQ(source->unit("fake__a.sum"), "bytes");
    EXPECT_EQ(source->unit("other__a.sum"), std::nullopt);
    const auto counted = count_alone(*source, {"fake__long_name.sum", "fake__a.sum", "fake__lost.sum"}, replay());
    EXPECT_THAT(counted.values, UnorderedElementsAre(Pair("fake__a.sum", 11.0), Pair("fake__long_name.sum", 19.0)));
    EXPECT_THAT(counted.absent, ElementsAre(Pair("fake__lost.sum", HasSubstr("no value"))));
  }
  EXPECT_EQ(executed_, "pxpxpx");
  EXPECT_EQ(calls(), "IErCS()sS()sS()sDdi");
}

TEST_F(FakeCupti, NoNumberIsNoValueAndSpoilsNoOther) {
  const auto counted = count_alone(*open(), {"fake__a.sum", "fake__nan.sum"}, replay());
  EXPECT_THAT(counted.values, ElementsAre(Pair("fake__a.sum", 11.0)));
  EXPECT_THAT(counted.absent, ElementsAre(Pair("fake__nan.sum", HasSubstr("no value"))));
}

TEST_F(FakeCupti, PointsOfOnePassShareAStartAndAStop) {
  {
    const auto source = open();
    source->begin({"fake__serial.sum"});
    for (const std::size_t point : {5U, 6U, 9U}) source->count(point, replay());
    const auto counted = source->read();
    ASSERT_EQ(counted.size(), 3U);
    EXPECT_EQ(counted.at(5).values.at("fake__serial.sum"), 1.0);
    EXPECT_EQ(counted.at(6).values.at("fake__serial.sum"), 2.0);
    EXPECT_EQ(counted.at(9).values.at("fake__serial.sum"), 3.0);
    EXPECT_TRUE(source->read().empty()) << "each value is read once";
    EXPECT_EQ(calls(), "IErCS()()()sDd") << "and others can have the counters";
  }
  EXPECT_EQ(executed_, "pxpxpx");
  EXPECT_EQ(calls(), "IErCS()()()sDdi");
}

TEST_F(FakeCupti, MorePointsThanCounterDataHoldsAreReadOutInParts) {
  const auto source = open();
  source->begin({"fake__serial.sum"});
  for (std::size_t point = 0; point < 300; ++point) source->count(point, replay());
  const auto counted = source->read();
  ASSERT_EQ(counted.size(), 300U);
  std::set<double> serials;
  for (const auto& [point, values] : counted) serials.insert(values.values.at("fake__serial.sum"));
  EXPECT_EQ(serials.size(), 300U);
  EXPECT_EQ(*serials.rbegin(), 300.0);
  EXPECT_EQ(source->effort().enabled, 3U);
}

TEST_F(FakeCupti, StretchesOfAProgramAreCountedBetweenTwoCalls) {
  const auto library = load_cupti();
  const CuptiProfilerHost host(library, "FK100");
  const CuptiProfilerHost::Configuration serial(host, {"fake__serial.sum"});
  CuptiRangeProfiler profiler(library, reinterpret_cast<CUctx_st*>(&environment_));
  profiler.begin(serial);
  for (const std::size_t point : {3U, 4U}) {
    profiler.begin_range(point);
    profiler.end_range();
  }
  profiler.end_range();  // none is open
  const auto counted = profiler.read();
  EXPECT_EQ(counted.at(3).values.at(0), 1.0);
  EXPECT_EQ(counted.at(4).values.at(0), 2.0);
  EXPECT_EQ(calls(), "ErCS()()sDd");

  environment_.set("FAKE_CUPTI_FAILS", "cuptiRangeProfilerPopRange=26");
  profiler.begin_range(5);
  EXPECT_THROW(profiler.end_range(), MetricsUnavailable);
  EXPECT_THAT(profiler.read().at(5).lost, HasSubstr("another profiler holds the GPU's counters"));
  environment_.set("FAKE_CUPTI_FAILS", "cuptiRangeProfilerEnable=26");
  EXPECT_THROW(profiler.begin_range(6), MetricsBusy) << "so that one may try again";
  environment_.set("FAKE_CUPTI_FAILS", "");
  profiler.begin_range(7);
  profiler.end_range();
  EXPECT_TRUE(profiler.read().at(7).values.at(0));
}

TEST_F(FakeCupti, ARestSwitchesTheProfilerOffAndKeepsWhatWasCounted) {
  const auto library = load_cupti();
  const CuptiProfilerHost host(library, "FK100");
  const CuptiProfilerHost::Configuration serial(host, {"fake__serial.sum"});
  CuptiRangeProfiler profiler(library, reinterpret_cast<CUctx_st*>(&environment_));
  profiler.rest();  // not on yet
  profiler.switch_to(serial);
  profiler.begin_range(3);
  profiler.end_range();
  profiler.rest();
  EXPECT_EQ(calls(), "ErCS()sDd");
  profiler.rest();
  profiler.switch_to(serial);
  profiler.begin_range(4);
  profiler.end_range();
  const auto counted = profiler.read();
  EXPECT_EQ(counted.at(3).values.at(0), 1.0);
  EXPECT_TRUE(counted.at(4).lost.empty()) << counted.at(4).lost;
  EXPECT_EQ(calls(), "ErCS()sDdErCS()sDd");
}

TEST_F(FakeCupti, AStretchRunsOnceSoSeveralPassesAreRefused) {
  environment_.set("FAKE_CUPTI_PASSES", "2");
  const auto library = load_cupti();
  const CuptiProfilerHost host(library, "FK100");
  const CuptiProfilerHost::Configuration several(host, {"fake__a.sum"});
  CuptiRangeProfiler profiler(library, reinterpret_cast<CUctx_st*>(&environment_));
  profiler.begin(several);
  EXPECT_THROW(profiler.begin_range(1), MetricsUnavailable);
}

TEST_F(FakeCupti, ABatchThatIsLostCostsItsOwnPoints) {
  environment_.set("FAKE_CUPTI_FAILS", "cuptiRangeProfilerDecodeData=7");
  const auto source = open();
  source->begin({"fake__a.sum"});
  for (const std::size_t point : {1U, 2U}) source->count(point, replay());
  const auto lost = source->read();
  ASSERT_EQ(lost.size(), 2U);
  EXPECT_THAT(lost.at(1).absent.at("fake__a.sum"), HasSubstr("FAKE_RESULT"));
  EXPECT_TRUE(lost.at(2).values.empty());
  unsetenv("FAKE_CUPTI_FAILS");
  source->count(3, replay());
  EXPECT_THAT(source->read().at(3).values, ElementsAre(Pair("fake__a.sum", 11.0)));
}

TEST_F(FakeCupti, AnExecutionThatThrowsCostsItsOwnPoint) {
  const auto source = open();
  source->begin({"fake__serial.sum"});
  source->count(1, replay());
  EXPECT_THROW(source->count(2, {[] {}, [] { throw std::runtime_error("launch failed"); }}), std::runtime_error);
  EXPECT_THROW(source->count(3, {[] { throw std::runtime_error("launch failed"); }, [] {}}), std::runtime_error);
  source->count(4, replay());
  const auto counted = source->read();
  EXPECT_EQ(calls(), "IErCS()()()sDd");
  ASSERT_EQ(counted.size(), 2U);
  EXPECT_EQ(counted.at(1).values.at("fake__serial.sum"), 1.0);
  EXPECT_EQ(counted.at(4).values.at("fake__serial.sum"), 3.0);
}

TEST_F(FakeCupti, WhatThrewTakesUpRoomInABatch) {
  const auto source = open();
  source->begin({"fake__serial.sum"});
  EXPECT_THROW(source->count(1000, {[] {}, [] { throw std::runtime_error("launch failed"); }}), std::runtime_error);
  for (std::size_t point = 0; point < 200; ++point) source->count(point, replay());
  const auto counted = source->read();
  EXPECT_EQ(counted.size(), 200U);
  for (const auto& [point, values] : counted) EXPECT_EQ(values.lost, "") << point;
}

TEST_F(FakeCupti, PointsOfSeveralPassesAreCountedOneByOneInOneSession) {
  environment_.set("FAKE_CUPTI_PASSES", "2");
  {
    const auto source = open();
    for (const double point : {1.0, 2.0, 3.0}) {
      const auto counted = count_alone(*source, {"fake__serial.sum", "fake__passes.sum"}, replay());
      EXPECT_THAT(counted.values, UnorderedElementsAre(Pair("fake__serial.sum", point), Pair("fake__passes.sum", 2.0)));
    }
    EXPECT_EQ(source->effort().ranges, 3U);
    EXPECT_EQ(source->effort().configured, 1U);
    EXPECT_EQ(source->effort().enabled, 1U);
  }
  EXPECT_EQ(calls(), "IErCS()sS()sDrS()sS()sDrS()sS()sDdi") << "and given back";
}

TEST_F(FakeCupti, PointsThatAreGoneOverForEachPassShareItsStartAndStop) {
  environment_.set("FAKE_CUPTI_PASSES", "3");
  {
    const auto source = open();
    ASSERT_TRUE(source->counts_by_passes());
    source->begin_passes({"fake__serial.sum", "fake__passes.sum"}, 4);
    for (int pass = 0; pass < 3; ++pass) {
      if (pass > 0) source->next_pass();
      for (const std::size_t point : {5U, 6U, 9U}) source->count(point, replay());
      EXPECT_THROW(source->count(10, {[] {}, [] { throw std::runtime_error("launch failed"); }}), std::runtime_error);
    }
    const auto counted = source->read();
    EXPECT_EQ(calls(), "IErCS()()()()sS()()()()sS()()()()sDd");
    ASSERT_EQ(counted.size(), 3U);
    EXPECT_EQ(counted.at(5).values.at("fake__passes.sum"), 3.0);
    EXPECT_EQ(counted.at(9).values.at("fake__serial.sum"), 3.0);
    EXPECT_TRUE(source->read().empty());
    EXPECT_EQ(source->effort().calls.at("start").first, 3U);
    EXPECT_THAT(count_alone(*source, {"fake__passes.sum", "fake__serial.sum"}, replay()).values,
                Contains(Pair("fake__passes.sum", 3.0)))
        << "and points are counted by themselves as before";
  }
  EXPECT_EQ(executed_.substr(0, 6), "pxpxpx");
}

TEST_F(FakeCupti, PassesThatAreBrokenOffGiveNoValues) {
  environment_.set("FAKE_CUPTI_PASSES", "3");
  const auto source = open();
  source->begin_passes({"fake__a.sum"}, 2);
  source->count(1, replay());
  source->next_pass();
  source->count(1, replay());
  EXPECT_THAT(source->read().at(1).absent.at("fake__a.sum"), HasSubstr("before CUPTI had all of the 3 passes"));
  source->begin_passes({"fake__a.sum"}, 2);
  for (int pass = 0; pass < 3; ++pass) {
    if (pass > 0) source->next_pass();
    source->count(2, replay());
  }
  EXPECT_THAT(source->read().at(2).values, ElementsAre(Pair("fake__a.sum", 11.0)));
}

TEST_F(FakeCupti, WhereAProfilerCountsOnceItIsEnabledAnew) {
  environment_.set("FAKE_CUPTI_PASSES", "2");
  for (const char* how : {"refuse", "empty", "short", "zero"}) {
    environment_.set("FAKE_CUPTI_KEEPS", how);
    forget();
    const auto source = open();
    double last = 0.0;
    for (int point = 0; point < 4; ++point) {
      const auto values = count_alone(*source, {"fake__serial.sum", "fake__passes.sum"}, replay()).values;
      EXPECT_EQ(values.at("fake__passes.sum"), 2.0) << how;
      EXPECT_GT(values.at("fake__serial.sum"), std::exchange(last, values.at("fake__serial.sum"))) << how;
    }
    EXPECT_EQ(source->effort().ranges, 5U) << how << ": keeping is tried once";
    EXPECT_EQ(source->effort().enabled, 4U) << how;
  }
}

TEST_F(FakeCupti, WhatCounterDataStillHoldsIsNotTheNextPoint) {
  environment_.set("FAKE_CUPTI_PASSES", "2");
  environment_.set("FAKE_CUPTI_KEEPS", "stale");
  const auto source = open();
  for (const double point : {1.0, 2.0, 3.0})
    EXPECT_EQ(count_alone(*source, {"fake__serial.sum"}, replay()).values.at("fake__serial.sum"), point);
}

TEST_F(FakeCupti, APointAtFaultIsNotTheProfilersFault) {
  environment_.set("FAKE_CUPTI_PASSES", "2");
  const auto source = open();
  count_alone(*source, {"fake__a.sum"}, replay());
  setenv("FAKE_CUPTI_EMPTY", "1", 1);
  EXPECT_THROW(count_alone(*source, {"fake__a.sum"}, replay()), MetricsUnavailable);
  unsetenv("FAKE_CUPTI_EMPTY");
  const auto before = source->effort();
  for (int point = 0; point < 3; ++point) count_alone(*source, {"fake__a.sum"}, replay());
  EXPECT_EQ(source->effort().enabled, before.enabled + 1) << "it was given back, and is kept as before";
}

TEST_F(FakeCupti, ZerosAreCheckedOnceMoreUntilKeepingHasCountedSomething) {
  environment_.set("FAKE_CUPTI_PASSES", "2");
  const auto source = open();
  const auto ranges_for = [&](const std::string& wanted, double expected) {
    const auto before = source->effort().ranges;
    EXPECT_EQ(count_alone(*source, {"fake__zero.sum", wanted}, replay()).values.at(wanted), expected);
    return source->effort().ranges - before;
  };
  EXPECT_EQ(ranges_for("fake__zero.sum", 0.0), 1U) << "freshly opened";
  EXPECT_EQ(ranges_for("fake__zero.sum", 0.0), 2U) << "does keeping work?";
  EXPECT_EQ(ranges_for("fake__a.sum", 11.0), 1U) << "freshly opened";
  EXPECT_EQ(ranges_for("fake__a.sum", 11.0), 1U) << "it does";
  EXPECT_EQ(ranges_for("fake__zero.sum", 0.0), 1U);
  EXPECT_EQ(ranges_for("fake__zero.sum", 0.0), 1U);
}

TEST_F(FakeCupti, ACounterThatIsNeverZeroShowsThatZerosWereCounted) {
  environment_.set("FAKE_CUPTI_PASSES", "2");
  environment_.set("FAKE_CUPTI_INSTRUCTIONS", "1");
  const auto source = open();
  for (int point = 0; point < 3; ++point) {
    const auto values = count_alone(*source, {"fake__zero.sum"}, replay()).values;
    EXPECT_THAT(values, ElementsAre(Pair("fake__zero.sum", 0.0))) << "and is not asked for";
  }
  EXPECT_EQ(source->effort().ranges, 3U);
}

TEST_F(FakeCupti, AnExecutionOfSeveralPassesThatThrowsLeavesNothingOpen) {
  environment_.set("FAKE_CUPTI_PASSES", "2");
  const auto source = open();
  const auto throws = [] { throw std::runtime_error("launch failed"); };
  EXPECT_THROW(count_alone(*source, {"fake__a.sum"}, {[] {}, throws}), std::runtime_error);
  EXPECT_EQ(calls(), "IErCS()sd");
  EXPECT_THROW(count_alone(*source, {"fake__a.sum"}, {throws, [] {}}), std::runtime_error);
  EXPECT_EQ(calls(), "IErCS()sdErCd");
}

TEST_F(FakeCupti, ARoundForEachConfiguration) {
  environment_.set("FAKE_CUPTI_METRICS_A_PASS", "1");
  CounterPass phase(gpu(), {"fake__serial.sum", "fake__b.sum"}, [&](const Device&) { return open(); });
  ASSERT_EQ(phase.rounds(), 2U);
  std::vector<Measurement> points(3);
  for (std::size_t round = 0; round < 2; ++round) {
    phase.begin(round);
    for (std::size_t i = 0; i < points.size(); ++i) {
      Replay each = replay();
      each.point = i;
      phase.fill(points[i], each);
    }
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    phase.finish(i, points[i]);
    EXPECT_THAT(points[i].counters,
                ElementsAre(Counter{"fake__b.sum", 11.0, "bytes", "cupti range"},
                            Counter{"fake__serial.sum", 1.0 + static_cast<double>(i), "bytes", "cupti range"}));
  }
  EXPECT_EQ(calls(), "IErCS()()()sDdErCS()()()sDd");
}

TEST_F(FakeCupti, WhatIsSetAgainstElapsedTimeIsCountedKernelByKernel) {
  environment_.set("FAKE_CUPTI_PASSES", "2");
  const auto launches = function<void(double)>("fake_cupti_launches");
  const auto of_durations = [&](const std::vector<double>& durations) {
    Replay each = replay();
    each.execute = [this, launches, durations] {
      executed_ += 'x';
      for (const double duration : durations) launches(duration);
    };
    return each;
  };
  {
    const auto source = open();
    const std::string rate = "fake__serial.sum.per_second";
    // Kernels 1 and 2 of all that are decoded, then 3 and 4: each point has its own.
    EXPECT_THAT(count_alone(*source, {rate}, of_durations({100.0, 300.0})).values, ElementsAre(Pair(rate, 1.75)));
    const auto values = count_alone(*source, {"gpu__time_duration.sum", rate}, of_durations({300.0, 100.0})).values;
    EXPECT_THAT(values, ElementsAre(Pair(rate, 3.25), Pair("gpu__time_duration.sum", 400.0)));
    EXPECT_THROW(count_alone(*source, {rate}, of_durations({})), MetricsUnavailable) << "no kernel";
    EXPECT_THAT(message_of<MetricsUnavailable>(
                    [&] { count_alone(*source, {rate}, of_durations(std::vector<double>(1000, 1.0))); }),
                HasSubstr("more than 128 kernels"));
    EXPECT_THAT(count_alone(*source, {"fake__a.sum"}, replay()).values, ElementsAre(Pair("fake__a.sum", 11.0)));
  }
  EXPECT_EQ(executed_, "pxpxpxpxpxpxpxpxpxpx");
  EXPECT_EQ(calls(), "IErCSsSsDdErCSsSsDdErCSsSsDdErCSsSsDdErCS()sS()sDdi");
}

TEST_F(FakeCupti, WhereItIsWantedEachKernelIsCountedBesideTheOperation) {
  const auto launches = function<void(double)>("fake_cupti_launches");
  Replay each = replay();
  each.each_kernel = true;
  each.execute = [&] {
    for (const double duration : {100.0, 300.0}) launches(duration);
  };
  const auto source = open();
  MetricValues counted = count_alone(*source, {"fake__serial.sum"}, each);
  EXPECT_THAT(counted.values, ElementsAre(Pair("fake__serial.sum", 1.0)));
  EXPECT_THAT(counted.of_kernels, ElementsAre(Pair("fake__serial.sum", ElementsAre(2.0, 3.0))));
  counted = count_alone(*source, {"fake__serial.sum.per_second"}, each);
  EXPECT_THAT(counted.of_kernels, ElementsAre(Pair("fake__serial.sum.per_second", ElementsAre(4.0, 5.0)),
                                              Pair("gpu__time_duration.sum", ElementsAre(100.0, 300.0))));
  each.execute = [&] {
    for (int i = 0; i < 1000; ++i) launches(1.0);
  };
  counted = count_alone(*source, {"fake__serial.sum"}, each);
  EXPECT_THAT(counted.values, SizeIs(1)) << "the operation is counted all the same";
  EXPECT_THAT(counted.of_kernels, IsEmpty());
  EXPECT_THAT(counted.kernels_lost, HasSubstr("more than 128 kernels"));
}

TEST_F(FakeCupti, AGraphCannotBeCountedKernelByKernelAndTheNextPointCan) {
  const auto source = open();
  source->begin({"fake__serial.sum.per_second"});
  setenv("FAKE_CUPTI_FAILS", "cuptiRangeProfilerStop=999", 1);
  EXPECT_THAT(message_of<MetricsUnavailable>([&] { source->count(1, replay()); }), HasSubstr("CUDA graph"));
  unsetenv("FAKE_CUPTI_FAILS");
  const auto launches = function<void(double)>("fake_cupti_launches");
  source->count(2, {[] {}, [&] { launches(5.0); }});
  EXPECT_THAT(source->read().at(2).values, ElementsAre(Pair("fake__serial.sum.per_second", 1.0)));
}

TEST_F(FakeCupti, EachFailureIsASentenceWithARemedy) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"cuptiProfilerInitialize=35", "--cap-add=SYS_ADMIN"},
      {"cuptiProfilerGetCounterAvailability=35", "NVreg_RestrictProfilingToAdminUsers=0"},
      {"cuptiRangeProfilerEnable=35", "run as root"},
      {"cuptiRangeProfilerEnable=26", "dcgmi profile --pause"},
      {"cuptiRangeProfilerSetConfig=26", "another profiler holds"},
      {"cuptiRangeProfilerEnable=8", "no memory left for CUPTI's buffers"},
      {"cuptiProfilerGetCounterAvailability=40", "virtual GPU"},
      {"cuptiRangeProfilerEnable=39", "another user of CUPTI"},
      {"cuptiRangeProfilerEnable=14", "another user of CUPTI"},
      {"cuptiProfilerInitialize=38", "older profiling interface"},
      {"cuptiProfilerInitialize=23", "run it by itself"},
      {"cuptiProfilerDeviceSupported=27", "offers no counters"},
      {"cuptiRangeProfilerSetConfig=43", "MIG"},
      {"cuptiProfilerInitialize=41", "confidential computing"},
      {"cuptiProfilerInitialize=999", "driver as new as"},
      {"cuptiProfilerHostInitialize=46", "newer toolkit"},
      {"cuptiRangeProfilerStart=7", "cuptiRangeProfilerStart"},
      {"cuptiRangeProfilerPushRange=7", "cuptiRangeProfilerPushRange"},
      {"cuptiRangeProfilerPopRange=7", "cuptiRangeProfilerPopRange"},
      {"cuptiRangeProfilerStop=7", "cuptiRangeProfilerStop"},
      {"cuptiRangeProfilerDecodeData=7", "FAKE_RESULT, error 7"},
  };
  for (const auto& [failure, sentence] : cases) {
    environment_.set("FAKE_CUPTI_FAILS", failure);
    EXPECT_THAT(count_error(), HasSubstr(sentence)) << failure;
  }
}

TEST(CudaErrors, HaveTheNamesThatCudaGivesThem) {
  for (const cudaError_t error :
       {cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable, cudaErrorDevicesUnavailable,
        cudaErrorMpsConnectionFailed, cudaErrorMpsRpcFailure, cudaErrorMpsServerNotReady, cudaErrorMpsMaxClientsReached,
        cudaErrorMpsMaxConnectionsReached, cudaErrorMpsClientTerminated, cudaErrorSystemNotReady,
        cudaErrorSystemDriverMismatch, cudaErrorInsufficientDriver, cudaErrorLaunchTimeout}) {
    EXPECT_NE(cuda_remedy(cudaGetErrorName(error)), "") << error;
    try {
      check_cuda(error, "cudaMalloc(...)");
      ADD_FAILURE() << "no error";
    } catch (const CudaError& thrown) {
      EXPECT_THAT(thrown.what(), HasSubstr(cuda_remedy(cudaGetErrorName(error))));
    }
  }
}

TEST_F(FakeCupti, WhateverWasOpenedIsClosed) {
  environment_.set("FAKE_CUPTI_FAILS", "cuptiRangeProfilerPushRange=7");
  count_error();
  EXPECT_EQ(calls(), "IErCS(sdi");
}

TEST_F(FakeCupti, AGpuThatCannotBeProfiledSaysWhy) {
  environment_.set("FAKE_CUPTI_VGPU", "1");
  EXPECT_THAT(count_error(), HasSubstr("virtual GPU"));
  unsetenv("FAKE_CUPTI_VGPU");
  environment_.set("FAKE_CUPTI_OLD_GPU", "1");
  EXPECT_THAT(count_error(), HasSubstr("architecture is too old"));
}

TEST_F(FakeCupti, LostRangesAndEndlessPassesAreErrors) {
  environment_.set("FAKE_CUPTI_DROPS", "1");
  EXPECT_THAT(count_error(), HasSubstr("dropped"));
  unsetenv("FAKE_CUPTI_DROPS");
  environment_.set("FAKE_CUPTI_EMPTY", "1");
  EXPECT_THAT(count_error(), HasSubstr("counted nothing"));
  unsetenv("FAKE_CUPTI_EMPTY");
  environment_.set("FAKE_CUPTI_ENDLESS", "1");
  EXPECT_THAT(count_error(), HasSubstr("more than the one pass"));
}

TEST_F(FakeCupti, WhateverIsMissingTheTimesStayAndTheRunIsToldOnce) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"cuptiProfilerGetCounterAvailability=35", "NVreg_RestrictProfilingToAdminUsers=0"},
      {"cuptiProfilerDeviceSupported=27", "offers no counters"},
      {"cuptiRangeProfilerEnable=26", "another profiler holds"},
      {"cuptiRangeProfilerSetConfig=8", "no memory left"},
      {"cuptiRangeProfilerStop=999", "driver as new as"},
  };
  for (const auto& [failure, sentence] : cases) {
    environment_.set("FAKE_CUPTI_FAILS", failure);
    forget();
    CounterPass phase(gpu(), {"fake__a.sum", "fake__b.sum"}, [&](const Device&) { return open(); });
    for (int point = 0; point < 3; ++point) {
      Measurement measurement;
      measurement.make_primary().samples_seconds = {1.0, 2.0};
      go_over(phase, measurement, replay());
      EXPECT_THAT(measurement.primary().samples_seconds, ElementsAre(1.0, 2.0)) << failure;
      EXPECT_THAT(measurement.counters, IsEmpty()) << failure;
      ASSERT_EQ(measurement.absent_counters.size(), 2U) << failure;
      EXPECT_THAT(measurement.absent_counters[0].reason, HasSubstr(sentence)) << failure;
    }
    ASSERT_EQ(phase.warnings().size(), 1U) << failure;
    EXPECT_THAT(phase.warnings()[0], HasSubstr(sentence)) << failure;
    const std::string log = calls();
    const auto refused = failure.starts_with("cuptiRangeProfilerEnable") ? std::count(log.begin(), log.end(), 'E') : 0;
    EXPECT_EQ(std::count(log.begin(), log.end(), 'E'), std::count(log.begin(), log.end(), 'd') + refused)
        << failure << ": what was taken is given back";
  }
}

TEST_F(FakeCupti, OneBadNameAmongGoodOnesCostsItselfAlone) {
  CounterPass phase(gpu(), {"fake__a.sum", "no__such.sum", "fake__nan.sum"}, [&](const Device&) { return open(); });
  Measurement measurement;
  for (int point = 0; point < 2; ++point) go_over(phase, measurement = {}, replay());
  EXPECT_THAT(measurement.counters, ElementsAre(Counter{"fake__a.sum", 11.0, "bytes", "cupti range"}));
  EXPECT_THAT(measurement.absent_counters,
              ElementsAre(AbsentCounter{"fake__nan.sum", "CUPTI counted it but gives no value"},
                          AbsentCounter{"no__such.sum", "FK100 has no metric of this name"}));
  EXPECT_THAT(phase.warnings(), ElementsAre("No no__such.sum on cuda:0: FK100 has no metric of this name."));
}

}  // namespace
}  // namespace gpubench::bench
