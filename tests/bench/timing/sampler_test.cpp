// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/timing/conditions.h"
#include "bench/timing/host_timer.h"
#include "core/model/measurement.h"
#include "gpu/profiling/sm_notes.h"
#include "tests/bench/fake_clock.h"

namespace gpubench::bench {
namespace {

TEST(AdaptiveSampler, StopsOnceASteadyOperationIsKnown) {
  FakeClock clock([](std::int64_t) { return 1e-3; });
  const Samples samples = AdaptiveSampler({}).sample(clock);
  EXPECT_EQ(samples.stop_reason, StopReason::interval);
  EXPECT_EQ(samples.seconds.size(), 20U);
  EXPECT_EQ(samples.executions_per_sample, 1);
  EXPECT_DOUBLE_EQ(samples.seconds.front(), 1e-3);
}

TEST(AdaptiveSampler, NoiseBeyondTheTargetRunsIntoTheBudget) {
  FakeClock clock([](std::int64_t sample) { return sample % 2 == 0 ? 1e-3 : 2e-3; });
  SamplingOptions options;
  options.budget_seconds = 0.1;
  const Samples samples = AdaptiveSampler(options).sample(clock);
  EXPECT_EQ(samples.stop_reason, StopReason::budget);
  EXPECT_GT(samples.seconds.size(), 20U);
  EXPECT_LT(clock.now(), 0.1 + 0.01);
}

TEST(AdaptiveSampler, AFirstLookEndsOnceATimeIsKnownWithinAFewPercent) {
  SamplingOptions options;
  options.brief = true;
  options.budget_seconds = 0.05;
  const auto of_two_levels = [&](double one, double other) {
    FakeClock clock([=](std::int64_t batch) { return batch / 2 % 2 == 0 ? one : other; });
    return AdaptiveSampler(options).sample(clock);
  };
  const Samples few = of_two_levels(1e-3, 1.01e-3);
  EXPECT_EQ(few.stop_reason, StopReason::interval);
  EXPECT_EQ(few.block_sizes, (std::vector<std::int64_t>{1, 1, 1}));
  EXPECT_EQ(of_two_levels(1e-7, 2e-7).seconds.size(), 3U) << "0.1 us apart";
  EXPECT_EQ(of_two_levels(1e-3, 1.3e-3).stop_reason, StopReason::budget);
}

TEST(AdaptiveSampler, AFirstLookTakesNoBatchThatItNeedNotTake) {
  SamplingOptions options;
  options.brief = true;
  const auto batches = [&](std::int64_t first, bool warms, double min_batch) {
    FakeClock clock([](std::int64_t) { return 1e-5; }, 0.0, min_batch);
    clock.first = first;
    clock.warms = warms;
    const Samples samples = AdaptiveSampler(options).sample(clock);
    EXPECT_EQ(samples.seconds.size(), 3U);
    EXPECT_EQ(samples.block_sizes, (std::vector<std::int64_t>{1, 1, 1}));
    EXPECT_GE(static_cast<double>(samples.executions_per_sample) * 1e-5, min_batch);
    return clock.batches;
  };
  EXPECT_EQ(batches(20, true, 1e-4), 3) << "the first batch is long enough, and a sample";
  EXPECT_EQ(batches(20, false, 1e-4), 1 + 3 + 3) << "a clock of the host settles before each block";
  EXPECT_EQ(batches(5, true, 1e-4), 1 + 3) << "one too short";
  EXPECT_EQ(batches(1, true, 0.0), 2 + 2) << "a single one is looked at twice";
}

TEST(AdaptiveSampler, ABatchHasAsManyExecutionsAsItsClockNeedsHoweverLongTheyTake) {
  for (const bool brief : {false, true})
    for (const double seconds : {1e-3, 1.0}) {
      SamplingOptions options;
      options.brief = brief;
      FakeClock clock([=](std::int64_t) { return seconds; });
      clock.warms = brief;
      clock.least = 4;
      clock.long_seconds = 0.02;
      const Samples samples = AdaptiveSampler(options).sample(clock);
      EXPECT_EQ(samples.executions_per_sample, seconds < 0.02 ? 4 : 1);
      for (const double each : samples.seconds) EXPECT_DOUBLE_EQ(each, seconds);
    }
}

TEST(AdaptiveSampler, AFirstLookTakesClocksOfCallsLast) {
  std::vector<char> order;
  const auto seconds = [](std::int64_t) { return 1e-4; };
  FakeClock call(seconds), device(seconds), graph(seconds);
  call.name = 'c';
  device.name = 'd';
  graph.name = 'g';
  device.mode = TimingMode::device;
  for (FakeClock* const each : {&call, &device, &graph}) {
    each->world = call.world;
    each->order = &order;
    each->first = 20;
    each->warms = each != &device;
  }
  const std::vector<Timer*> clocks = {&call, &device, &graph};
  SamplingOptions options;
  options.brief = true;
  const auto samples = AdaptiveSampler(options).sample(clocks);
  for (const Samples& each : samples) EXPECT_EQ(each.seconds.size(), 3U) << "the first batch, too";
  EXPECT_EQ(std::string(order.begin(), order.end()), "dddcgcgcg");
}

TEST(AdaptiveSampler, AFirstLookHasAPartOfTheBudgetForClocksOfCalls) {
  const auto seconds = [](std::int64_t batch) { return batch % 2 == 0 ? 1e-3 : 2e-3; };  // never narrow
  FakeClock device(seconds), call(seconds);
  device.mode = TimingMode::device;
  call.world = device.world;
  call.warms = true;
  const std::vector<Timer*> clocks = {&device, &call};
  SamplingOptions options;
  options.brief = true;
  options.budget_seconds = 0.1;
  const auto samples = AdaptiveSampler(options).sample(clocks);
  for (const Samples& each : samples) EXPECT_NEAR(static_cast<double>(each.seconds.size()), 0.05 / 1.5e-3, 3.0);
  EXPECT_LT(device.now(), 0.1 + 0.01);
}

/// How often the interval at which a first look stops holds the true time: batches are off by a normal error of `sigma`
/// of it, and one in `interrupted` by three tenths.
double coverage_of_first_looks(double sigma, int interrupted) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal(1.0, sigma);
  constexpr int experiments = 2000;
  constexpr double truth = 1e-5;
  SamplingOptions options;
  options.brief = true;
  options.budget_seconds = 0.05;
  int covered = 0;
  for (int i = 0; i < experiments; ++i) {
    FakeClock clock([&](std::int64_t) {
      const bool longer = interrupted > 0 && engine() % static_cast<unsigned>(interrupted) == 0;
      return truth * (normal(engine) + (longer ? 0.3 : 0.0));
    });
    clock.first = 12;
    clock.warms = true;
    const Interval interval = AdaptiveSampler(options).sample(clock).summary().median_ci95;
    if (interval.low <= truth && truth <= interval.high) ++covered;
  }
  return static_cast<double>(covered) / experiments;
}

TEST(AdaptiveSampler, TheIntervalOfAFirstLookHoldsTheTime) {
  for (const double sigma : {0.003, 0.01, 0.03})
    for (const int interrupted : {0, 10}) EXPECT_GE(coverage_of_first_looks(sigma, interrupted), 0.9) << sigma;
  EXPECT_GE(coverage_of_first_looks(0.1, 0), 0.88) << "looked at after each of many samples";
}

TEST(AdaptiveSampler, ASlowOperationStillGetsThreeSamples) {
  FakeClock clock([](std::int64_t) { return 5.0; });
  const Samples samples = AdaptiveSampler({}).sample(clock);
  EXPECT_EQ(samples.stop_reason, StopReason::budget);
  EXPECT_EQ(samples.seconds.size(), 3U);
}

TEST(AdaptiveSampler, WarmUpEndsWhenTimesAgree) {
  // The first execution is 100 times slower (a module load, say); it must not be among the samples.
  FakeClock clock([](std::int64_t sample) { return sample == 0 ? 1e-2 : 1e-4; });
  const Samples samples = AdaptiveSampler({}).sample(clock);
  EXPECT_DOUBLE_EQ(*std::max_element(samples.seconds.begin(), samples.seconds.end()), 1e-4);
}

TEST(AdaptiveSampler, ShortOperationsShareABatchLongEnoughForTheClock) {
  FakeClock clock([](std::int64_t) { return 1e-7; }, 0.0, 1e-4);
  const Samples samples = AdaptiveSampler({}).sample(clock);
  EXPECT_GE(static_cast<double>(samples.executions_per_sample) * 1e-7, 1e-4);
  EXPECT_LE(static_cast<double>(samples.executions_per_sample) * 1e-7, 2e-4);
  EXPECT_NEAR(samples.seconds.front(), 1e-7, 1e-12);
}

TEST(AdaptiveSampler, AFixedCostOfTheClockDoesNotFoolTheBatchLength) {
  // 6 us of clock around 1 us of work: a length taken from one execution alone would be seven times too short.
  FakeClock clock([](std::int64_t) { return 1e-6; }, 6e-6, 2e-3);
  const Samples samples = AdaptiveSampler({}).sample(clock);
  EXPECT_GE(samples.executions_per_sample, 1990);
  EXPECT_NEAR(samples.seconds.front(), 1e-6, 5e-9);
}

TEST(AdaptiveSampler, AClockThatShowsNothingGrowsTheBatch) {
  FakeClock clock([](std::int64_t) { return 0.0; }, 0.0, 1e-4);
  SamplingOptions options;
  options.max_samples = 30;
  const Samples samples = AdaptiveSampler(options).sample(clock);
  EXPECT_EQ(samples.executions_per_sample, 1'000'000);
  EXPECT_EQ(samples.stop_reason, StopReason::count);
}

TEST(AdaptiveSampler, TakesJustTheCountAskedFor) {
  FakeClock clock([](std::int64_t sample) { return 1e-3 * static_cast<double>(1 + sample % 7); });
  SamplingOptions options;
  options.exact_samples = 7;
  const Samples samples = AdaptiveSampler(options).sample(clock);
  EXPECT_EQ(samples.seconds.size(), 7U);
  EXPECT_EQ(samples.stop_reason, StopReason::count);
}

TEST(AdaptiveSampler, GoesOnForTheLeastTime) {
  FakeClock clock([](std::int64_t) { return 1e-3; });
  SamplingOptions options;
  options.min_seconds = 0.5;
  // Less the batch at the beginning of each block.
  EXPECT_NEAR(static_cast<double>(AdaptiveSampler(options).sample(clock).seconds.size()), 490.0, 20.0);
}

TEST(AdaptiveSampler, RefusesATimeThatIsNone) {
  FakeClock nan([](std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); });
  EXPECT_THROW(static_cast<void>(AdaptiveSampler({}).sample(nan)), std::runtime_error);
  FakeClock negative([](std::int64_t) { return -1e-3; });
  EXPECT_THROW(static_cast<void>(AdaptiveSampler({}).sample(negative)), std::runtime_error);
}

