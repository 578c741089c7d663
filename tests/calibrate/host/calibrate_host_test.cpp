// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "calibrate/calibrate.h"
#include "calibrate/check/health.h"
#include "calibrate/host/calibration_context.h"
#include "gpu/devices.h"
#include "tests/matchers.h"

namespace gpubench::calibrate {
namespace {

TEST(LimitShown, IsOfAsManyUnitsAsTheRateShows) {
  EXPECT_DOUBLE_EQ(*limit_shown(1.98, 1.0, 2), 2.0);
  EXPECT_DOUBLE_EQ(*limit_shown(1.2, 1.0, 2), 2.0);
  EXPECT_DOUBLE_EQ(*limit_shown(2.9, 1.0, 4), 3.0);
  EXPECT_DOUBLE_EQ(*limit_shown(2.05, 1.0, 4), 2.0);
}

TEST(LimitShown, OneOfPerhapsTwoShowsNothing) {
  EXPECT_FALSE(limit_shown(1.0, 1.0, 2));
  EXPECT_FALSE(limit_shown(0.3, 1.0, 2));
  EXPECT_DOUBLE_EQ(*limit_shown(0.3, 1.0, 1), 1.0);  // there cannot be another
}

TEST(LimitShown, IsNoMoreThanThereCanBe) {
  EXPECT_DOUBLE_EQ(*limit_shown(2.5, 1.0, 2), 2.0);
  EXPECT_FALSE(limit_shown(2.5, 1.0, 0));
  EXPECT_FALSE(limit_shown(2.5, 0.0, 2));
}

HostProbe probe_of(std::vector<double> values, std::vector<double> clocks = {}) {
  HostProbe probe;
  probe.ceiling.resource = "fp32";
  probe.ceiling.unit = "FLOP/s";
  probe.ceiling.group = CeilingGroup::compute;
  probe.cores = 2;
  probe.units = {32.0, 2, "32 FLOP in a clock"};
  probe.values = std::move(values);
  probe.clocks = std::move(clocks);
  return probe;
}

TEST(HostCeiling, TakesTheClockOfTheMiddleSample) {
  const Ceiling ceiling = ceiling_of(probe_of({300.0, 250.0, 200.0}, {9.0, 2.0, 7.0}));
  EXPECT_EQ(ceiling.value, 250.0);
  EXPECT_EQ(ceiling.repeats, 3);
  EXPECT_EQ(ceiling.clock_hz, 2.0);
  EXPECT_EQ(ceiling.theoretical_limit, 2 * 2 * 32.0 * 2.0);
  EXPECT_EQ(ceiling.rate_per_clock, 250.0 / 4.0);
  EXPECT_THAT(ceiling.method, HasSubstr("2 cores x 2 units x 32 FLOP in a clock x clock"));
  EXPECT_EQ(*ceiling_of(probe_of({4.0, 1.0, 3.0, 2.0}, {1.0, 1.0, 5.0, 7.0})).clock_hz, 6.0);
}

TEST(HostCeiling, WithoutAClockForEachSampleHasNone) {
  const Ceiling ceiling = ceiling_of(probe_of({300.0, 250.0, 200.0}, {9.0}));
  EXPECT_FALSE(ceiling.clock_hz);
  EXPECT_FALSE(ceiling.theoretical_limit);
  EXPECT_FALSE(ceiling.rate_per_clock);
}

TEST(HostCeiling, AboveItsLimitIsRejected) {
  const Ceiling right = ceiling_of(probe_of({256.0}, {2.0}));
  EXPECT_FALSE(why_rejected(right));
  const Ceiling wrong = ceiling_of(probe_of({260.0}, {2.0}));
  ASSERT_TRUE(why_rejected(wrong));
  EXPECT_THAT(*why_rejected(wrong), HasSubstr("101.56 % of the theoretical limit"));
}

TEST(HostCeiling, OfALatencyCountsCycles) {
  HostProbe probe = probe_of({2e-9}, {3e9});
  probe.ceiling.unit = "s";
  probe.ceiling.group = CeilingGroup::latency;
  const Ceiling ceiling = ceiling_of(probe);
  EXPECT_DOUBLE_EQ(*ceiling.cycles, 6.0);
  EXPECT_FALSE(ceiling.theoretical_limit);
}

TEST(HostCeiling, OfDramIsNoPropertyOfCores) {
  HostProbe probe = probe_of({2e10}, {3e9});
  probe.per_core = false;
  const Ceiling ceiling = ceiling_of(probe);
  EXPECT_EQ(ceiling.clock_hz, 3e9);
  EXPECT_FALSE(ceiling.rate_per_clock);
  EXPECT_FALSE(ceiling.theoretical_limit);
}

TEST(HostCeiling, SaysWhenOthersHadTheCores) {
  HostProbe probe = probe_of({1.0});
  probe.shares = {0.5, 0.6, 0.99};
  ASSERT_EQ(ceiling_of(probe).caveats.size(), 1U);
  EXPECT_THAT(ceiling_of(probe).caveats[0], HasSubstr("60 % of their cores"));
  probe.shares = {0.95};
  EXPECT_TRUE(ceiling_of(probe).caveats.empty());
}

TEST(BestCeilings, KeepTheFastestWay) {
  std::vector<HostProbe> probes = {probe_of({1.0, 2.0, 3.0}), probe_of({2.0, 3.0, 4.0}), probe_of({})};
  probes[1].ceiling.shape = "fast";
  probes[2].ceiling.resource = "fp64";
  const auto ceilings = best_ceilings(probes);
  ASSERT_EQ(ceilings.size(), 1U);
  EXPECT_EQ(ceilings[0].resource, "fp32");
  EXPECT_EQ(ceilings[0].value, 3.0);
  EXPECT_EQ(ceilings[0].shape, "fast");
}

TEST(BestOf, PrefersReadingsWithASteadyClock) {
  int call = 0;
  const std::vector<Reading> readings = {
      {9.0, 1.0, 0.0, false}, {3.0, 1.0, 0.0, true}, {8.5, 1.0, 0.0, true}, {8.0, 1.0, 0.0, false}};
  const auto next = [&] { return readings[static_cast<std::size_t>(call++)]; };
  EXPECT_EQ(best_of(4, next).value, 8.5);
}

TEST(BestOf, ASteadyReadingThatWasDisturbedIsNotTheBest) {
  int calls = 0;
  EXPECT_EQ(best_of(2,
                    [&] {
                      return ++calls == 1 ? Reading{1.0, 1.0, 0.0, true} : Reading{9.0, 1.0, 0.0, false};
                    })
                .value,
            9.0);
  EXPECT_EQ(calls, 6);
}

TEST(BestOf, GoesOnForAWhileWhereNoneIsSteady) {
  int calls = 0;
  EXPECT_EQ(best_of(2, [&] { return Reading{1.0 + ++calls, 1.0, 0.0, false}; }).value, 7.0);
  EXPECT_EQ(calls, 6);
  calls = 0;
  EXPECT_EQ(best_of(2, [&] { return Reading{1.0 * ++calls, 1.0, 0.0, calls == 3}; }).value, 3.0);
  EXPECT_EQ(calls, 3);
}

TEST(HostCeiling, LeavesOutRepeatsDuringWhichTheClockChanged) {
  HostProbe probe = probe_of({100.0, 200.0, 900.0, 300.0, 800.0}, {1.0, 2.0, 9.0, 3.0, 9.0});
  probe.steady = {true, true, false, true, false};
  const Ceiling ceiling = ceiling_of(probe);
  EXPECT_EQ(ceiling.value, 200.0);
  EXPECT_EQ(ceiling.clock_hz, 2.0);
  EXPECT_EQ(ceiling.repeats, 3);
  ASSERT_EQ(ceiling.caveats.size(), 1U);
  EXPECT_THAT(ceiling.caveats[0], HasSubstr("2 of 5 repeats"));
  probe.steady = {true, true, false, false, false};  // too few to go by
  EXPECT_EQ(ceiling_of(probe).value, 300.0);
  EXPECT_TRUE(ceiling_of(probe).caveats.empty());
}

TEST(OtherLoad, SaysWhoTookTheTime) {
  const LoadReading before{{}, 7.0, 8.0, 9.0};
  EXPECT_FALSE(load_warning(before, {{}, 107.0, 8.0, 109.0}, 99.0));
  EXPECT_FALSE(load_warning(before, before, 0.0));
  EXPECT_THAT(*load_warning(before, {{}, 157.0, 8.0, 59.0}, 100.0), HasSubstr("other processes took 25 %"));
  EXPECT_THAT(*load_warning(before, {{}, 107.0, 58.0, 59.0}, 100.0), HasSubstr("kept 25 % of the processors' time"));
}

TEST(HostCalibration, EveryCeilingSaysWhatItIs) {
  double last = 0.0;
  CalibrationOptions options;
  options.progress = [&](std::string_view, double done) {
    EXPECT_GE(done, last - 1e-9);
    last = done;
  };
  const Calibration calibration = calibrate(bench::host_device(), options);
  EXPECT_EQ(last, 1.0);
  EXPECT_EQ(calibration.mode, "quick");
  std::set<std::string> names;
  for (const auto& ceiling : calibration.ceilings) {
    SCOPED_TRACE(ceiling.resource);
    EXPECT_TRUE(names.insert(ceiling.resource).second) << "twice";
    EXPECT_FALSE(why_rejected(ceiling));
    EXPECT_TRUE(ceiling.group);
    EXPECT_FALSE(ceiling.method.empty());
    EXPECT_FALSE(ceiling.shape.empty());
    EXPECT_LE(ceiling.ci95.low, ceiling.value);
    EXPECT_GE(ceiling.ci95.high, ceiling.value);
    EXPECT_GE(ceiling.repeats, 3);
    if (ceiling.unit != "s") {
      EXPECT_GT(ceiling.work_per_run.value_or(0.0), 0.0);
      EXPECT_EQ(ceiling.work_unit + "/s", ceiling.unit);
    }
  }
  for (const auto& one : calibration.absent) {
    EXPECT_FALSE(names.contains(one.resource)) << one.resource << " is both there and absent";
    EXPECT_FALSE(one.reason.empty()) << one.resource;
    names.insert(one.resource);
  }
  for (const char* resource : {"launch", "fp32", "fp64", "gemm-fp32", "gemm-fp64", "dram-read", "dram-write",
                               "dram-copy", "dram-triad", "l1", "l2", "l3"})
    EXPECT_TRUE(names.contains(resource)) << resource;
  for (const auto& level : calibration.levels) EXPECT_NE(calibration.find(level.resource), nullptr);
}

}  // namespace
}  // namespace gpubench::calibrate
