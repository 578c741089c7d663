// SPDX-License-Identifier: Apache-2.0
#include "calibrate/ladder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace gpubench::calibrate {
namespace {

struct Step {
  double capacity_bytes;
  double rate;
};

constexpr double kibi = 1024.0;
constexpr double mebi = kibi * kibi;

/// Bandwidth of an ideal hierarchy: at a level's capacity half of what reaches it goes on to the next.
double ideal_rate(const std::vector<Step>& levels, double beyond, double bytes) {
  double seconds_per_byte = 0.0;
  double rest = 1.0;
  for (const auto& level : levels) {
    const double hits = rest / (1.0 + std::pow(bytes / level.capacity_bytes, 10.0));
    seconds_per_byte += hits / level.rate;
    rest -= hits;
  }
  return 1.0 / (seconds_per_byte + rest / beyond);
}

Ladder make_ladder(const std::vector<Step>& levels, double beyond, double noise, unsigned seed = 1, int sweeps = 5) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0.0, noise);
  Ladder ladder;
  for (const std::size_t bytes : rungs(8192, std::size_t{1} << 30, 4, 1024))
    ladder.working_set_bytes.push_back(static_cast<double>(bytes));
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    auto& rates = ladder.sweeps.emplace_back();
    for (const double bytes : ladder.working_set_bytes)
      rates.push_back(ideal_rate(levels, beyond, bytes) * std::exp(normal(generator)));
  }
  return ladder;
}

const std::vector<Step> three_levels = {{48 * kibi, 500e9}, {2 * mebi, 300e9}, {32 * mebi, 60e9}};

class LevelsTest : public testing::TestWithParam<std::size_t> {};

TEST_P(LevelsTest, are_found_where_they_are_under_noise) {
  const std::vector<Step> all = {{48 * kibi, 500e9}, {1 * mebi, 300e9}, {16 * mebi, 100e9}, {200 * mebi, 50e9}};
  const std::vector<Step> levels(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(GetParam()));
  LevelOptions options;
  options.max_levels = 4;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const LevelFit fit = find_levels(make_ladder(levels, 20e9, 0.04, seed), options);
    ASSERT_EQ(fit.levels.size(), levels.size()) << "seed " << seed;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const CacheLevel& level = fit.levels[i].level;
      EXPECT_EQ(level.resource, "l" + std::string(1, static_cast<char>('1' + i)));
      EXPECT_NEAR(std::log2(level.capacity_bytes / levels[i].capacity_bytes), 0.0, 0.15) << "seed " << seed;
      EXPECT_LE(level.capacity_ci95.low, level.capacity_bytes);
      EXPECT_GE(level.capacity_ci95.high, level.capacity_bytes);
      ASSERT_EQ(fit.levels[i].rates.size(), 5U);
      for (const double rate : fit.levels[i].rates) EXPECT_NEAR(rate / levels[i].rate, 1.0, 0.08);
    }
    ASSERT_EQ(fit.beyond.size(), 5U);
    EXPECT_NEAR(fit.beyond[0] / 20e9, 1.0, 0.08);
  }
}

INSTANTIATE_TEST_SUITE_P(None_to_four, LevelsTest, testing::Values(0, 1, 2, 3, 4));

TEST(LadderTest, sharp_steps_give_capacities_between_the_two_rungs) {
  Ladder ladder;
  for (int i = 0; i < 20; ++i) ladder.working_set_bytes.push_back(std::exp2(13 + i));
  ladder.sweeps.assign(3, {});
  for (auto& sweep : ladder.sweeps)
    for (int i = 0; i < 20; ++i) sweep.push_back(i < 6 ? 400e9 : i < 13 ? 100e9 : 10e9);
  const LevelFit fit = find_levels(ladder);
  ASSERT_EQ(fit.levels.size(), 2U);
  EXPECT_NEAR(std::log2(fit.levels[0].level.capacity_bytes), 18.5, 1e-9);
  EXPECT_DOUBLE_EQ(fit.levels[0].level.capacity_ci95.low, std::exp2(18));
  EXPECT_DOUBLE_EQ(fit.levels[0].level.capacity_ci95.high, std::exp2(19));
  EXPECT_NEAR(std::log2(fit.levels[1].level.capacity_bytes), 25.5, 1e-9);
  EXPECT_EQ(fit.levels[1].rates, std::vector<double>(3, 100e9));
  EXPECT_EQ(fit.beyond, std::vector<double>(3, 10e9));
}

TEST(LadderTest, a_rise_at_the_start_is_no_level) {
  Ladder ladder = make_ladder({{mebi, 300e9}}, 50e9, 0.02);
  for (auto& sweep : ladder.sweeps)
    for (std::size_t i = 0; i < 5; ++i) sweep[i] *= 0.3 + 0.14 * static_cast<double>(i);
  const LevelFit fit = find_levels(ladder);
  ASSERT_EQ(fit.levels.size(), 1U);
  EXPECT_NEAR(fit.levels[0].rates[0] / 300e9, 1.0, 0.05);
}

TEST(LadderTest, single_disturbed_rungs_make_no_levels) {
  Ladder ladder = make_ladder(three_levels, 20e9, 0.02);
  const auto undisturbed = find_levels(ladder);
  for (auto& sweep : ladder.sweeps)
    for (std::size_t i = 3; i < sweep.size(); i += 9) sweep[i] *= 0.1;
  const auto disturbed = find_levels(ladder);
  ASSERT_EQ(undisturbed.levels.size(), 3U);
  ASSERT_EQ(disturbed.levels.size(), 3U);
  // A disturbed rung on a slope hides where exactly the level ends: three rungs, no more.
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(std::log2(disturbed.levels[i].level.capacity_bytes / undisturbed.levels[i].level.capacity_bytes), 0.0,
                0.76);
}