TEST(AdaptiveSampler, SamplesComeInBlocksThatAddUp) {
  FakeClock clock([](std::int64_t sample) { return sample % 2 == 0 ? 1e-3 : 1.3e-3; });
  const Samples samples = AdaptiveSampler({}).sample(clock);
  EXPECT_GE(samples.block_sizes.size(), 5U);
  EXPECT_EQ(std::accumulate(samples.block_sizes.begin(), samples.block_sizes.end(), std::int64_t{0}),
            static_cast<std::int64_t>(samples.seconds.size()));
}

TEST(AdaptiveSampler, BlocksThatDifferDoNotPassForANarrowInterval) {
  // Every sample of a block is the same, blocks are 2 % apart: 20 samples look narrow only to who ignores the blocks.
  std::int64_t block = 0;
  FakeClock clock([&block](std::int64_t) { return 1e-4 * (1.0 + 0.02 * static_cast<double>(block % 3)); });
  SamplingOptions options;
  options.budget_seconds = 0.02;
  const Samples samples = AdaptiveSampler(options, [&block] { ++block; }).sample(clock);
  EXPECT_EQ(samples.stop_reason, StopReason::budget);
  EXPECT_GT(samples.seconds.size(), 20U);
  const Summary summary = samples.summary();
  EXPECT_GT(summary.median_ci95.high - summary.median_ci95.low, 0.01 * summary.median);
}

