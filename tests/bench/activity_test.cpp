// SPDX-License-Identifier: Apache-2.0
// Records of executions summed up and held against a device time, on a fake GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <tuple>

#include "bench/activity/activity_pass.h"
#include "bench/activity/agreement.h"
#include "tests/bench/device_timed.h"
#include "tests/bench/fake_activity_source.h"

namespace gpubench::bench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Executions of one kernel each, of these durations in nanoseconds.
ActivityRecords one_kernel_each(const std::vector<std::uint64_t>& durations) {
  FakeGpu gpu;
  gpu.recording = true;
  for (const std::uint64_t duration : durations) gpu.runs("copy", duration);
  return gpu.kept;
}

TEST(Activity, TheMiddleOfExecutionsWithItsIntervalAndWithoutTheWarmUp) {
  const ActivityCheck check = summarize(one_kernel_each({90000, 5000, 10, 20, 30, 40, 50, 60, 70}), 2, 7).check;
  ASSERT_TRUE(check.seconds) << check.reason;
  EXPECT_EQ(check.executions, 7);
  EXPECT_DOUBLE_EQ(check.seconds->value, 40e-9);
  // Five of the seven are left in; winsorised they are 20 20 30 40 50 60 60, and t(4) is 2.776.
  EXPECT_NEAR(check.seconds->ci95.low, 40e-9 - 2.776445 * 17.320508e-9 * std::sqrt(7.0) / 5.0, 1e-14);
  EXPECT_NEAR(check.seconds->ci95.high, 40e-9 + 2.776445 * 17.320508e-9 * std::sqrt(7.0) / 5.0, 1e-14);
  EXPECT_FALSE(check.span_seconds) << "one kernel's span is its duration";
  ASSERT_THAT(check.kernels, SizeIs(1));
  EXPECT_EQ(check.kernels[0].launches, 1);
  EXPECT_EQ(check.agreement, Agreement::not_compared);
  EXPECT_THAT(check.reason, IsEmpty());
}

TEST(Activity, AllKernelsAndCopiesOfAnExecutionAddUpWhateverTheOrderOfTheirRecords) {
  FakeGpu gpu;
  gpu.recording = true;
  for (int i = 0; i < 8; ++i) {
    gpu.runs("scale", 300);
    gpu.runs("", 500);
    gpu.runs("scale", 300);
    gpu.runs("sum", 200);
  }
  std::reverse(gpu.kept.records.begin(), gpu.kept.records.end());
  const ActivityCheck check = summarize(gpu.kept, 1, 7).check;
  ASSERT_TRUE(check.seconds) << check.reason;
  EXPECT_DOUBLE_EQ(check.seconds->value, 1300e-9);
  ASSERT_TRUE(check.span_seconds);
  EXPECT_DOUBLE_EQ(check.span_seconds->value, 4300e-9) << "with the pauses between";
  ASSERT_THAT(check.kernels, SizeIs(2));
  EXPECT_EQ(check.kernels[0].name, "scale");
  EXPECT_EQ(check.kernels[0].launches, 2);
  EXPECT_EQ(check.kernels[1].name, "sum");
  EXPECT_EQ(check.copies, 1);
}

TEST(Activity, KernelsSideBySideMayStartInAnyOrder) {
  ActivityRecords activity;
  const auto add = [&](const char* name, std::uint64_t start, std::uint64_t end) {
    activity.records.push_back({KernelLaunch{}, start, end});
    activity.records.back().kernel->name = name;
  };
  for (std::uint64_t i = 1; i <= 6; ++i) {
    add(i % 2 == 0 ? "left" : "right", 1000 * i, 1000 * i + 100);
    add(i % 2 == 0 ? "right" : "left", 1000 * i + 10, 1000 * i + 60);
  }
  const ActivityCheck check = summarize(activity, 0, 6).check;
  ASSERT_TRUE(check.seconds) << check.reason;
  EXPECT_DOUBLE_EQ(check.seconds->value, 150e-9);
  EXPECT_DOUBLE_EQ(check.span_seconds->value, 100e-9);
}

