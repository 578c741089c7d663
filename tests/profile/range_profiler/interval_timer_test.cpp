// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/interval_timer.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/matchers.h"

namespace gpubench::profile {
namespace {

Stream stream(std::uintptr_t number) { return reinterpret_cast<Stream>(number); }

/// A GPU whose clock a test sets: an event happens when it is recorded, and is known once `finished`.
struct FakeGpu {
  struct Happened {
    double milliseconds = 0.0;
    bool captured = false;
  };
  double now = 0.0;
  bool finished = false;
  bool captures = false;
  std::string none;  ///< why there are no events
  int created = 0;
  int waits = 0;
  std::set<Happened*> alive;
};

class FakeEvents final : public EventSource {
 public:
  explicit FakeEvents(FakeGpu& gpu) : gpu_(gpu) {}
  int device() override { return 0; }
  std::string create(std::size_t count, std::vector<Event>& events) override {
    for (std::size_t i = 0; i < count && gpu_.none.empty(); ++i, ++gpu_.created) {
      events.push_back(new FakeGpu::Happened);
      gpu_.alive.insert(static_cast<FakeGpu::Happened*>(events.back()));
    }
    return gpu_.none;
  }
  void destroy(Event event) override {
    gpu_.alive.erase(static_cast<FakeGpu::Happened*>(event));
    delete static_cast<FakeGpu::Happened*>(event);
  }
  std::string record(Event event, Stream) override {
    *static_cast<FakeGpu::Happened*>(event) = {gpu_.now, gpu_.captures};
    return "";
  }
  Elapsed elapsed(Event start, Event stop, bool wait) override {
    gpu_.waits += wait ? 1 : 0;
    if (!wait && !gpu_.finished) return {};
    const auto* from = static_cast<FakeGpu::Happened*>(start);
    const auto* to = static_cast<FakeGpu::Happened*>(stop);
    if (from->captured) return {Outcome::failed, 0.0, "captured"};
    return {Outcome::done, to->milliseconds - from->milliseconds, ""};
  }

 private:
  FakeGpu& gpu_;
};

class Timer : public testing::Test {
 protected:
  void TearDown() override {
    timer.reset();
    EXPECT_TRUE(gpu.alive.empty()) << "events are left";
  }
  void at(double milliseconds) { gpu.now = milliseconds; }
  void start(const char* name, double milliseconds, Stream on = nullptr) {
    at(milliseconds);
    timer->start(name, on);
  }
  void stop(const char* name, double milliseconds) {
    at(milliseconds);
    timer->stop(name, nullptr);
  }