TEST(AdaptiveSampler, EachBlockBeginsWithABatchThatIsNotKept) {
  bool first_after_pause = false;
  FakeClock clock([&first_after_pause](std::int64_t) {
    const double seconds = first_after_pause ? 1e-2 : 1e-4;
    first_after_pause = false;
    return seconds;
  });
  const Samples samples = AdaptiveSampler({}, [&first_after_pause] { first_after_pause = true; }).sample(clock);
  EXPECT_DOUBLE_EQ(*std::max_element(samples.seconds.begin(), samples.seconds.end()), 1e-4);
}

TEST(AdaptiveSampler, ClocksTakeTurns) {
  std::vector<char> order;
  FakeClock first([](std::int64_t) { return 1e-4; });
  FakeClock second([](std::int64_t) { return 2e-4; });
  second.world = first.world;
  second.name = 'b';
  first.order = second.order = &order;
  const std::vector<Timer*> clocks = {&first, &second};
  const auto samples = AdaptiveSampler({}).sample(clocks);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_DOUBLE_EQ(samples[0].seconds.front(), 1e-4);
  EXPECT_DOUBLE_EQ(samples[1].seconds.front(), 2e-4);
  int changes = 0;
  for (std::size_t i = 1; i < order.size(); ++i) changes += order[i] != order[i - 1] ? 1 : 0;
  EXPECT_GE(changes, 9);  // five blocks of each
}