/// The reason for which records give nothing.
std::string why_not(const ActivityRecords& activity, std::int64_t executions) {
  const ActivityCheck check = summarize(activity, 0, executions).check;
  EXPECT_FALSE(check.seconds);
  EXPECT_THAT(check.kernels, IsEmpty());
  return check.reason;
}

TEST(Activity, RecordsThatAreNotThoseOfTheExecutionsGiveNothing) {
  EXPECT_THAT(why_not({}, 3), HasSubstr("left no record"));
  ActivityRecords activity = one_kernel_each({10, 10, 10});
  EXPECT_THAT(why_not(activity, 2), HasSubstr("its 2 executions left 3 records"));
  activity.dropped = 4;
  EXPECT_THAT(why_not(activity, 3), HasSubstr("4 records of its executions were lost"));
  activity.dropped = 0;
  activity.records[1].start_nanoseconds = activity.records[1].end_nanoseconds + 1;
  EXPECT_THAT(why_not(activity, 3), HasSubstr("ends before it starts"));
  activity.records[1].start_nanoseconds = activity.records[1].end_nanoseconds = 0;
  EXPECT_THAT(why_not(activity, 3), HasSubstr("have no time"));
  activity = one_kernel_each({10, 10, 10});
  activity.records[2].kernel->name = "another";
  EXPECT_THAT(why_not(activity, 3), HasSubstr("do not all run the same kernels"));
  activity = one_kernel_each({10, 10, 10});
  activity.records[1].end_nanoseconds = activity.records[2].start_nanoseconds + 1;
  EXPECT_THAT(why_not(activity, 3), HasSubstr("1 of its 3 executions began before the one before had ended"));
}

TEST(Activity, AFewExecutionsThatBeginTooEarlyAreLeftOut) {
  ActivityRecords activity = one_kernel_each(std::vector<std::uint64_t>(20, 10));
  activity.records[7].end_nanoseconds = activity.records[8].start_nanoseconds + 1;
  const ActivityCheck check = summarize(activity, 0, 20).check;
  ASSERT_TRUE(check.seconds) << check.reason;
  EXPECT_EQ(check.executions, 19);
}

/// Records as on an H200: 101 of them in steps of 32 ns, scattered by 60 ns, all of one point off by what launch
/// shapes differ in, up to 50 ns (docs/results/h200/agreement.md).
TEST(Agreement, HardlyACorrectPointIsAFalseAlarm) {
  std::mt19937 random(1);
  std::normal_distribution<double> scatter(0.0, 60.0);
  std::uniform_real_distribution<double> shape(-50.0, 50.0);
  constexpr int points = 1000;
  int alarms = 0;
  for (int point = 0; point < points; ++point) {
    const double nanoseconds = 2800.0 + shape(random);
    std::vector<std::uint64_t> durations(101);
    for (auto& duration : durations)
      duration = 32 * static_cast<std::uint64_t>(std::lround((nanoseconds + scatter(random)) / 32.0));
    ActivityCheck check = summarize(one_kernel_each(durations), 0, 101).check;
    check.recording_seconds = Estimate{0.8e-6, {0.79e-6, 0.81e-6}};
    compare(check, timed(2.0e-6, 0.5e-6));
    if (check.agreement != Agreement::agrees) ++alarms;
  }
  EXPECT_LE(alarms, points / 100);
}

Device gpu() {
  Device device;
  device.id = "cuda:0";
  device.kind = DeviceKind::gpu;
  return device;
}

ActivityPass::Opener opener(FakeGpu& gpu) {
  return [&gpu](const Device&) { return std::make_unique<FakeActivitySource>(gpu); };
}

Replay replay(FakeGpu& gpu, std::uint64_t nanoseconds) {
  return {[] { FAIL() << "warm executions need no preparation"; },
          [&gpu, nanoseconds] {
            ++gpu.executions;
            gpu.runs("copy", nanoseconds);
          }};
}

