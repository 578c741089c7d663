// SPDX-License-Identifier: Apache-2.0
#include "compare/causes/programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "core/statistics/statistics.h"
#include "tests/matchers.h"

namespace gpubench::compare {
namespace {

/// A kernel group as a profile has it: `timed` launches of its times, and further ones around which counters were read.
void add_group(gpubench::Run& run, const std::string& operation, const std::string& shape, const std::string& range,
               const std::vector<double>& seconds, std::size_t counted = 0) {
  Measurement measurement;
  measurement.operation = operation;
  measurement.name = operation + "/grid:" + shape + (range.empty() ? "" : "/in:" + range);
  measurement.device = "cuda:0";
  measurement.cache_state = "as in the program";
  measurement.make_primary().clock = TimingMode::device;
  measurement.make_primary().seconds =
      statistics::summarize(std::vector<double>(seconds.begin() + static_cast<std::ptrdiff_t>(counted), seconds.end()));
  ProgramKernel kernel;
  kernel.point = measurement.name;
  kernel.range = range;
  kernel.launches = std::ssize(seconds);
  kernel.counted = static_cast<std::int64_t>(counted);
  kernel.total_seconds = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  run.points.push_back({measurement, std::nullopt});
  run.program->kernels.push_back(kernel);
}

gpubench::Run profile(const std::string& created = "1") {
  gpubench::Run run;
  run.context.created_utc = created;
  run.devices.emplace_back();
  run.devices.back().id = "cuda:0";
  run.devices.back().kind = DeviceKind::gpu;
  run.devices.back().name = "Example GPU";
  run.program.emplace();
  return run;
}

/// Launches of two lengths in turn, the first of which takes 2.5 times as long.
std::vector<double> two_lengths(std::size_t count) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < count; ++i) seconds.push_back(i % 2 == 0 ? 25e-6 : 10e-6);
  return seconds;
}

TEST(Programs, AGroupOfTwoLengthsIsComparedByItsWholeTime) {
  gpubench::Run base = profile("1"), next = profile("2");
  add_group(base, "gemm", "64", "", two_lengths(1001));  // more of the long ones: its median is that
  add_group(next, "gemm", "64", "", two_lengths(1001), 2);
  std::vector<double> other = two_lengths(1001);
  std::ranges::sort(other, std::greater());
  gpubench::Run fewer = profile("3");
  add_group(fewer, "gemm", "64", "", other, 2);  // counters around two of the long ones
  ASSERT_GT(base.points[0].measurement.seconds()->median, 2.0 * fewer.points[0].measurement.seconds()->median)
      << "the medians alone would call this 2.5 times as fast";
  for (const gpubench::Run& run : {next, fewer}) {
    const Comparison comparison = compare({base}, {run}, {});
    ASSERT_EQ(comparison.points.size(), 1U);
    EXPECT_FALSE(is_change(comparison.points[0].change));
    EXPECT_NEAR(comparison.points[0].ratio.value, 1.0, 0.01);
    EXPECT_THAT(comparison.notes, Contains(HasSubstr("launches of several lengths")));
  }
  gpubench::Run slower = profile("4");
  std::vector<double> longer = two_lengths(1001);
  for (double& seconds : longer) seconds *= 1.5;
  add_group(slower, "gemm", "64", "", longer);
  EXPECT_EQ(compare({base}, {slower}, {}).points[0].change, Change::slower) << "what changed is still found";
}

TEST(Programs, GroupsAreMatchedByNameKernelAndPlaceAndAddUp) {
  gpubench::Run base = profile(), next = profile();
  add_group(base, "same", "1", "step", {1e-3, 1e-3});
  add_group(next, "same", "1", "step", {2e-3, 2e-3});
  add_group(base, "reshaped", "64", "step", {3e-3});
  add_group(next, "reshaped", "32", "step", {1e-3, 1e-3});
  add_group(base, "old_softmax", "8", "step/attention", {5e-4});
  add_group(next, "new_softmax", "9", "step/attention", {4e-4});
  add_group(base, "gone", "1", "", {7e-3});
  add_group(next, "added", "2", "", {1e-4});
  const ProgramChange change = program_change({base}, {next}).value();
  ASSERT_EQ(change.groups.size(), 5U);
  EXPECT_EQ(change.groups[0].match, Match::gone);
  const auto of = [&](const std::string& name) {
    for (const GroupChange& group : change.groups)
      if (group.name.starts_with(name)) return group;
    return GroupChange{};
  };
  EXPECT_EQ(of("same").match, Match::same);
  EXPECT_NEAR(of("same").seconds(), 2e-3, 1e-12);
  EXPECT_EQ(of("reshaped").match, Match::reshaped);
  EXPECT_EQ(of("reshaped").new_launches, 2.0);
  EXPECT_EQ(of("new_softmax").match, Match::renamed);
  EXPECT_THAT(of("new_softmax").was, HasSubstr("old_softmax"));
  EXPECT_EQ(of("added").match, Match::added) << "outside of ranges nothing says that it replaces what is gone";
  double sum = change.base_seconds + change.rest_seconds;
  for (const GroupChange& group : change.groups) sum += group.seconds();
  EXPECT_NEAR(sum, change.new_seconds, 1e-12);
}