TEST(AdaptiveSampler, AClockThatThrowsEndsAlone) {
  FakeClock good([](std::int64_t) { return 1e-4; });
  FakeClock bad([](std::int64_t sample) -> double {
    if (sample > 8) throw std::runtime_error("the stream is gone");
    return 1e-4;
  });
  bad.world = good.world;
  const std::vector<Timer*> clocks = {&good, &bad};
  const auto samples = AdaptiveSampler({}).sample(clocks);
  EXPECT_EQ(samples[0].seconds.size(), 20U);
  EXPECT_FALSE(samples[0].failure);
  EXPECT_TRUE(samples[1].failure);
  EXPECT_TRUE(samples[1].seconds.empty());
  EXPECT_THROW(static_cast<void>(AdaptiveSampler({}).sample(bad)), std::runtime_error);
}

TEST(AdaptiveSampler, DropsSamplesUnderAThrottledClock) {
  // Every fourth batch runs at 60 % of the clock.
  const auto slow = [](std::int64_t batch) { return batch % 4 == 3; };
  FakeClock clock([&slow](std::int64_t batch) { return slow(batch) ? 1e-4 / 0.6 : 1e-4; });
  clock.hertz = [&slow](std::int64_t batch) { return slow(batch) ? 1.2e9 : 2.0e9; };
  const Samples samples = AdaptiveSampler({}).sample(clock);
  EXPECT_EQ(samples.stop_reason, StopReason::interval);
  EXPECT_GE(samples.seconds.size(), 20U);
  EXPECT_GT(samples.dropped, 0);
  EXPECT_EQ(samples.clocks_hz.size(), samples.seconds.size());
  EXPECT_DOUBLE_EQ(*std::max_element(samples.seconds.begin(), samples.seconds.end()), 1e-4);
  EXPECT_EQ(*std::min_element(samples.clocks_hz.begin(), samples.clocks_hz.end()), 2.0e9);
}

TEST(AdaptiveSampler, AClockThatIsAlwaysLowDropsNothing) {
  FakeClock clock([](std::int64_t) { return 1e-4; });
  clock.hertz = [](std::int64_t batch) { return batch < 3 ? 2.0e9 : 1.2e9; };  // falls early, and stays low
  const Samples samples = AdaptiveSampler({}).sample(clock);
  EXPECT_EQ(samples.dropped, 0);
  EXPECT_EQ(samples.seconds.size(), 20U);
}

TEST(AdaptiveSampler, SpendsOneBudgetOnAllClocks) {
  FakeClock first([](std::int64_t sample) { return sample % 2 == 0 ? 1e-3 : 2e-3; });
  FakeClock second([](std::int64_t sample) { return sample % 2 == 0 ? 1e-3 : 2e-3; });
  second.world = first.world;
  SamplingOptions options;
  options.budget_seconds = 0.2;
  const std::vector<Timer*> clocks = {&first, &second};
  const auto samples = AdaptiveSampler(options).sample(clocks);
  EXPECT_EQ(samples[0].stop_reason, StopReason::budget);
  EXPECT_EQ(samples[1].stop_reason, StopReason::budget);
  EXPECT_LT(first.now(), 0.2 + 0.03);
}

