// SPDX-License-Identifier: Apache-2.0
#include "fleet/collectives.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace gpubench::fleet {
namespace {

TEST(FleetCollectives, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 8), 1.75);  // PERFORMANCE.md: 2 (n - 1) / n
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_to_all, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 8), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::send_receive, 8), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 1), 0.0);  // nothing goes over a bus
}

TEST(FleetCollectives, MessagesDivideAmongTheRanks) {
  EXPECT_EQ(message_bytes(8, 2), 8);
  EXPECT_EQ(message_bytes(8, 8), 32);
  EXPECT_EQ(message_bytes(1000, 3), 996);
  EXPECT_EQ(message_bytes(std::int64_t{1} << 32, 8), std::int64_t{1} << 32);
}

TEST(FleetCollectives, BandwidthsRestOnTheMedian) {
  const CollectiveTimes times =
      summarize(Collective::all_reduce, 1'000'000, 4, std::vector{3e-3, 1e-3, 2e-3, 2e-3, 100e-3});
  EXPECT_DOUBLE_EQ(times.median_seconds, 2e-3);
  EXPECT_NEAR(times.p99_seconds, 3e-3 + 0.96 * 97e-3, 1e-12);
  EXPECT_DOUBLE_EQ(times.algorithm_bytes_per_second, 5e8);
  EXPECT_DOUBLE_EQ(times.bus_bytes_per_second, 7.5e8);
  EXPECT_THROW(summarize(Collective::broadcast, 4, 2, {}), std::invalid_argument);
}

TEST(FleetCollectives, BandwidthsRestOnTimesInARowWhereThereAreSome) {
  const CollectiveTimes times = summarize(Collective::all_gather, 1'000'000, 2, std::vector{3e-3, 1e-3, 2e-3}, 1e-3);
  EXPECT_DOUBLE_EQ(times.seconds, 1e-3);
  EXPECT_DOUBLE_EQ(times.median_seconds, 2e-3);
  EXPECT_DOUBLE_EQ(times.bus_bytes_per_second, 5e8);
}

/// 8 B to 64 MiB by doubling, each time off by what `noise` gives.
template <class Noise>
std::vector<MessageTime> messages(double fixed, double rate, Noise noise) {
  std::vector<MessageTime> times;
  for (double bytes = 8.0; bytes <= 67108864.0; bytes *= 2.0)
    times.push_back({bytes, (fixed + bytes / rate) * noise(times.size())});
  return times;
}

TEST(FleetCollectives, TheFitFindsWhatMadeTheTimes) {
  const auto fit = fit_messages(messages(10e-6, 200e9, [](std::size_t) { return 1.0; }));
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->fixed_seconds.value, 10e-6, 0.01e-6);
  EXPECT_NEAR(fit->bytes_per_second.value, 200e9, 0.2e9);
  EXPECT_NEAR(fit->boundary_bytes.value, 2e6, 5e3);
  EXPECT_LT(fit->deviation, 1e-3);
}

TEST(FleetCollectives, SizesOfAnotherAlgorithmDoNotMoveTheFitAndIntervalsHoldTheTruth) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0.0, 0.03);
  int held = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const auto times = messages(
        10e-6, 200e9, [&](std::size_t i) { return std::exp(normal(random)) * (i >= 12 && i <= 15 ? 1.5 : 1.0); });
    const auto fit = fit_messages(times);
    ASSERT_TRUE(fit.has_value());
    EXPECT_NEAR(fit->fixed_seconds.value, 10e-6, 1.5e-6);
    EXPECT_NEAR(fit->bytes_per_second.value, 200e9, 40e9);
    held += fit->boundary_bytes.ci95.low <= 2e6 && 2e6 <= fit->boundary_bytes.ci95.high ? 1 : 0;
  }
  EXPECT_GE(held, 15);
}

TEST(FleetCollectives, TooFewMessagesHaveNoFit) {
  const auto all = messages(10e-6, 200e9, [](std::size_t) { return 1.0; });
  EXPECT_FALSE(fit_messages(std::span(all).first(4)).has_value());
  EXPECT_TRUE(fit_messages(std::span(all).first(5)).has_value());
  EXPECT_FALSE(fit_messages(std::vector<MessageTime>(9, {64.0, 1e-6})).has_value());
}

TEST(FleetCollectives, TheLargestPartOfATimeLimitsIt) {
  const MessageFit fit{{10e-6, {}}, {200e9, {}}, {2e6, {}}, 0.0};
  EXPECT_EQ(limit_of(fit, 2e-6, 8.0), MessageLimit::latency);
  EXPECT_EQ(limit_of(fit, 7e-6, 8.0), MessageLimit::overhead);
  EXPECT_EQ(limit_of(fit, 20e-6, 8.0), MessageLimit::overhead);  // never more than all of it
  EXPECT_EQ(limit_of(fit, 0.0, 1.9e6), MessageLimit::latency);
  EXPECT_EQ(limit_of(fit, 0.0, 2.1e6), MessageLimit::link);
}

TEST(FleetCollectives, OverlapTellsWhatEachCostsTheOther) {
  // Nothing: both as alone.
  auto cost = cost_of({1.0, 1.0, 1.0, 1.0});
  EXPECT_DOUBLE_EQ(cost.first, 1.0);
  EXPECT_DOUBLE_EQ(cost.second, 1.0);
  // They share one thing evenly: each takes twice as long.
  cost = cost_of({1.0, 1.0, 2.0, 2.0});
  EXPECT_DOUBLE_EQ(cost.first, 2.0);
  EXPECT_DOUBLE_EQ(cost.second, 2.0);
  // The first ends after 1.2; of the second 0.6 was done by then, so it took twice as long; 0.4 are done alone.
  cost = cost_of({1.0, 1.0, 1.2, 1.6});
  EXPECT_DOUBLE_EQ(cost.first, 1.2);
  EXPECT_DOUBLE_EQ(cost.second, 2.0);
  cost = cost_of({1.0, 1.0, 1.6, 1.2});
  EXPECT_DOUBLE_EQ(cost.first, 2.0);
  EXPECT_DOUBLE_EQ(cost.second, 1.2);
  // One after the other: the second did nothing before the first had ended.
  EXPECT_EQ(cost_of({1.0, 1.0, 1.0, 2.0}).second, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace gpubench::fleet
