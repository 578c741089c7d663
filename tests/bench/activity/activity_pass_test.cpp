// SPDX-License-Identifier: Apache-2.0
// The pass that has executions recorded, on a fake GPU.
#include "bench/activity/activity_pass.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <tuple>

#include "tests/bench/device_timed.h"
#include "tests/bench/fake_activity_source.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

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

TEST(ActivityPass, RecordsDozensOfExecutionsAfterAWarmUp) {
  FakeGpu fake;
  ActivityPass phase(gpu(), opener(fake));
  Measurement measurement = timed(2.0e-6, 0.5e-6);
  const Measurement before = measurement;
  phase.fill(measurement, replay(fake, 2500));
  ASSERT_TRUE(measurement.activity);
  const ActivityCheck check = *measurement.activity;
  EXPECT_THAT(check.reason, IsEmpty());
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
  ASSERT_THAT(measurement.kernels, SizeIs(1));
  EXPECT_NEAR(measurement.kernels[0].seconds->value, 2.0e-6, 1e-12) << "its work alone";
  ActivityPass without(gpu(), opener(fake));
  without.fill(measurement, replay(fake, 2500));
  EXPECT_FALSE(measurement.activity->recording_seconds);
  EXPECT_THAT(measurement.activity->recording_reason, HasSubstr("no kernel of known length"));
}

TEST(ActivityPass, NotesTheClockWhileItRecords) {
  FakeGpu fake;
  fake.recording_adds = 300;
  ActivityPass phase(gpu(), opener(fake));
  Replay slow = with_known_kernel(replay(fake, 110'000), fake);
  slow.clock_notes = [] { return ClockNotes{[] {}, [] {}, [] { return 1.8e9; }}; };
  Measurement measurement = timed(100e-6, 0.5e-6);
  measurement.clock_hz = 1.98e9;
  phase.fill(measurement, slow);
  EXPECT_EQ(measurement.activity->clock_hz, 1.8e9);
}

TEST(ActivityPass, TellsWhatLiesBetweenItsRecordsAlone) {
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
  EXPECT_TRUE(measurement.activity->seconds);
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

TEST(ActivityPass, ColdExecutionsAreNotRecorded) {
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