TEST(Programs, WhatIsNotListedIsInTheRest) {
  gpubench::Run base = profile(), next = profile();
  for (int i = 0; i < 40; ++i) {
    add_group(base, "kernel" + std::to_string(i), "1", "", {1e-4});
    add_group(next, "kernel" + std::to_string(i), "1", "", {1e-4 + 1e-6 * i});
  }
  const ProgramChange change = program_change({base}, {next}).value();
  EXPECT_EQ(change.groups.size(), max_listed_groups);
  EXPECT_EQ(change.rest_groups, 40 - max_listed_groups);
  double sum = change.base_seconds + change.rest_seconds;
  for (const GroupChange& group : change.groups) sum += group.seconds();
  EXPECT_NEAR(sum, change.new_seconds, 1e-12);
}

TEST(Programs, WhereBothKnowTheirStepsAStepIsCompared) {
  gpubench::Run base = profile(), next = profile();
  const auto steps = [](gpubench::Run& run, std::int64_t count) {
    ProgramRange range;
    range.path = "step";
    range.count = count;
    range.kernel_seconds = 1e-3;
    run.program->ranges.push_back(range);
    add_group(run, "work", "1", "step/forward", std::vector<double>(static_cast<std::size_t>(count), 1e-3));
    add_group(run, "set_up", "1", "", {5e-3});
  };
  steps(base, 10);
  steps(next, 30);
  const ProgramChange change = program_change({base}, {next}).value();
  EXPECT_EQ(change.step, "step");
  EXPECT_NEAR(change.base_seconds, 1e-3, 1e-12);
  EXPECT_NEAR(change.new_seconds, 1e-3, 1e-12) << "three times the steps, each as long";
  EXPECT_EQ(change.groups.size(), 1U);
  EXPECT_NEAR(change.outside_new_seconds, 5e-3, 1e-12);
}

TEST(Programs, OfBenchmarksThereIsNone) {
  gpubench::Run run = profile();
  add_group(run, "work", "1", "", {1e-3});
  gpubench::Run benchmark = run;
  benchmark.program.reset();
  EXPECT_FALSE(program_change({run}, {benchmark}));
  EXPECT_FALSE(program_change({}, {run}));
}

/// A profile of a made-up program: 60 groups, a third of which mix sizes; launches vary by 3 %, a run's clock by 0.4 %,
/// a group from run to run by 0.5 %, and one launch in fifty is held up. With counters the first launches of a group do
/// not count.
gpubench::Run made_up(std::mt19937_64& random, bool with_counters, double slower = 1.0) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  gpubench::Run run = profile(std::to_string(random()));
  const double clock = 0.004 * normal(random);
  for (int group = 0; group < 60; ++group) {
    const double usual = 2e-6 * std::pow(1.12, group), own = 0.005 * normal(random);
    std::vector<double> seconds;
    for (int i = 0; i < 40 + group; ++i) {
      const double size = group % 3 == 0 && i % 2 == 0 ? 2.5 : 1.0;
      seconds.push_back(usual * size * (group == 30 ? slower : 1.0) * std::exp(clock + own + 0.03 * normal(random)) *
                        (uniform(random) < 0.02 ? 1.6 : 1.0));
    }
    add_group(run, "kernel" + std::to_string(group), "1", "step", seconds, with_counters ? 1 + group % 4 : 0);
  }
  return run;
}

TEST(Programs, SameProgramsRaiseNoAlarmInThirtyPairs) {
  std::mt19937_64 random(4);
  int alarms = 0;
  for (int pair = 0; pair < 30; ++pair) {
    const gpubench::Run base = made_up(random, pair % 2 == 0), next = made_up(random, pair % 3 == 0);
    alarms += exit_code(compare({base}, {next}, {}), FailOn::regression) == 0 ? 0 : 1;
  }
  EXPECT_EQ(alarms, 0);
  EXPECT_EQ(exit_code(compare({made_up(random, false)}, {made_up(random, true, 1.3)}, {}), FailOn::regression), 1);
}

}  // namespace
}  // namespace gpubench::compare