  FakeGpu gpu;
  std::unique_ptr<detail::IntervalTimer> timer =
      std::make_unique<detail::IntervalTimer>(std::make_unique<FakeEvents>(gpu));
};

TEST_F(Timer, SumsUpKnownIntervals) {
  double now = 0.0;
  for (const double length : {1.0, 2.0, 3.0, 4.0, 10.0}) {
    start("scale", now);
    stop("scale", now += length);
  }
  EXPECT_EQ(gpu.waits, 0) << "start and stop must not wait";
  const Timing timing = *timer->timing("scale");
  EXPECT_EQ(timing.count, 5);
  EXPECT_DOUBLE_EQ(timing.total_ms, 20.0);
  EXPECT_DOUBLE_EQ(timing.exclusive_ms, 20.0);
  EXPECT_DOUBLE_EQ(timing.mean_ms, 4.0);
  EXPECT_DOUBLE_EQ(timing.min_ms, 1.0);
  EXPECT_DOUBLE_EQ(timing.max_ms, 10.0);
  EXPECT_DOUBLE_EQ(timing.p50_ms, 3.0);
  EXPECT_NEAR(timing.p95_ms, 8.8, 1e-9);   // type 7: 4 + 0.8 * 6
  EXPECT_NEAR(timing.p99_ms, 9.76, 1e-9);  // 4 + 0.96 * 6
  EXPECT_NEAR(timing.deviation_ms, 3.5355339, 1e-6);
  EXPECT_FALSE(timer->timing("other"));
  EXPECT_EQ(timer->problem(), "");
}

TEST_F(Timer, NestedTimeCountsOnce) {
  start("step", 0.0);
  start("attention", 1.0);
  stop("attention", 4.0);
  start("attention", 5.0);
  start("softmax", 6.0);
  stop("softmax", 7.0);
  stop("attention", 8.0);
  stop("step", 10.0);
  EXPECT_DOUBLE_EQ(timer->timing("step")->total_ms, 10.0);
  EXPECT_DOUBLE_EQ(timer->timing("step")->exclusive_ms, 4.0);
  EXPECT_DOUBLE_EQ(timer->timing("attention")->total_ms, 6.0);
  EXPECT_DOUBLE_EQ(timer->timing("attention")->exclusive_ms, 5.0);
  EXPECT_DOUBLE_EQ(timer->timing("softmax")->exclusive_ms, 1.0);
  EXPECT_THAT(timer->report(), HasSubstr("\nTOTAL                                   10.000\n"));
}

TEST_F(Timer, ANameNestsInItself) {
  start("walk", 0.0);
  start("walk", 1.0);
  stop("walk", 3.0);  // the newest
  stop("walk", 4.0);
  const Timing timing = *timer->timing("walk");
  EXPECT_EQ(timing.count, 2);
  EXPECT_DOUBLE_EQ(timing.max_ms, 4.0);
  EXPECT_DOUBLE_EQ(timing.exclusive_ms, 4.0);
}

TEST_F(Timer, OtherStreamsAreNotNested) {
  start("compute", 0.0, stream(1));
  start("copy", 1.0, stream(2));
  Stream wrong = stream(3);
  timer->stop("copy", &wrong);
  stop("copy", 2.0);
  stop("compute", 5.0);
  EXPECT_DOUBLE_EQ(timer->timing("compute")->exclusive_ms, 5.0);
  EXPECT_DOUBLE_EQ(timer->timing("copy")->exclusive_ms, 1.0);
  EXPECT_EQ(timer->problem(), "1 stop without a start.");
}

TEST_F(Timer, WhatEndsLaterThanItsOuterIntervalIsNotTakenOff) {
  start("a", 0.0);
  start("b", 1.0);
  stop("a", 2.0);
  stop("b", 4.0);
  EXPECT_DOUBLE_EQ(timer->timing("a")->exclusive_ms, 2.0);
  EXPECT_DOUBLE_EQ(timer->timing("b")->exclusive_ms, 3.0);
}

TEST_F(Timer, EventsAreUsedAgain) {
  gpu.finished = true;
  for (int i = 0; i < 10'000; ++i) {
    start("scale", i);
    stop("scale", i + 0.5);
  }
  EXPECT_EQ(timer->timing("scale")->count, 10'000);
  EXPECT_EQ(gpu.created, 64);
}

TEST_F(Timer, UnfinishedEventsAreLeftAloneAndThePoolGrows) {
  for (int i = 0; i < 100; ++i) {
    start("scale", i);
    stop("scale", i + 0.5);
  }
  EXPECT_EQ(gpu.waits, 0);
  EXPECT_GE(gpu.created, 200);
  EXPECT_EQ(timer->timing("scale")->count, 100);
}

TEST_F(Timer, ScopesEndTheirOwnInterval) {
  const auto outer = timer->start("scope", nullptr);
  at(1.0);
  const auto inner = timer->start("scope", nullptr);
  at(2.0);
  timer->stop_interval(outer);
  at(5.0);
  timer->stop_interval(inner);
  EXPECT_DOUBLE_EQ(timer->timing("scope")->min_ms, 2.0);
  EXPECT_DOUBLE_EQ(timer->timing("scope")->max_ms, 4.0);
}

TEST_F(Timer, CapturedIntervalsAreNamedNotCounted) {
  gpu.captures = true;
  start("in graph", 0.0);
  stop("in graph", 1.0);
  EXPECT_FALSE(timer->timing("in graph"));
  EXPECT_EQ(timer->problem(), "1 interval not timed: captured.");
}

TEST_F(Timer, WithoutEventsTheReportSaysWhy) {
  gpu.none = "no NVIDIA driver";
  start("scale", 0.0);
  stop("scale", 1.0);
  EXPECT_FALSE(timer->timing("scale"));
  EXPECT_THAT(timer->report(), EndsWith("Nothing was timed: no NVIDIA driver.\n"));
}

TEST(HostTimer, TimesTheHostAndSaysSo) {
  detail::IntervalTimer timer(open_host_events());
  timer.start("outer", nullptr);
  timer.start("inner", nullptr);
  timer.stop("inner", nullptr);
  timer.stop("outer", nullptr);
  const auto outer = timer.timing("outer"), inner = timer.timing("inner");
  ASSERT_TRUE(outer && inner);
  EXPECT_GE(outer->total_ms, inner->total_ms);
  EXPECT_THAT(timer.report(), EndsWith("those of the host.\n"));
  EXPECT_EQ(timer.problem(), "");
}

TEST_F(Timer, ResetForgets) {
  start("open", 0.0);
  start("done", 0.0);
  stop("done", 1.0);
  timer->reset();
  stop("open", 2.0);
  EXPECT_TRUE(timer->names().empty());
  EXPECT_EQ(timer->problem(), "1 stop without a start.");
}

TEST_F(Timer, ReportHasThePublishedLayout) {
  double now = 0.0;
  for (const auto& [name, lengths] : {std::pair{"angular_scattering", std::vector{14.892, 16.021, 15.0}},
                                      std::pair{"energy_loss", std::vector{22.945, 24.102}}})
    for (const double length : lengths) {
      start(name, now);
      stop(name, now += length);
    }
  EXPECT_EQ(timer->report(),
            "======================================================================\n"
            "GPU KERNEL TIMING REPORT\n"
            "======================================================================\n"
            "Kernel                         Calls    Total (ms)   Mean (ms)    Min (ms)     Max (ms)\n"
            "----------------------------------------------------------------------\n"
            "angular_scattering             3        45.913       15.304       14.892       16.021\n"
            "energy_loss                    2        47.047       23.524       22.945       24.102\n"
            "----------------------------------------------------------------------\n"
            "TOTAL                                   92.960\n"
            "======================================================================\n");
  EXPECT_THAT(timer->names(), ElementsAre("angular_scattering", "energy_loss"));
}

TEST(IntervalStatistics, KeepsASampleOfVeryManyIntervals) {
  detail::IntervalStatistics statistics;
  const std::size_t count = 4 * detail::IntervalStatistics::max_samples;
  for (std::size_t i = 0; i < count; ++i) statistics.add(static_cast<double>(i) / static_cast<double>(count), 0.0);
  const Timing timing = statistics.timing();
  EXPECT_EQ(timing.count, static_cast<std::int64_t>(count));
  EXPECT_NEAR(timing.p50_ms, 0.5, 0.005);
  EXPECT_NEAR(timing.p99_ms, 0.99, 0.005);
  EXPECT_NEAR(timing.deviation_ms, 0.288675, 1e-5);
}

TEST(Profiler, ADisabledScopeTimesNothing) {
  Profiler profiler;
  profiler.disable();
  { const auto scope = profiler.profile_kernel("kernel"); }
  const float values[4] = {};
  profiler.track("values", values, {4});
  EXPECT_TRUE(profiler.timer().names().empty());
  EXPECT_EQ(profiler.memory().total(), 0U);
  profiler.enable();
  profiler.track("values", values, {4});
  EXPECT_EQ(profiler.memory().total(), 16U);
  EXPECT_THAT(profiler.full_report(),
              AllOf(HasSubstr("GPU KERNEL TIMING REPORT"), HasSubstr("GPU MEMORY TRACKING REPORT")));
}

}  // namespace
}  // namespace gpubench::profile