TEST(LadderTest, a_gentle_slope_within_flatness_is_one_plateau) {
  Ladder ladder = make_ladder({}, 100e9, 0.0);
  for (auto& sweep : ladder.sweeps)
    for (std::size_t i = 0; i < sweep.size(); ++i) sweep[i] *= 1.0 - 0.0015 * static_cast<double>(i);
  EXPECT_TRUE(find_levels(ladder).levels.empty());
}

TEST(LadderTest, the_same_ladder_gives_the_same_intervals) {
  const Ladder ladder = make_ladder(three_levels, 20e9, 0.08);
  const auto first = find_levels(ladder);
  const auto second = find_levels(ladder);
  ASSERT_EQ(first.levels.size(), second.levels.size());
  for (std::size_t i = 0; i < first.levels.size(); ++i) EXPECT_EQ(first.levels[i].level, second.levels[i].level);
}

TEST(LadderTest, too_few_rungs_have_no_levels) {
  Ladder ladder{{1024, 2048, 4096, 8192, 16384}, {{5e9, 5e9, 5e9, 1e9, 1e9}}};
  const LevelFit fit = find_levels(ladder);
  EXPECT_TRUE(fit.levels.empty());
  ASSERT_EQ(fit.ladder.size(), 5U);
  EXPECT_NEAR(fit.ladder[3].bytes_per_second, 1e9, 1.0);
  EXPECT_TRUE(find_levels(Ladder{{}, {{}}}).ladder.empty());
}

TEST(LadderTest, bad_input_is_refused) {
  EXPECT_THROW(find_levels(Ladder{{1, 2}, {}}), std::invalid_argument);
  EXPECT_THROW(find_levels(Ladder{{1, 2}, {{1.0}}}), std::invalid_argument);
  EXPECT_THROW(find_levels(Ladder{{2, 2}, {{1.0, 1.0}}}), std::invalid_argument);
  EXPECT_THROW(find_levels(Ladder{{1, 2}, {{1.0, 0.0}}}), std::invalid_argument);
  EXPECT_THROW(find_levels(Ladder{{1, 2}, {{1.0, std::nan("")}}}), std::invalid_argument);
}

TEST(LadderTest, a_fast_first_level_is_no_rise_to_the_second) {
  // One core of a Sapphire Rapids server in a virtual machine: KiB and GB/s. L1 has 48 KiB, L2 2 MiB; the share of the
  // last-level cache shows as two slow steps.
  const std::vector<std::pair<int, int>> rungs_seen = {
      {8, 279},     {12, 286},    {16, 290},    {20, 295},    {24, 296},    {28, 300},    {32, 303},     {40, 306},
      {44, 307},    {52, 176},    {64, 172},    {76, 172},    {92, 173},    {108, 173},   {128, 173},    {152, 171},
      {180, 172},   {216, 169},   {256, 171},   {304, 169},   {364, 171},   {432, 170},   {512, 173},    {608, 173},
      {724, 173},   {860, 172},   {1024, 171},  {1216, 154},  {1448, 123},  {1724, 71},   {2048, 59},    {2436, 50},
      {2896, 39},   {3444, 34},   {4096, 31},   {4872, 30},   {5792, 30},   {6888, 30},   {8192, 30},    {9740, 30},
      {11584, 30},  {13776, 30},  {16384, 30},  {23172, 29},  {32768, 25},  {46340, 23},  {65536, 23},   {92680, 23},
      {131072, 21}, {185364, 18}, {262144, 17}, {370728, 16}, {524288, 16}, {741456, 16}, {1048576, 16}, {1392640, 16}};
  Ladder ladder;
  ladder.sweeps.resize(1);
  for (const auto& [kibibytes, gigabytes] : rungs_seen) {
    ladder.working_set_bytes.push_back(kibi * kibibytes);
    ladder.sweeps[0].push_back(1e9 * gigabytes);
  }
  LevelOptions options;
  for (const std::size_t max : {std::size_t{3}, std::size_t{4}}) {
    options.max_levels = max;
    const LevelFit fit = find_levels(ladder, options);
    ASSERT_GE(fit.levels.size(), 2U);
    EXPECT_NEAR(fit.levels[0].level.capacity_bytes / kibi, 48.0, 4.0) << max;
    EXPECT_NEAR(std::log2(fit.levels[1].level.capacity_bytes / mebi), 1.0, 0.7) << max;
  }
}

TEST(RungsTest, grow_evenly_and_end_at_the_largest) {
  const auto sets = rungs(4096, 1 << 20, 2, 1024);
  EXPECT_EQ(sets.front(), 4096U);
  EXPECT_EQ(sets.back(), std::size_t{1} << 20);
  EXPECT_EQ(sets.size(), 17U);
  for (std::size_t i = 1; i < sets.size(); ++i) {
    EXPECT_EQ(sets[i] % 1024, 0U);
    EXPECT_NEAR(static_cast<double>(sets[i]) / static_cast<double>(sets[i - 1]), std::sqrt(2.0), 0.15);
  }
  EXPECT_EQ(rungs(100, 100, 4, 1), (std::vector<std::size_t>{100}));
}

}  // namespace
}  // namespace gpubench::calibrate
