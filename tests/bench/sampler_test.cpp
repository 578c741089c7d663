// SPDX-License-Identifier: Apache-2.0
#include "bench/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

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
  options.most_samples = 30;
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
  options.least_seconds = 0.5;
  EXPECT_NEAR(static_cast<double>(AdaptiveSampler(options).sample(clock).seconds.size()), 500.0, 5.0);
}

TEST(AdaptiveSampler, RefusesATimeThatIsNone) {
  FakeClock nan([](std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); });
  EXPECT_THROW(AdaptiveSampler({}).sample(nan), std::runtime_error);
  FakeClock negative([](std::int64_t) { return -1e-3; });
  EXPECT_THROW(AdaptiveSampler({}).sample(negative), std::runtime_error);
}

}  // namespace
}  // namespace gpubench::bench
