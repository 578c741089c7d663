// SPDX-License-Identifier: Apache-2.0
#include "kernel_trace/clocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace gpubench::kernel_trace {
namespace {

/// A clock of 1.98 GHz, and a timer that steps by 32 ns.
ClockPair pair_at(double ns, double ticks_per_ns = 1.98) {
  return {static_cast<std::int64_t>(ns * ticks_per_ns), static_cast<std::int64_t>(ns) / 32 * 32};
}

double ns_at(const ClockFit& fit, std::int64_t clock) { return static_cast<double>(fit.at(Tick{clock})); }

TEST(ClockFit, finds_offset_and_rate_of_a_timer_that_steps) {
  std::mt19937_64 random(1);
  std::vector<ClockPair> pairs;
  for (int i = 0; i < 200; ++i) pairs.push_back(pair_at(static_cast<double>(random() % 2'000'000)));
  const ClockFit fit = fit_clock(pairs, {.ns_per_tick = 0.5, .error = 1.0}, 32);
  ASSERT_EQ(fit.lines.size(), 1);
  EXPECT_NEAR(fit.lines[0].ns_per_tick * 1.98, 1.0, 1e-5);
  EXPECT_LT(fit.residual_ns, 17.0);
  for (const double ns : {0.0, 1e5, 1.9e6})
    EXPECT_NEAR(ns_at(fit, static_cast<std::int64_t>(ns * 1.98)), ns, 3.0) << ns;
}

TEST(ClockFit, takes_the_rate_of_others_where_its_own_pairs_are_near) {
  const ClockFit fit = fit_clock({pair_at(1000), pair_at(1300)}, {.ns_per_tick = 1 / 1.98, .error = 1e-6}, 32);
  EXPECT_DOUBLE_EQ(fit.lines[0].ns_per_tick, 1 / 1.98);
  EXPECT_NEAR(ns_at(fit, 1980), 1000.0, 20.0);
}

TEST(ClockFit, distrusts_a_rate_that_its_own_pairs_contradict) {
  std::vector<ClockPair> pairs;
  for (int i = 0; i < 100; ++i) pairs.push_back(pair_at(i * 10'000.0, 1.4));
  const ClockFit fit = fit_clock(pairs, {.ns_per_tick = 1 / 1.98, .error = 1e-6}, 32);
  EXPECT_NEAR(fit.lines[0].ns_per_tick * 1.4, 1.0, 1e-4);
}

TEST(ClockFit, follows_a_clock_that_changes) {
  std::vector<ClockPair> pairs;
  for (int i = 0; i < 64; ++i) pairs.push_back(pair_at(i * 10'000.0, 1.98));
  const std::int64_t last = pairs.back().clock.count;
  for (int i = 1; i < 64; ++i)
    pairs.push_back({last + static_cast<std::int64_t>(i * 10'000.0 * 1.2), (630'000 + i * 10'000) / 32 * 32});
  const ClockFit fit = fit_clock(pairs, {.ns_per_tick = 1 / 1.98, .error = 1e-4}, 32);
  EXPECT_GT(fit.lines.size(), 1);
  EXPECT_NEAR(ns_at(fit, pairs[20].clock.count), 200'000.0, 64.0);
  EXPECT_NEAR(ns_at(fit, pairs[100].clock.count), 1'000'000.0, 64.0);
}

TEST(ClockFit, follows_a_change_between_few_readings) {
  // One each 190 us, at 1.98 GHz and from 450 us on at 1.95 GHz.
  const auto clock_at = [](double ns) { return std::min(ns, 450'000.0) * 1.98 + std::max(ns - 450'000.0, 0.0) * 1.95; };
  std::vector<ClockPair> pairs;
  for (int i = 0; i < 7; ++i)
    pairs.push_back({static_cast<std::int64_t>(clock_at(i * 190'000.0)), i * 190'000 / 32 * 32});
  const ClockFit fit = fit_clock(pairs, {.ns_per_tick = 1 / 1.96, .error = 1e-6}, 32);
  double worst = 0.0;
  for (double ns = 0.0; ns < 1'140'000.0; ns += 1000.0) {
    const double off = std::abs(ns_at(fit, static_cast<std::int64_t>(clock_at(ns))) - ns);
    worst = std::max(worst, off);
    if (ns < 380'000.0 || ns > 570'000.0) {
      EXPECT_LT(off, 40.0) << ns;
    }
  }
  EXPECT_GT(worst, 300.0) << "where it changed is not known";
  EXPECT_GE(fit.residual_ns, worst) << "but it is said";
  EXPECT_LT(fit.residual_ns, 3.0 * worst);
}

TEST(ClockFit, of_two_readings_says_how_far_off_a_changed_clock_may_put_times) {
  // 100 us at 1.98 GHz, then 100 us at 1.2 GHz, read at the beginning and at the end.
  const std::vector<ClockPair> pairs = {{0, 0}, {318'000, 200'000}};
  const ClockFit fit = fit_clock(pairs, {.ns_per_tick = 1 / 1.98, .error = 1e-6}, 32);
  EXPECT_GE(fit.residual_ns, std::abs(ns_at(fit, 198'000) - 100'000.0));
  const ClockFit steady = fit_clock({pair_at(0), pair_at(200'000)}, {.ns_per_tick = 1 / 1.98, .error = 1e-6}, 32);
  EXPECT_DOUBLE_EQ(steady.residual_ns, 16.0) << "half a step, not nothing";
}

TEST(TimerStep, is_what_readings_have_in_common) {
  const std::int64_t t = 1'790'857'026'000'000'000 / 32 * 32;
  EXPECT_EQ(timer_step(std::vector<std::int64_t>{t, t + 64, t + 160, t + 96}), 32);
  EXPECT_EQ(timer_step(std::vector<std::int64_t>{t, t + 3, t + 7}), 1);
  EXPECT_EQ(timer_step(std::vector<std::int64_t>{t}), 32);
  EXPECT_EQ(timer_step(std::vector<std::int64_t>{}), 32);
}

TEST(PooledRate, gives_each_group_an_offset_of_its_own) {
  std::vector<std::vector<ClockPair>> groups(4);
  for (std::size_t sm = 0; sm < 4; ++sm)
    for (int i = 0; i < 20; ++i) {
      groups[sm].push_back(pair_at(i * 5000.0 + static_cast<double>(sm) * 7.0));
      groups[sm].back().clock.count += static_cast<std::int64_t>(sm) * 1'000'000;
    }
  const auto rate = pooled_rate(groups, 32);
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->ns_per_tick * 1.98, 1.0, 1e-4);
  EXPECT_FALSE(pooled_rate(std::vector<std::vector<ClockPair>>{{pair_at(5)}}, 32));
}

}  // namespace
}  // namespace gpubench::kernel_trace