TEST(ActivityPass, RecordsDozensOfExecutionsAfterAWarmUpAndCompares) {
  FakeGpu fake;
  ActivityPass phase(gpu(), opener(fake));
  Measurement measurement = timed(2.0e-6, 0.5e-6);
  const Measurement before = measurement;
  phase.fill(measurement, replay(fake, 2500));
  ASSERT_TRUE(measurement.activity);
  const ActivityCheck check = *measurement.activity;
  EXPECT_EQ(check.agreement, Agreement::agrees) << check.reason;
  EXPECT_EQ(check.source, "fake");
  EXPECT_GE(check.executions, 20);
  EXPECT_GT(fake.recorded, check.executions) << "the first recorded ones are a warm-up, too";
  EXPECT_GT(fake.executions, fake.recorded) << "and some run before any is recorded";
  EXPECT_THAT(phase.warnings(), IsEmpty());
  EXPECT_THAT(measurement.kernels, SizeIs(1));
  measurement.activity.reset();
  measurement.kernels.clear();
  measurement.kernel_order.clear();
  EXPECT_EQ(measurement, before) << "times stay";
}

/// As on a device where recording adds 0.3 us to each kernel, and kernels have 0.5 us beside their work.
Replay with_known_kernel(Replay replay, FakeGpu& gpu) {
  replay.known_kernel = [&gpu] {
    return KnownKernel{[&gpu] { gpu.runs("known", 1500); },
                       [&gpu](std::int64_t executions) {
                         return [&gpu, executions] {
                           for (std::int64_t i = 0; i < executions; ++i) gpu.runs("known", 1500);
                         };
                       },
                       Estimate{1e-6, {1e-6, 1e-6}}};
  };
  return replay;
}

TEST(ActivityPass, MeasuresWhatRecordingAddsAndTakesItOff) {
  FakeGpu fake;
  fake.recording_adds = 300;
  ActivityPass phase(gpu(), opener(fake));
  Measurement measurement = timed(2.0e-6, 0.5e-6);
  phase.fill(measurement, with_known_kernel(replay(fake, 2500), fake));
  ASSERT_TRUE(measurement.activity->recording_seconds) << measurement.activity->recording_reason;
  EXPECT_NEAR(measurement.activity->recording_seconds->value, 0.8e-6, 1e-12);
  EXPECT_EQ(measurement.activity->agreement, Agreement::agrees);
  ASSERT_THAT(measurement.kernels, SizeIs(1));
  EXPECT_NEAR(measurement.kernels[0].seconds->value, 2.0e-6, 1e-12) << "its work alone";
  measurement = timed(2.3e-6, 0.5e-6);
  phase.fill(measurement, with_known_kernel(replay(fake, 2500), fake));
  EXPECT_EQ(measurement.activity->agreement, Agreement::disagrees) << "a device time that is 15 % off";
  ActivityPass without(gpu(), opener(fake));
  without.fill(measurement, replay(fake, 2500));
  EXPECT_FALSE(measurement.activity->recording_seconds);
  EXPECT_THAT(measurement.activity->recording_reason, HasSubstr("no kernel of known length"));
}

