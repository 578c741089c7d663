// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/difference_timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "bench/timing/sampler.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

/// Chains on a GPU whose every figure is known: each chain costs `start`, each execution `fixed` more than its own
/// time, the first of a chain something on top; events have a quantum and jitter.
class FakeChains final : public ChainTimer {
 public:
  double start = 1.5e-6;
  double fixed = 0.5e-6;
  double own = 2e-6;
  double first_extra = 0.15e-6;
  double jitter = 30e-9;
  double quantum = 32e-9;
  std::int64_t longest_asked = 0;

  Pair time(std::int64_t short_length, std::int64_t long_length) override {
    longest_asked = std::max(longest_asked, long_length);
    return {chain(short_length), chain(long_length)};
  }
  [[nodiscard]] std::int64_t longest() const override { return 2000; }
  [[nodiscard]] std::string chains() const override { return "fake chains"; }

 private:
  double chain(std::int64_t length) {
    std::normal_distribution<double> noise(0.0, jitter);
    const double exact = start + static_cast<double>(length) * (fixed + own) +
                         static_cast<double>(std::min<std::int64_t>(length, 5)) * first_extra + noise(random_);
    return std::round(exact / quantum) * quantum;
  }
  std::mt19937_64 random_{7};
};

double median_by(DifferenceTimer& clock) { return statistics::median(AdaptiveSampler({}).sample(clock).seconds); }

TEST(DifferenceTimer, FindsTheTrueTimeUnderStartCostsQuantumAndJitter) {
  for (const double own : {1e-6, 2e-6, 5e-6, 50e-6, 1e-3}) {
    auto owned = std::make_unique<FakeChains>();
    FakeChains& chains = *owned;
    chains.own = own;
    DifferenceTimer clock(std::move(owned), short_chain(own + 4e-6), 0.5e-6, "");
    EXPECT_NEAR(median_by(clock) / own, 1.0, 0.004) << own;
  }
}

TEST(DifferenceTimer, AFirstLookNeedsNoLongChains) {
  SamplingOptions options;
  options.brief = true;
  for (const double own : {0.1e-6, 5e-6, 200e-6}) {
    auto owned = std::make_unique<FakeChains>();
    FakeChains& chains = *owned;
    chains.own = own;
    DifferenceTimer clock(std::move(owned), 10, chains.fixed, "", TimingMode::device, own + 2e-6);
    const Samples samples = AdaptiveSampler(options).sample(clock);
    EXPECT_EQ(samples.stop_reason, StopReason::interval);
    EXPECT_NEAR(samples.summary().median, own, std::max(0.02 * own, 20e-9));
    EXPECT_LE(chains.longest_asked, 10 + 40) << own;
  }
}

TEST(DifferenceTimer, ALongOperationStandsAlone) {
  auto owned = std::make_unique<FakeChains>();
  FakeChains& chains = *owned;
  chains.own = 5e-3;
  EXPECT_EQ(short_chain(5e-3), 0);
  DifferenceTimer clock(std::move(owned), 0, 0.5e-6, "");
  EXPECT_NEAR(median_by(clock) / 5e-3, 1.0, 0.001);
  EXPECT_EQ(chains.longest_asked, 1);
  EXPECT_EQ(clock.method(1), "pairs of events around 1 execution, less pairs around nothing");
}

TEST(DifferenceTimer, NothingComesOutNearZeroAndEnds) {
  auto owned = std::make_unique<FakeChains>();
  FakeChains& chains = *owned;
  chains.own = 0.0;
  DifferenceTimer clock(std::move(owned), short_chain(3e-6), 0.5e-6, "");
  EXPECT_NEAR(median_by(clock), 0.0, 2e-9);
  EXPECT_LE(chains.longest_asked, 2000);
}

TEST(DifferenceTimer, SaysHow) {
  DifferenceTimer clock(std::make_unique<FakeChains>(), 10, 0.0, "nothing taken off");
  EXPECT_EQ(clock.clock(), TimingMode::device);
  EXPECT_EQ(clock.method(90), "fake chains of 10 and 100 executions, the difference of their times; nothing taken off");
}

TEST(ShortChain, LastsThirtyMicrosecondsFromThreeToTenExecutions) {
  EXPECT_EQ(short_chain(1e-6), 10);
  EXPECT_EQ(short_chain(5e-6), 6);
  EXPECT_EQ(short_chain(100e-6), 3);
  EXPECT_EQ(short_chain(1e-3), 1);
  EXPECT_EQ(short_chain(2e-3), 0);
  EXPECT_EQ(short_chain(0.0), 10);
  EXPECT_EQ(short_chain(std::nan("")), 10);
}

}  // namespace
}  // namespace gpubench::bench