TEST(Throttled, KnownAnswers) {
  EXPECT_TRUE(throttled({}).empty());
  EXPECT_EQ(throttled(std::vector{2.0, 2.0, 1.0, 2.0}), (std::vector{false, false, true, false}));
  EXPECT_EQ(throttled(std::vector{2.0, 1.95, 1.92, 2.0}), std::vector<bool>(4, false)) << "within 5 %";
  EXPECT_EQ(throttled(std::vector{1.0, 1.0, 1.0, 2.0}), std::vector<bool>(4, false)) << "the low one is the usual one";
  EXPECT_EQ(throttled(std::vector{1.0, 1.0, 2.0, 2.0}), std::vector<bool>(4, false)) << "half is not the lesser part";
}

TEST(ClockOfSample, KnownAnswers) {
  const auto note = [](long long cycles, unsigned long long nanoseconds, std::uint32_t begin, std::uint32_t end) {
    return SmNotes{1000, 1000 + cycles, 5000, 5000 + nanoseconds, begin, end};
  };
  const std::vector<SmNotes> notes = {
      note(198'000, 100'000, 7, 7),  // 1.98 GHz
      note(196'000, 100'000, 7, 7),
      note(200'000, 100'000, 7, 7),
      note(1, 100'000, 6, 7),      // met only at the end
      note(99'000, 49'999, 7, 7),  // too short to tell
      SmNotes{},
  };
  ASSERT_TRUE(clock_of_sample(notes, 7).has_value());
  EXPECT_DOUBLE_EQ(*clock_of_sample(notes, 7), 1.98e9);
  EXPECT_FALSE(clock_of_sample(notes, 8).has_value());
  EXPECT_FALSE(clock_of_sample({}, 7).has_value());
}

TEST(DeviceConditions, RangesWidenAndReasonsAddUp) {
  DeviceConditions sum;
  add_reading(
      sum, {1, Interval{2e9, 2e9}, std::nullopt, Interval{300, 300}, std::nullopt, {"power cap"}, "no memory clock"});
  add_reading(
      sum,
      {1, Interval{1e9, 1e9}, std::nullopt, Interval{700, 700}, Interval{40, 40}, {"power cap", "power brake"}, ""});
  EXPECT_EQ(sum, (DeviceConditions{2,
                                   Interval{1e9, 2e9},
                                   std::nullopt,
                                   Interval{300, 700},
                                   Interval{40, 40},
                                   {"power cap", "power brake"},
                                   "no memory clock"}));
}

TEST(DeviceConditions, HeatIsAWarningAndAPowerCapIsNot) {
  Measurement hot;
  hot.device = "cuda:0";
  hot.conditions = DeviceConditions{
      2, Interval{1.2e9, 1.9e9}, std::nullopt, std::nullopt, Interval{60, 88}, {"thermal slowdown (hardware)"}, ""};
  hot.make_primary().dropped_samples = 3;
  Measurement capped;
  capped.device = "cuda:0";
  capped.conditions = DeviceConditions{1, std::nullopt, std::nullopt, std::nullopt, std::nullopt, {"power cap"}, ""};
  EXPECT_EQ(condition_warnings({&capped}), std::vector<std::string>());
  EXPECT_EQ(
      condition_warnings({&hot, &capped, &hot}),
      (std::vector<std::string>{
          "The clocks of cuda:0 were held down by thermal slowdown (hardware) around 2 points, SM clock 1200 to "
          "1900 MHz, up to 88 \u00b0C.",
          "6 samples of 2 points on cuda:0 were dropped, because the clock was more than 5 % below its usual value."}));
}

TEST(Warnings, NameWhatWasMeasuredWhileOthersUsedTheGpu) {
  Measurement quiet, loaded;
  quiet.device = loaded.device = "cuda:1";
  quiet.conditions.emplace().gpu_share = 1.0;
  loaded.conditions.emplace().gpu_share = 0.6;
  EXPECT_EQ(condition_warnings({&quiet}), std::vector<std::string>{});
  EXPECT_EQ(condition_warnings({&quiet, &loaded}),
            std::vector<std::string>{"1 point on cuda:1 was measured under load: other processes computed on this GPU, "
                                     "and the operation had 60 % of it. Measure again when the GPU is quiet."});
}

}  // namespace
}  // namespace gpubench::bench