TEST(ActivityPass, RecordsThatManyBlocksLengthenAreTakenOneByOne) {
  FakeGpu fake;
  fake.recording_adds = 300;
  ActivityPass phase(gpu(), opener(fake));
  Measurement measurement = timed(100e-6, 0.5e-6);
  measurement.launches = Launches{1, 400'000, 400'000};
  phase.fill(measurement, with_known_kernel(replay(fake, 100'500), fake));  // measures what recording adds
  EXPECT_EQ(measurement.activity->agreement, Agreement::agrees);
  fake.blocks_add = 8000;
  for (const double error : {1.0, 0.95, 1.05}) {
    measurement = timed(error * 100e-6, 0.5e-6);
    measurement.launches = Launches{1, 400'000, 400'000};
    phase.fill(measurement, with_known_kernel(replay(fake, 100'500), fake));
    EXPECT_TRUE(measurement.activity->one_by_one);
    EXPECT_EQ(measurement.activity->agreement, error == 1.0 ? Agreement::agrees : Agreement::disagrees) << error;
  }
  measurement = timed(100e-6, 0.5e-6);
  measurement.launches = Launches{1, 100, 0};
  phase.fill(measurement, with_known_kernel(replay(fake, 100'500), fake));
  EXPECT_FALSE(measurement.activity->one_by_one) << "no block starts later";
}

/// Goes over one point as a run does, as often as the pass wants it. Each time its kernel takes the next of these.
Measurement looked_at(FakeGpu& fake, Measurement measurement, const std::vector<std::uint64_t>& nanoseconds) {
  ActivityPass phase(gpu(), opener(fake));
  for (std::size_t round = 0; round < phase.rounds(); ++round) {
    phase.begin(round);
    if (!phase.wants(0, measurement)) continue;
    if (nanoseconds.at(round) == 0)
      phase.fill(measurement, {[] {}, [] { throw std::runtime_error("launch failed"); }});
    else
      phase.fill(measurement, with_known_kernel(replay(fake, nanoseconds.at(round)), fake));
  }
  return measurement;
}

TEST(ActivityPass, AContradictionIsSetUpAndLookedAtAnewUntilALookAgrees) {
  FakeGpu fake;
  fake.recording_adds = 300;
  const auto looks = [&](double device_seconds, const std::vector<std::uint64_t>& nanoseconds) {
    const ActivityCheck check = *looked_at(fake, timed(device_seconds, 0.5e-6), nanoseconds).activity;
    EXPECT_DOUBLE_EQ(check.looks.back().seconds, check.seconds->value);
    return std::pair(check.agreement, check.looks.size());
  };
  EXPECT_EQ(looks(20e-6, {20'500, 0, 0}), std::pair(Agreement::agrees, std::size_t{1}));
  EXPECT_EQ(looks(20e-6, {21'500, 20'600, 0}), std::pair(Agreement::agrees, std::size_t{2}));
  EXPECT_EQ(looks(20e-6, {21'500, 21'600, 20'400}), std::pair(Agreement::agrees, std::size_t{3}));
  EXPECT_EQ(looks(21e-6, {20'500, 20'400, 20'600}), std::pair(Agreement::disagrees, std::size_t{3}));
}

TEST(ActivityPass, WhatIsLongerOnlyWhileItIsRecordedIsNoContradiction) {
  FakeGpu fake;
  fake.recording_adds = 300;
  ActivityPass phase(gpu(), opener(fake));
  Replay chained = with_known_kernel(replay(fake, 20'500), fake);
  std::uint64_t elapsed = 0;  // what lies between kernels is part of their overhead
  chained.now = [&] { return 1e-9 * static_cast<double>(elapsed); };
  std::uint64_t recording_evicts = 0;
  chained.chain = [&](std::int64_t executions) {
    return [&, executions] {
      for (std::int64_t i = 0; i < executions; ++i) {
        fake.runs("copy", 20'500 + (fake.recording ? recording_evicts : 0));
        elapsed += 20'500;
      }
    };
  };
  const auto judged = [&](double device_seconds) {
    Measurement measurement = timed(device_seconds, 0.5e-6);
    phase.fill(measurement, chained);
    return *measurement.activity;
  };
  EXPECT_EQ(judged(19e-6).agreement, Agreement::disagrees) << "both say that the device time is 5 % off";
  EXPECT_NEAR(judged(19e-6).looks.at(0).unrecorded_seconds.value_or(0.0), 20.5e-6, 1e-12);
  recording_evicts = 2'000;
  EXPECT_EQ(judged(20e-6).agreement, Agreement::agrees);
  EXPECT_EQ(judged(21e-6).agreement, Agreement::disagrees) << "the host's clock says so";
  EXPECT_EQ(judged(19e-6).agreement, Agreement::disagrees);
}

TEST(ActivityPass, TheOverheadOfThePeriodWithoutRecordsIsThatOfNow) {
  FakeGpu fake;
  fake.recording_adds = 300;
  const auto judged = [&](std::optional<double> overhead_now) {
    ActivityPass phase(gpu(), opener(fake));
    Replay chained = with_known_kernel(replay(fake, 2'900), fake);
    std::uint64_t elapsed = 0;
    chained.now = [&] { return 1e-9 * static_cast<double>(elapsed); };
    chained.chain = [&](std::int64_t executions) {
      return [&, executions] {
        for (std::int64_t i = 0; i < executions; ++i) {
          fake.runs("copy", 2'900);
          elapsed += 2'900;
        }
      };
    };
    chained.kernel_overhead = [=] { return overhead_now; };
    Measurement measurement = timed(2e-6, 0.5e-6);
    phase.fill(measurement, chained);
    EXPECT_EQ(measurement.activity->looks.at(0).unrecorded_overhead_seconds, overhead_now);
    return measurement.activity->agreement;
  };
  EXPECT_EQ(judged(std::nullopt), Agreement::disagrees) << "0.4 us more than the device time and its overhead";
  EXPECT_EQ(judged(0.5e-6), Agreement::disagrees);
  EXPECT_EQ(judged(0.85e-6), Agreement::agrees);
}

TEST(ActivityPass, ShortKernelsAreTimedWithoutRecordsToo) {
  FakeGpu fake;
  fake.recording_adds = 300;
  ActivityPass phase(gpu(), opener(fake));
  for (const double seconds : {2e-6, 20e-6}) {
    const auto nanoseconds = static_cast<std::uint64_t>(std::llround(1e9 * seconds)) + 500;
    Replay chained = with_known_kernel(replay(fake, nanoseconds), fake);
    chained.chain = [&](std::int64_t executions) {
      return [&, executions] {
        for (std::int64_t i = 0; i < executions; ++i) fake.runs("copy", nanoseconds);
      };
    };
    Measurement measurement = timed(seconds, 0.5e-6);
    phase.fill(measurement, chained);
    EXPECT_EQ(measurement.activity->agreement, Agreement::agrees);
    EXPECT_EQ(measurement.activity->looks.at(0).unrecorded_seconds.has_value(), seconds < 10e-6) << seconds;
  }
}

/// How many executions chains without records hold, which is what they cost.
TEST(ActivityPass, ChainsWithoutRecordsAreShort) {
  FakeGpu fake;
  fake.recording_adds = 300;
  for (const double seconds : {2e-6, 50e-6, 5e-3}) {
    ActivityPass phase(gpu(), opener(fake));
    Replay chained = with_known_kernel(replay(fake, static_cast<std::uint64_t>(2e9 * seconds)), fake);
    std::int64_t executed = 0;
    chained.chain = [&](std::int64_t executions) {
      return [&, executions] {
        for (std::int64_t i = 0; i < executions; ++i) fake.runs("copy", static_cast<std::uint64_t>(2e9 * seconds));
        if (!fake.recording) executed += executions;
      };
    };
    chained.now = [] { return 0.0; };
    Measurement measurement = timed(seconds, 0.5e-6);
    phase.fill(measurement, chained);
    EXPECT_TRUE(measurement.activity->looks.at(0).unrecorded_seconds);
    EXPECT_GT(executed, 0);
    EXPECT_LT(static_cast<double>(executed) * seconds, std::max(0.1, 50.0 * seconds));
  }
}

TEST(ActivityPass, ALaterLookThatFailsLeavesTheFirst) {
  FakeGpu fake;
  fake.recording_adds = 300;
  const ActivityCheck check = *looked_at(fake, timed(20e-6, 0.5e-6), {21'500, 0, 21'500}).activity;
  EXPECT_EQ(check.agreement, Agreement::disagrees) << check.reason;
  EXPECT_THAT(check.looks, SizeIs(2));
}

TEST(ActivityPass, AnotherClockIsNoContradiction) {
  FakeGpu fake;
  fake.recording_adds = 300;
  ActivityPass phase(gpu(), opener(fake));
  Replay slow = with_known_kernel(replay(fake, 110'000), fake);
  slow.clock_notes = [] { return ClockNotes{[] {}, [] {}, [] { return 1.8e9; }}; };
  Measurement measurement = timed(100e-6, 0.5e-6);
  measurement.clock_hz = 1.98e9;
  phase.fill(measurement, slow);
  EXPECT_EQ(measurement.activity->clock_hz, 1.8e9);
  EXPECT_EQ(measurement.activity->agreement, Agreement::agrees);
  measurement = timed(90e-6, 0.5e-6);
  measurement.clock_hz = 1.98e9;
  phase.fill(measurement, slow);
  EXPECT_EQ(measurement.activity->agreement, Agreement::disagrees) << "the clock does not explain that much";
}

TEST(ActivityPass, AnOverheadThatHasGrownSinceIsNoContradiction) {
  FakeGpu fake;
  fake.recording_adds = 300;
  ActivityPass phase(gpu(), opener(fake));
  // As once a process has used a second stream: the device time is without it, and records are what they were.
  for (const double overhead : {0.5e-6, 0.9e-6}) {
    Measurement measurement = timed(2.0e-6, overhead);
    phase.fill(measurement, with_known_kernel(replay(fake, 2500), fake));
    EXPECT_EQ(measurement.activity->agreement, Agreement::agrees) << overhead;
  }
}

TEST(ActivityPass, TakesOffWhatLiesBetweenItsRecordsAlone) {
  FakeGpu fake;
  fake.recording_adds = 300;
  ActivityPass phase(gpu(), opener(fake));
  Replay with_pauses = with_known_kernel(replay(fake, 2500), fake);
  with_pauses.chain = [&fake](std::int64_t executions) {
    return [&fake, executions] {
      for (std::int64_t i = 0; i < executions; ++i) {
        fake.runs("copy", 2500);
        fake.now += 1200;  // more than the 1000 that follow every kernel
      }
    };
  };
  Measurement measurement = timed(3.2e-6, 0.5e-6);
  phase.fill(measurement, with_pauses);
  ASSERT_TRUE(measurement.activity->gap_seconds && measurement.activity->usual_gap_seconds);
  EXPECT_NEAR(measurement.activity->gap_seconds->value, 2.2e-6, 1e-12);
  EXPECT_NEAR(measurement.activity->usual_gap_seconds->value, 1.0e-6, 1e-12);
  EXPECT_EQ(measurement.activity->agreement, Agreement::agrees) << "3.2 us from kernel to kernel, 2 of them recorded";
  measurement = timed(2.0e-6, 0.5e-6);
  phase.fill(measurement, with_pauses);
  EXPECT_EQ(measurement.activity->agreement, Agreement::disagrees);
  with_pauses.chain = nullptr;
  phase.fill(measurement, with_pauses);
  EXPECT_FALSE(measurement.activity->gap_seconds) << "the host's pauses say nothing";
}

TEST(ActivityPass, SumsUpTheKernelsCopiesAndFillsOfAnOperation) {
  FakeGpu fake;
  ActivityPass phase(gpu(), opener(fake));
  Measurement measurement = timed(2.0e-6, 0.5e-6);
  phase.fill(measurement, {[] {},
                           [&] {
                             fake.runs("scan", 3000);
                             fake.runs("sort", 5000);
                             fake.runs("scan", 3000);
                             fake.runs("", 700);
                           }});
  ASSERT_THAT(measurement.kernels, SizeIs(3));
  const auto& [scan, sort, copy] = std::tie(measurement.kernels[0], measurement.kernels[1], measurement.kernels[2]);
  EXPECT_EQ(scan.launch.launches, 2);
  EXPECT_NEAR(scan.seconds->value, 6e-6, 1e-15);
  EXPECT_EQ(sort.launch.name, "sort");
  EXPECT_NEAR(sort.seconds->value, 5e-6, 1e-15);
  EXPECT_EQ(copy.kind, CommandKind::copy);
  EXPECT_EQ(copy.launch.name, "copy");
  EXPECT_EQ(measurement.kernel_order, (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_THAT(measurement.kernel_order_reason, IsEmpty());
}

TEST(ActivityPass, OfVeryManyKernelsSomeAreNamedAndTheRestIsSummedUp) {
  FakeGpu fake;
  ActivityPass phase(gpu(), opener(fake));
  Measurement measurement = timed(2.0e-6, 0.5e-6);
  measurement.launches = Launches{10'000, 10'000, 0};
  phase.fill(measurement, {[] {},
                           [&] {
                             for (int i = 0; i < 10'000; ++i) fake.runs("made at run time " + std::to_string(i), 100);
                           }});
  ASSERT_THAT(measurement.kernels, SizeIs(max_kernel_groups + 1)) << measurement.activity->reason;
  EXPECT_LT(measurement.activity->executions, 21) << "the warm-up goes by time";
  const KernelGroup& rest = measurement.kernels.back();
  EXPECT_EQ(rest.kind, CommandKind::others);
  EXPECT_EQ(rest.launch.launches, 10'000 - static_cast<std::int64_t>(max_kernel_groups));
  EXPECT_THAT(rest.launch.name, HasSubstr("9936 other kernels"));
  EXPECT_NEAR(rest.seconds->value, 993.6e-6, 1e-9);
  EXPECT_THAT(measurement.kernel_order, IsEmpty());
  EXPECT_THAT(measurement.kernel_order_reason, HasSubstr("launches 10000 kernels"));
}

TEST(ActivityPass, OfKernelsSideBySideTheOrderIsNotKnown) {
  ActivityRecords activity;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    activity.records.push_back({KernelLaunch{}, 1000 * i, 1000 * i + 100});
    activity.records.push_back({KernelLaunch{}, 1000 * i + 50, 1000 * i + 60});
  }
  const RecordedExecution execution = summarize(activity, 0, 3);
  EXPECT_THAT(execution.kernels, SizeIs(1));
  EXPECT_THAT(execution.kernel_order, IsEmpty());
  EXPECT_THAT(execution.kernel_order_reason, HasSubstr("side by side"));
}

TEST(ActivityPass, WithoutASourceThePointsSayWhyAndNothingRuns) {
  int opened = 0;
  ActivityPass phase(gpu(), [&](const Device&) -> std::unique_ptr<ActivitySource> {
    ++opened;
    throw MetricsUnavailable("CUPTI cannot be loaded");
  });
  for (int point = 0; point < 3; ++point) {
    Measurement measurement = timed(2.0e-6, 0.5e-6);
    phase.fill(measurement, {[] {}, [] { FAIL() << "executed"; }});
    ASSERT_TRUE(measurement.activity);
    EXPECT_EQ(measurement.activity->reason, "CUPTI cannot be loaded");
    EXPECT_EQ(measurement.activity->agreement, Agreement::not_compared);
  }
  EXPECT_EQ(opened, 1);
}

TEST(ActivityPass, ARefusalDoesNotSpoilTheNextPoint) {
  FakeGpu fake;
  ActivityPass phase(gpu(), opener(fake));
  Measurement measurement = timed(2.0e-6, 0.5e-6);
  fake.error = "another profiler";
  phase.fill(measurement, replay(fake, 2500));
  EXPECT_EQ(measurement.activity->reason, "another profiler");
  fake.error.clear();
  phase.fill(measurement, replay(fake, 2500));
  EXPECT_EQ(measurement.activity->agreement, Agreement::agrees);
  phase.fill(measurement, {[] {}, [] { throw std::runtime_error("launch failed"); }});
  EXPECT_EQ(measurement.activity->reason, "launch failed");
  EXPECT_FALSE(measurement.activity->seconds);
}

TEST(ActivityPass, AnOperationThatRunsNothingSaysSo) {
  FakeGpu fake;
  ActivityPass phase(gpu(), opener(fake));
  Measurement measurement = timed(2.0e-6, 0.5e-6);
  phase.fill(measurement, {[] {}, [] {}});
  EXPECT_THAT(measurement.activity->reason, HasSubstr("left no record"));
}

TEST(ActivityPass, AColdTimeIsNotComparedWithWarmExecutions) {
  FakeGpu fake;
  ActivityPass phase(gpu(), opener(fake));
  Measurement measurement = timed(2.0e-6, 0.5e-6);
  measurement.cache_state = "cold";
  phase.fill(measurement, {[] { FAIL(); }, [] { FAIL(); }});
  EXPECT_THAT(measurement.activity->reason, HasSubstr("timed with a cold one"));
}

TEST(ActivityPass, ACpuHasNoRecords) {
  Device cpu;
  cpu.id = "cpu";
  ActivityPass phase(cpu);
  Measurement measurement = timed(2.0e-6, 0.5e-6);
  phase.fill(measurement, {[] { FAIL(); }, [] { FAIL(); }});
  EXPECT_THAT(measurement.activity->reason, HasSubstr("a CPU has no activity records"));
}

}  // namespace
}  // namespace gpubench::bench
