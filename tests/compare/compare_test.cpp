// SPDX-License-Identifier: Apache-2.0
#include "compare/compare.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compare/comparability.h"
#include "compare/noise/noise.h"
#include "compare/noise/point_table.h"
#include "tests/compare/compared_runs.h"
#include "tests/matchers.h"
#include "tests/reports/sample_run.h"

namespace gpubench::compare {
namespace {

Change change_between(const std::vector<double>& base, const std::vector<double>& next, double min_effect = 0.01) {
  const auto comparison = compare(run_with(base), run_with(next), quiet(min_effect));
  EXPECT_EQ(comparison.points.size(), 1U);
  return comparison.points.at(0).change;
}

TEST(Compare, TellsTheFourChangesApart) {
  EXPECT_EQ(change_between(around(1.0), around(1.2)), Change::slower);
  EXPECT_EQ(change_between(around(1.2), around(1.0)), Change::faster);
  EXPECT_EQ(change_between(around(1.0), around(1.002)), Change::same);
  EXPECT_EQ(change_between(around(1.0, 0.3), around(1.05, 0.3)), Change::inconclusive);
}

TEST(Compare, ManyDifferencesTakeTimeInProportion) {
  gpubench::Run base = run_with(around(1.0)), next = base;
  constexpr int many = 200'000;
  for (int i = 0; i < many; ++i) {
    base.context.environment["key" + std::to_string(i)] = "old";
    next.context.environment["key" + std::to_string(i)] = "new";
  }
  alarm(100);  // where each is looked for among all others, many minutes
  EXPECT_EQ(compare(base, next, quiet()).differences.size(), static_cast<std::size_t>(many));
  alarm(0);
}

TEST(Compare, TheLeastEffectMovesTheLine) {
  EXPECT_EQ(change_between(around(1.0), around(1.03), 0.01), Change::slower);
  EXPECT_EQ(change_between(around(1.0), around(1.03), 0.05), Change::same);
  EXPECT_EQ(change_between(around(1.0), around(1.0505), 0.05), Change::inconclusive);
}

TEST(Compare, FewSamplesDecideNothing) {
  EXPECT_EQ(change_between(around(1.0, 0.0, 5), around(2.0, 0.0, 11)), Change::inconclusive);
  EXPECT_EQ(change_between(around(1.0, 0.0, 11), around(2.0, 0.0, 1)), Change::inconclusive);
  EXPECT_EQ(change_between(around(1.0, 0.0, 6), around(2.0, 0.0, 6)), Change::slower);
}

TEST(Compare, OneRunASideOfACpuIsUndecidedUnlessFarApart) {
  const auto change = [](double base, double next) {
    return compare(run_with(around(base)), run_with(around(next)), {}).points.at(0).change;
  };
  EXPECT_EQ(change(1.0, 1.22), Change::inconclusive);
  EXPECT_EQ(change(1.0, 1.5), Change::inconclusive);
  EXPECT_EQ(change(1.5, 1.0), Change::inconclusive);
  EXPECT_EQ(change(1.0, 3.0), Change::slower);
}

TEST(Compare, LoadWidensAnInterval) {
  gpubench::Run base = run_with(around(1.0)), next = run_with(around(1.2));
  ASSERT_EQ(compare(base, next, quiet()).points.at(0).change, Change::slower);
  EXPECT_THAT(compare(base, next, quiet()).points.at(0).interval_contains, Not(Contains("load of the machine")));
  next.points[0].measurement.conditions.emplace().core_share = 0.5;
  const auto comparison = compare(base, next, quiet());
  EXPECT_EQ(comparison.points.at(0).change, Change::inconclusive);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("measured under load")));
  EXPECT_THAT(comparison.points.at(0).interval_contains, Contains("load of the machine"));
  next.points[0].measurement.conditions->core_share.reset();
  ASSERT_EQ(compare(base, next, quiet()).points.at(0).change, Change::slower);
  next.points[0].measurement.conditions->gpu_share = 0.5;
  EXPECT_EQ(compare(base, next, quiet()).points.at(0).change, Change::inconclusive);
}

/// So many runs a side of 1 and 1.1 s, in turns.
std::pair<std::vector<gpubench::Run>, std::vector<gpubench::Run>> runs_in_turns(int count) {
  std::vector<gpubench::Run> base, next;
  for (int i = 0; i < count; ++i) {
    base.push_back(run_with(around(1.0 + 0.001 * i)));
    next.push_back(run_with(around(1.1 + 0.001 * i)));
    base.back().context.created_utc = "2026-01-01T00:0" + std::to_string(i);
    next.back().context.created_utc = "2026-01-01T00:0" + std::to_string(i) + "+";
  }
  return {base, next};
}

TEST(Compare, AProcessUnderLoadAmongMoreWithoutIsLeftOut) {
  std::vector<gpubench::Run> base, next;
  std::tie(base, next) = runs_in_turns(3);
  const auto put_under_load = [&](std::size_t process) {
    gpubench::Run& run = next[process];
    run = run_with(around(1.5));
    run.context.created_utc = "2026-01-01T00:0" + std::to_string(process) + "+";
    run.points[0].measurement.conditions.emplace().core_share = 0.6;
  };
  put_under_load(2);
  const auto one = compare(base, next, CompareOptions{});
  EXPECT_EQ(one.points.at(0).change, Change::slower);
  EXPECT_NEAR(one.points.at(0).ratio.value, 1.1, 0.005);
  EXPECT_EQ(one.points.at(0).new_processes, 2);
  EXPECT_THAT(one.points.at(0).interval_contains, Not(Contains("load of the machine")));
  EXPECT_THAT(one.notes, Contains(HasSubstr("left out of a point")));
  put_under_load(1);
  const auto two = compare(base, next, CompareOptions{});
  EXPECT_EQ(two.points.at(0).change, Change::inconclusive);
  EXPECT_EQ(two.points.at(0).new_processes, 3) << "one alone would be little";
  EXPECT_THAT(two.notes, Contains(HasSubstr("the intervals are widened")));
}

TEST(Compare, LoadLengthensShortSamplesByNoMoreThanTheFastestOneTells) {
  const auto change = [](double seconds) {
    gpubench::Run base = run_with(around(seconds)), next = run_with(around(1.2 * seconds));
    for (gpubench::Run* run : {&base, &next}) {
      run->points[0].measurement.make_primary().executions_per_sample = 10;
      run->points[0].measurement.conditions.emplace().core_share = 0.5;
    }
    return compare(base, next, quiet()).points.at(0).change;
  };
  EXPECT_EQ(change(1e-5), Change::slower) << "samples of 0.1 ms lie between the turns of others";
  EXPECT_EQ(change(1e-3), Change::inconclusive) << "samples of 10 ms are lengthened alike";
}

TEST(Compare, SidesThatRanOneAfterTheOtherAreKnownLessWell) {
  auto [base, next] = runs_in_turns(6);
  EXPECT_EQ(compare(base, next, CompareOptions{}).points.at(0).change, Change::slower);
  for (gpubench::Run& run : next) run.context.created_utc[11] = '1';
  const auto comparison = compare(base, next, CompareOptions{});
  EXPECT_EQ(comparison.points.at(0).change, Change::inconclusive);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("8 % is added to the noise")));
}

TEST(Compare, ARunComparedWithItselfIsNamed) {
  const gpubench::Run run = run_with(around(1.0));
  EXPECT_THAT(compare(run, run, {}).notes, Contains(HasSubstr("compared with itself")));
}

TEST(Compare, UnfinishedRunsAndMissingPointsAreUndecided) {
  gpubench::Run base = run_with(around(1.0)), next = run_with(around(1.0));
  add(base, "gone", around(1.0));
  EXPECT_EQ(exit_code(compare(base, next, quiet()), FailOn::regression), 0);
  EXPECT_EQ(exit_code(compare(base, next, quiet()), FailOn::inconclusive), 4);
  next.unfinished = {1, 2};
  const auto comparison = compare(base, next, quiet());
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("is unfinished: it has 1 of 2 points")));
  EXPECT_EQ(exit_code(comparison, FailOn::regression), 3);
  EXPECT_EQ(exit_code(comparison, FailOn::inconclusive), 4);
  EXPECT_EQ(exit_code(comparison, FailOn::never), 0);
  EXPECT_EQ(exit_code(compare(next, run_with(around(1.2)), quiet()), FailOn::regression), 1);
}

TEST(Compare, GivesTheSameIntervalEveryTime) {
  const auto base = run_with(around(1.0, 0.1)), next = run_with(around(1.1, 0.1));
  EXPECT_EQ(compare(base, next, {}).points[0].ratio, compare(base, next, {}).points[0].ratio);
}

TEST(Compare, UsesTheIntervalsWhenTheSamplesWereNotKept) {
  auto base = run_with(around(1.0)), next = run_with(around(1.2));
  base.points[0].measurement.make_primary().samples_seconds.clear();
  auto comparison = compare(base, next, quiet());
  ASSERT_EQ(comparison.points.size(), 1U);
  EXPECT_EQ(comparison.points[0].change, Change::slower);
  EXPECT_NEAR(comparison.points[0].ratio.value, 1.2, 1e-12);
  base.points[0].measurement.make_primary().seconds->count = 5;
  comparison = compare(base, next, {});
  EXPECT_EQ(comparison.points[0].change, Change::inconclusive);
}

TEST(Compare, RepetitionsCountByTheirMedian) {
  gpubench::Run base = run_with(around(1.0, 0.0, 3));
  add(base, "op", around(3.0, 0.0, 4));
  base.points[1].measurement.repetition = 1;
  const auto comparison = compare(base, run_with(around(3.0)), {});
  ASSERT_EQ(comparison.points.size(), 1U);
  EXPECT_DOUBLE_EQ(comparison.points[0].base_seconds, 2.0);
  EXPECT_EQ(comparison.points[0].name, "op");
}

TEST(Compare, SortsOutWhatIsMissing) {
  gpubench::Run base = run_with(around(1.0), "both");
  add(base, "old/manual_time", around(1.0));
  add(base, "breaks", around(1.0));
  add(base, "skips", around(1.0));
  add_failed(base, "mended");
  add_failed(base, "broken");
  gpubench::Run next = run_with(around(1.0), "both");
  add(next, "new", around(1.0));
  add_failed(next, "breaks");
  add_failed(next, "broken");
  add(next, "skips", around(1.0));
  next.points.back().measurement.make_primary().seconds.reset();
  next.points.back().measurement.skipped = "not today";
  add(next, "mended", around(1.0));
  const auto comparison = compare(base, next, {});
  EXPECT_EQ(comparison.points.size(), 1U);
  EXPECT_THAT(comparison.only_in_base, ElementsAre("old", "skips"));
  EXPECT_THAT(comparison.only_in_new, ElementsAre("mended", "new"));
  EXPECT_THAT(comparison.failed_in_new, ElementsAre("breaks"));
  EXPECT_TRUE(comparison.comparable);
}

TEST(Compare, OneFailedRepetitionIsAFailure) {
  gpubench::Run next = run_with(around(1.0));
  add_failed(next, "op");
  const auto comparison = compare(run_with(around(1.0)), next, {});
  EXPECT_THAT(comparison.failed_in_new, ElementsAre("op"));
  EXPECT_THAT(comparison.points, IsEmpty());
}

TEST(Compare, NamesWhatDiffers) {
  gpubench::Run base = run_with(around(1.0)), next = run_with(around(1.0));
  base.context.gpubench_version = "0.1.0";
  next.context.gpubench_version = "0.2.0";
  base.devices[0].properties = {{"driver", "550"}, {"ecc", "on"}, {"uuid", "A"}};
  next.devices[0].properties = {{"driver", "570"}, {"ecc", "on"}, {"mig", "off"}, {"uuid", "A"}};
  base.devices[0].max_clock_hz = 1.98e9;
  const auto comparison = compare(base, next, {});
  EXPECT_THAT(comparison.differences,
              ElementsAre("gpubench was '0.1.0', is '0.2.0'", "cpu: max clock was '1.980 GHz', is not known",
                          "cpu: driver was '550', is '570'", "cpu: mig was not known, is 'off'"));
  EXPECT_TRUE(comparison.comparable);
}

TEST(Compare, ADifferentDeviceIsNotComparable) {
  gpubench::Run base = run_with(around(1.0)), next = run_with(around(1.0));
  next.devices[0].name = "Another CPU";
  auto comparison = compare(base, next, {});
  EXPECT_FALSE(comparison.comparable);
  EXPECT_THAT(comparison.points, IsEmpty());
  EXPECT_THAT(comparison.forbidding, Contains("cpu: the device was 'Example CPU', is 'Another CPU'"));
  next = base;
  next.devices[0].kind = DeviceKind::gpu;
  EXPECT_FALSE(compare(base, next, {}).comparable);
}

TEST(Compare, NothingInCommonIsNotComparable) {
  EXPECT_FALSE(compare(run_with(around(1.0), "a"), run_with(around(1.0), "b"), {}).comparable);
  EXPECT_FALSE(compare(gpubench::Run{}, gpubench::Run{}, {}).comparable);
}

TEST(Compare, TimesThatAnswerDifferentQuestionsHaveNoRatio) {
  gpubench::Run base = run_with(around(1.0)), next = run_with(around(2.0));
  next.points[0].measurement.cache_state = "cold";
  const auto comparison = compare(base, next, {});
  EXPECT_THAT(comparison.points, IsEmpty());
  EXPECT_FALSE(comparison.comparable);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("1 point left out, because another run used another cache state")));
}

CompareOptions by_clock(TimingMode clock) {
  CompareOptions options = quiet();
  options.clock = clock;
  return options;
}

TEST(CompareClocks, TheClockAskedForIsCompared) {
  const auto base = clocked({{TimingMode::stream, 3.0}, {TimingMode::device, 2.0}}),
             next = clocked({{TimingMode::stream, 3.3}, {TimingMode::device, 2.0}});
  const auto own = compare(base, next, quiet());
  ASSERT_EQ(own.points.size(), 1U);
  EXPECT_EQ(own.points[0].clock, TimingMode::stream);
  EXPECT_EQ(own.points[0].change, Change::slower);
  const auto device = compare(base, next, by_clock(TimingMode::device));
  ASSERT_EQ(device.points.size(), 1U);
  EXPECT_EQ(device.points[0].clock, TimingMode::device);
  EXPECT_NEAR(device.points[0].new_seconds, 2.0, 1e-9);
  EXPECT_EQ(device.points[0].change, Change::same);
}

TEST(CompareClocks, PointsWithoutTheClockAreNamed) {
  gpubench::Run base = clocked({{TimingMode::stream, 3.0}, {TimingMode::device, 2.0}}, "both"), next = base;
  const auto add_point = [](gpubench::Run& run, const gpubench::Run& other) { run.points.push_back(other.points[0]); };
  add_point(base, clocked({{TimingMode::stream, 1.0}, {TimingMode::device, 1.0}}, "base alone"));
  add_point(next, clocked({{TimingMode::stream, 1.0}}, "base alone"));
  add_point(base, clocked({{TimingMode::stream, 1.0}}, "neither"));
  add_point(next, clocked({{TimingMode::latency, 1.0}}, "neither"));
  add_point(base, clocked({{TimingMode::stream, 1.0}, {TimingMode::device, 1.0}}, "failed"));
  add_point(next, clocked({{TimingMode::stream, 1.0}, {TimingMode::device, 1.0}}, "failed"));
  next.points.back().measurement.timings[1].seconds.reset();
  next.points.back().measurement.timings[1].reason = "cannot be captured";
  const auto comparison = compare(base, next, by_clock(TimingMode::device));
  ASSERT_EQ(comparison.points.size(), 1U);
  EXPECT_EQ(comparison.points[0].name, "both");
  ASSERT_EQ(comparison.left_out.size(), 3U);
  EXPECT_EQ(comparison.left_out[0].name, "base alone");
  EXPECT_EQ(comparison.left_out[0].reason, "no device time in the new run, timed by stream");
  EXPECT_EQ(comparison.left_out[1].reason, "no device time in either side, timed by stream and latency");
  EXPECT_EQ(comparison.left_out[2].reason, "no device time in the new run: cannot be captured");
}

TEST(CompareClocks, WhereOwnClocksDifferOneThatBothHaveIsCompared) {
  const auto base = clocked({{TimingMode::stream, 3.0}, {TimingMode::device, 2.0}}),
             next = clocked({{TimingMode::device, 2.0}});
  for (const auto& comparison : {compare(base, next, quiet()), compare(next, base, quiet())}) {
    ASSERT_EQ(comparison.points.size(), 1U);
    EXPECT_EQ(comparison.points[0].clock, TimingMode::device);
    EXPECT_EQ(comparison.points[0].change, Change::same);
    EXPECT_THAT(comparison.notes, Contains(HasSubstr("compared by a time that both sides have (first: op)")));
  }
}

TEST(CompareClocks, WithoutACommonClockThereIsNoRatio) {
  const auto comparison = compare(clocked({{TimingMode::stream, 3.0}}), clocked({{TimingMode::latency, 3.0}}), quiet());
  EXPECT_THAT(comparison.points, IsEmpty());
  ASSERT_EQ(comparison.left_out.size(), 1U);
  EXPECT_EQ(comparison.left_out[0].reason,
            "timed by stream in the base and by latency in the new run: no kind of time is in both");
  EXPECT_EQ(exit_code(comparison, FailOn::regression), 3);
}

TEST(CompareClocks, OfSeveralProcessesTheClockMostHaveCounts) {
  const auto both = clocked({{TimingMode::stream, 3.0}, {TimingMode::device, 2.0}});
  auto other = clocked({{TimingMode::device, 2.0}});
  other.context.created_utc = "1";
  const auto comparison = compare({both}, {both, other}, quiet());
  ASSERT_EQ(comparison.points.size(), 1U);
  EXPECT_EQ(comparison.points[0].clock, TimingMode::device);
  EXPECT_EQ(comparison.points[0].new_processes, 2);
}

TEST(Compare, TimesOfZeroHaveNoRatio) {
  const auto comparison = compare(run_with(around(0.0)), run_with(around(1.0)), {});
  EXPECT_THAT(comparison.points, IsEmpty());
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("because a time is not positive (first: op)")));
}

TEST(ExitCode, WorstComesFirst) {
  Comparison comparison;
  comparison.points.resize(1);
  comparison.points[0].change = Change::same;
  EXPECT_EQ(exit_code(comparison, FailOn::inconclusive), 0);
  comparison.points.resize(2);
  EXPECT_EQ(exit_code(comparison, FailOn::inconclusive), 4);
  EXPECT_EQ(exit_code(comparison, FailOn::regression), 0);
  comparison.points[0].change = Change::slower;
  EXPECT_EQ(exit_code(comparison, FailOn::inconclusive), 1);
  EXPECT_EQ(exit_code(comparison, FailOn::regression), 1);
  comparison.failed_in_new = {"op"};
  EXPECT_EQ(exit_code(comparison, FailOn::regression), 2);
  comparison.comparable = false;
  EXPECT_EQ(exit_code(comparison, FailOn::regression), 3);
  EXPECT_EQ(exit_code(comparison, FailOn::never), 0);
}

TEST(Compare, ARunComparedWithItselfIsTheSame) {
  const auto comparison = compare(sample_run(), sample_run(), quiet());
  EXPECT_EQ(comparison.points.size(), 8U);
  for (const auto& point : comparison.points) {
    EXPECT_EQ(point.change, Change::same) << point.name;
    EXPECT_EQ(point.ratio.value, 1.0);
  }
  EXPECT_THAT(comparison.differences, IsEmpty());
  EXPECT_EQ(exit_code(comparison, FailOn::inconclusive), 0);
}

TEST(CompareProcesses, OneProcessASideAssumesNoiseAndSaysSo) {
  const auto comparison = compare(run_with(around(1.0)), run_with(around(1.05)), {});
  ASSERT_EQ(comparison.points.size(), 1U);
  EXPECT_EQ(comparison.points[0].noise, NoiseSource::assumed);
  EXPECT_EQ(comparison.points[0].change, Change::inconclusive) << "22 % of noise hide 5 %";
  EXPECT_GT(comparison.points[0].min_seen, 0.08);
  EXPECT_EQ(compare(run_with(around(1.0)), run_with(around(3.0)), {}).points[0].change, Change::slower);
}

TEST(CompareProcesses, ShortTimesOfAGpuAreAssumedToDifferByMore) {
  const double at_two_us = assumed_noise(DeviceKind::gpu, 2e-6).deviation;
  EXPECT_NEAR(at_two_us, std::hypot(0.003, 0.03), 1e-12);
  EXPECT_NEAR(assumed_noise(DeviceKind::gpu, 1e-3).deviation, 0.003, 1e-5);
  EXPECT_EQ(assumed_noise(DeviceKind::cpu, 2e-6).deviation, assumed_noise(DeviceKind::cpu, 1.0).deviation);
}

TEST(CompareProcesses, TheProcessIsTheUnitNotTheSample) {
  // Within a process the samples agree to 0.1 %; the processes lie 10 % apart.
  const std::vector<double> scattered = {1.0, 1.1, 0.9, 1.05};
  const auto comparison = compare(processes(1.0, scattered), processes(1.04, scattered), {});
  ASSERT_EQ(comparison.points.size(), 1U);
  EXPECT_EQ(comparison.points[0].change, Change::inconclusive);
  EXPECT_NEAR(comparison.points[0].ratio.value, 1.04, 1e-9);
  EXPECT_EQ(comparison.points[0].base_processes, 4);
  EXPECT_NEAR(comparison.points[0].process_deviation, 0.086, 0.005);
  const std::vector<double> close = {1.0, 1.001, 0.999, 1.0005};
  EXPECT_EQ(compare(processes(1.0, close), processes(1.04, close), {}).points[0].change, Change::slower);
}

TEST(CompareProcesses, TheMoreCommonNoiseOfAllPointsIsNotTakenForMuchKnowledge) {
  // Two processes a side, and 100 points that move together: two degrees of freedom, not two hundred.
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("op" + std::to_string(i));
  const auto comparison = compare(processes(1.0, {1.0, 1.02}, names), processes(1.06, {1.0, 1.02}, names), {});
  for (const auto& point : comparison.points) EXPECT_EQ(point.change, Change::inconclusive);
}

TEST(CompareProcesses, PairsTakeOffWhatBothShare) {
  const std::vector<double> drifting = {1.0, 1.1, 1.2, 1.3, 1.4, 1.5};
  EXPECT_EQ(compare(processes(1.0, drifting), processes(1.05, drifting), {}).points[0].change, Change::inconclusive);
  const auto comparison = compare(processes(1.0, drifting), processes(1.05, drifting), in_pairs());
  EXPECT_EQ(comparison.points[0].change, Change::slower);
}

/// Processes on a machine where others come and go: some samples of each take `factors` times as long, a few do not.
std::vector<gpubench::Run> disturbed(double seconds, double slower_typically, const std::vector<double>& factors) {
  std::vector<gpubench::Run> runs;
  for (const double factor : factors) {
    std::vector<double> samples = around(seconds * slower_typically * factor, 0.001, 20);
    samples.push_back(seconds * (1.0 + 0.0003 * static_cast<double>(runs.size() % 5)));
    runs.push_back(run_with(samples));
    runs.back().context.created_utc = std::to_string(runs.size());
  }
  return runs;
}

TEST(CompareProcesses, PairsOnACpuAreToldByTheFastestSamplesWhereTheMediansAreDisturbed) {
  const std::vector<double> one = {1.1, 1.4, 1.1, 1.3, 1.2, 1.1, 1.5, 1.1, 1.2, 1.1};
  const std::vector<double> other = {1.3, 1.1, 1.1, 1.1, 1.4, 1.1, 1.1, 1.2, 1.1, 1.5};
  const auto slower = compare(disturbed(1.0, 1.0, one), disturbed(1.05, 1.0, other), in_pairs());
  EXPECT_EQ(slower.points[0].change, Change::slower);
  EXPECT_TRUE(slower.points[0].by_fastest);
  EXPECT_NEAR(slower.points[0].ratio.value, 1.05, 0.001);
  EXPECT_THAT(slower.notes, Contains(HasSubstr("told by the fastest sample")));
  const auto equal = compare(disturbed(1.0, 1.0, one), disturbed(1.0, 1.0, other), in_pairs());
  EXPECT_EQ(equal.points[0].change, Change::inconclusive) << "the medians leave a change open";
}

TEST(CompareProcesses, PairsWhoseMediansAloneChangedAreSlowerToo) {
  const std::vector<double> calm = {1.1, 1.101, 1.1, 1.102, 1.1, 1.101, 1.1, 1.1, 1.102, 1.1};
  const auto comparison = compare(disturbed(1.0, 1.0, calm), disturbed(1.0, 1.05, calm), in_pairs());
  EXPECT_EQ(comparison.points[0].change, Change::slower);
  EXPECT_FALSE(comparison.points[0].by_fastest);
  EXPECT_EQ(compare(disturbed(1.0, 1.0, calm), disturbed(1.0, 1.0, calm), in_pairs()).points[0].change, Change::same);
}

TEST(CompareProcesses, FurtherRunsOfTheSameCodeTellTheNoise) {
  const auto history = processes(2.0, {1.0, 1.001, 0.999, 1.002, 0.998});
  const auto comparison = compare(processes(1.0, {1.0}), processes(1.05, {1.0}), CompareOptions{}, {history});
  EXPECT_EQ(comparison.points[0].noise, NoiseSource::history);
  EXPECT_EQ(comparison.points[0].change, Change::slower);
}

TEST(CompareProcesses, TheSameRunTwiceCountsOnce) {
  auto base = processes(1.0, {1.0, 1.1});
  base.push_back(base[0]);
  const auto comparison = compare(base, processes(1.0, {1.0, 1.05}), {});
  EXPECT_EQ(comparison.base_processes, 2);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("1 run of the base side is a copy")));
}

TEST(CompareProcesses, SidesMeasuredOneAfterTheOtherAreNamed) {
  const auto base = processes(1.0, {1.0, 1.01, 1.02});
  auto next = base;
  for (auto& run : next) run.context.created_utc = "9" + run.context.created_utc;
  EXPECT_THAT(compare(base, next, {}).notes, Contains(HasSubstr("all runs of one side are older")));
  next[0].context.created_utc = "1";
  EXPECT_THAT(compare(base, next, {}).notes, Not(Contains(HasSubstr("all runs of one side are older"))));
}

TEST(CompareProcesses, GapsAndDuplicatesAreNamed) {
  auto next = processes(1.0, {1.0, 1.1, 1.2}, {"a", "b"});
  next[1].points.pop_back();
  add(next[2], "a", around(1.0));
  const auto comparison = compare(processes(1.0, {1.0, 1.1, 1.2}, {"a", "b"}), next, {});
  EXPECT_THAT(comparison.notes,
              Contains(HasSubstr("1 point not in all runs: compared in the runs that have it (first: b)")));
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("1 point more than once in one run file")));
}

TEST(CompareProcesses, AnotherCardForbidsUnlessForced) {
  gpubench::Run base = sample_run(), next = sample_run();
  next.devices[0].properties["uuid"] = "GPU-9999";
  next.devices[0].properties["driver"] = "575.2";
  auto comparison = compare(base, next, quiet());
  EXPECT_FALSE(comparison.comparable);
  EXPECT_EQ(exit_code(comparison, FailOn::regression), 3);
  EXPECT_THAT(comparison.forbidding, ElementsAre("cuda:0: uuid was 'GPU-0123', is 'GPU-9999'"));
  EXPECT_THAT(comparison.differences, ElementsAre("cuda:0: driver was '570.1', is '575.2'"));
  CompareOptions options = quiet();
  options.force = true;
  comparison = compare(base, next, options);
  EXPECT_TRUE(comparison.comparable);
  EXPECT_TRUE(comparison.forced);
  EXPECT_FALSE(comparison.points.empty());
  EXPECT_EQ(exit_code(comparison, FailOn::regression), 0);
  next.devices[0].properties.erase("uuid");
  EXPECT_TRUE(compare(base, next, quiet()).comparable) << "what an older run does not know forbids nothing";
}

/// Runs of 1 s times a factor, each on the card of its name.
std::vector<gpubench::Run> on_cards(const std::vector<std::pair<std::string, double>>& cards) {
  std::vector<gpubench::Run> runs;
  for (const auto& [card, factor] : cards) {
    runs.push_back(processes(1.0, {factor}, {"a", "b", "c"}).front());
    runs.back().devices[0].kind = DeviceKind::gpu;
    runs.back().devices[0].properties["uuid"] = card;
    runs.back().context.created_utc = std::to_string(runs.size() % 2);
  }
  return runs;
}

CompareOptions same_model() {
  CompareOptions options;
  options.same_model = true;
  return options;
}

TEST(SameModel, TwoCardsAreComparedWithTheirSpread) {
  const auto base = on_cards({{"GPU-A", 1.0}, {"GPU-A", 1.0005}, {"GPU-A", 0.9995}});
  const auto near = on_cards({{"GPU-B", 1.03}, {"GPU-B", 1.0305}, {"GPU-B", 1.0295}});
  EXPECT_FALSE(compare(base, near, {}).comparable);
  auto comparison = compare(base, near, same_model());
  EXPECT_TRUE(comparison.comparable);
  for (const ComparedPoint& point : comparison.points) EXPECT_EQ(point.change, Change::inconclusive);
  EXPECT_THAT(comparison.differences, Contains("cpu: uuid was 'GPU-A', is 'GPU-B'"));
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("the base is of GPU-A, the new side of GPU-B: 2 % is added")));
  EXPECT_TRUE(comparison.operations.empty()) << "nothing tells what operations differ by between cards";
  comparison = compare(base, on_cards({{"GPU-B", 1.3}, {"GPU-B", 1.3005}, {"GPU-B", 1.2995}}), same_model());
  for (const ComparedPoint& point : comparison.points) EXPECT_EQ(point.change, Change::slower);
  const auto again = on_cards({{"GPU-A", 1.03}, {"GPU-A", 1.0305}, {"GPU-A", 1.0295}});
  for (const ComparedPoint& point : compare(base, again, same_model()).points)
    EXPECT_EQ(point.change, Change::slower) << "one card has no spread between cards";
}

TEST(SameModel, OfSeveralCardsTheCardIsTheUnit) {
  // Six processes a side would find 1.5 %; they are of three cards, which differ by as much.
  std::vector<std::pair<std::string, double>> base, next;
  for (const auto& [card, factor] : {std::pair{"GPU-A", 1.0}, {"GPU-B", 1.015}, {"GPU-C", 0.985}})
    for (const double of_process : {0.9999, 1.0001}) base.emplace_back(card, factor * of_process);
  for (const auto& [card, factor] : {std::pair{"GPU-D", 1.03}, {"GPU-E", 1.045}, {"GPU-F", 1.015}})
    for (const double of_process : {0.9999, 1.0001}) next.emplace_back(card, factor * of_process);
  const auto comparison = compare(on_cards(base), on_cards(next), same_model());
  EXPECT_TRUE(comparison.cards);
  EXPECT_EQ(comparison.base_processes, 3);
  EXPECT_EQ(comparison.new_processes, 3);
  for (const ComparedPoint& point : comparison.points) {
    EXPECT_EQ(point.change, Change::inconclusive);
    EXPECT_NEAR(point.process_deviation, 0.015, 0.002);
    EXPECT_NEAR(point.ratio.value, 1.03, 0.001);
  }
}

TEST(CompareProcesses, CodeUnchangedTimeChangedIsSaid) {
  gpubench::Run base = run_with(around(1.0)), next = run_with(around(1.5));
  base.context.environment["host_code"] = next.context.environment["host_code"] = "x";
  auto comparison = compare(base, next, quiet());
  EXPECT_EQ(comparison.code, CodeChange::same);
  next.context.environment["host_code"] = "y";
  comparison = compare(base, next, quiet());
  EXPECT_EQ(comparison.code, CodeChange::differs);
  EXPECT_THAT(comparison.differences, IsEmpty());
  next.context.environment.clear();
  EXPECT_EQ(compare(base, next, quiet()).code, CodeChange::not_known);
}

TEST(CompareProcesses, WhatIsKnownOfTheKernelsIsSaid) {
  gpubench::Run base = run_with(around(1.0)), next = run_with(around(1.5));
  KernelLaunch kernel;
  kernel.name = "scale(float*)";
  kernel.grid = {132, 1, 1};
  kernel.registers = 32;
  kernel.local_bytes = 0;
  for (gpubench::Run* run : {&base, &next}) run->points[0].measurement.activity.emplace().kernels = {kernel};
  EXPECT_EQ(compare(base, next, quiet()).points[0].kernels, "the same kernels and launches, code not known");
  for (gpubench::Run* run : {&base, &next}) run->points[0].measurement.activity->kernels[0].code = "fnv1a64: 1";
  EXPECT_EQ(compare(base, next, quiet()).points[0].kernels, "the same kernels, code and launches");
  next.points[0].measurement.activity->kernels[0].code = "fnv1a64: 2";
  EXPECT_EQ(compare(base, next, quiet()).points[0].kernels, "kernel scale(float*): code differs");
  next.points[0].measurement.activity->kernels[0].code = "fnv1a64: 1";
  next.points[0].measurement.activity->kernels[0].registers = 40;
  next.points[0].measurement.activity->kernels[0].grid[0] = 264;
  next.points[0].measurement.activity->kernels[0].local_bytes = 16;
  const auto comparison = compare(base, next, quiet());
  EXPECT_EQ(comparison.points[0].kernels,
            "grid 132x1x1 -> 264x1x1, registers 32 -> 40, local bytes per thread (spills) 0 -> 16, same code");
  next.points[0].measurement.activity.reset();
  EXPECT_EQ(compare(base, next, quiet()).points[0].kernels, "");
  for (gpubench::Run* run : {&base, &next}) {
    run->points[0].measurement.launches = Launches{1, 132, 0};
    run->points[0].measurement.grid = Grid{132, 8};
  }
  EXPECT_EQ(compare(base, next, quiet()).points[0].kernels, "");
  next.points[0].measurement.launches = Launches{1, 264, 132};
  next.points[0].measurement.grid = Grid{264, 4};
  EXPECT_EQ(compare(base, next, quiet()).points[0].kernels,
            "blocks 132 -> 264, resident blocks per multiprocessor 8 -> 4");
}

TEST(BoundOf, NamesWhatLatencyWaitsFor) {
  Verdict verdict;
  verdict.regime = Regime::latency;
  for (const auto& [limiter, text] : {std::pair("few-blocks", "latency-bound (too few blocks)"),
                                      std::pair("latency", "latency-bound"), std::pair("dram", "latency-bound")}) {
    verdict.limiter = limiter;
    EXPECT_EQ(bound_of(&verdict), text);
  }
}

TEST(Comparability, CodeWithoutOptimisationOnOneSideForbids) {
  gpubench::Run old = run_with(around(1e-3));
  gpubench::Run now = old;
  for (Point& point : old.points) point.measurement.unoptimized_code = false;
  for (Point& point : now.points) point.measurement.unoptimized_code = true;
  EXPECT_THAT(comparability_of(old, now).forbidding,
              ElementsAre("op: compiled without optimisation on the new side alone"));
  EXPECT_TRUE(comparability_of(now, now).forbidding.empty());
  EXPECT_THAT(comparability_of(now, now).notes, ElementsAre("op was compiled without optimisation on both sides"));
  for (Point& point : old.points) point.measurement.unoptimized_code.reset();
  EXPECT_TRUE(comparability_of(old, now).forbidding.empty()) << "what one run does not know forbids nothing";
}

/// Slower, faster and same are what the interval beside them says, whatever the noise and the number of points.
void expect_interval_decides(const Comparison& comparison, double min_effect) {
  for (const ComparedPoint& point : comparison.points) {
    ASSERT_TRUE(point.interval);
    const auto [low, high] = *point.interval;
    const bool above = low > 1.0 + min_effect, below = high < 1.0 - min_effect;
    const bool within = low >= 1.0 - min_effect && high <= 1.0 + min_effect;
    EXPECT_EQ(point.change == Change::slower, above) << point.name << " " << low << " " << high;
    EXPECT_EQ(point.change == Change::faster, below) << point.name << " " << low << " " << high;
    EXPECT_EQ(point.change == Change::same, within) << point.name << " " << low << " " << high;
    EXPECT_FALSE(point.interval_contains.empty());
  }
}

TEST(Interval, TheOneThatIsShownDecides) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  constexpr double ratios[] = {1.0, 1.004, 1.013, 1.03, 0.97, 1.2};
  for (int round = 0; round < 60; ++round) {
    std::vector<gpubench::Run> sides[2];
    for (int process = 0; process < 4; ++process)
      for (int side = 0; side < 2; ++side) {
        gpubench::Run run;
        run.devices.push_back({});
        run.devices.back().id = "cpu";
        for (int i = 0; i < 12; ++i) {
          const double ratio = side == 0 ? 1.0 : ratios[i % 6];
          add(run, "op" + std::to_string(i), around(ratio * std::exp(0.002 * (1 + round % 5) * normal(random))));
        }
        run.context.created_utc = std::to_string(2 * process + side);
        sides[side].push_back(run);
      }
    for (const bool paired : {false, true}) {
      CompareOptions options;
      options.paired = paired;
      const Comparison found = compare(sides[0], sides[1], options);
      ASSERT_EQ(found.points.size(), 12U);
      expect_interval_decides(found, options.min_effect);
    }
  }
}

TEST(Interval, IsWiderForManyPointsAndSaysSo) {
  const auto base = processes(1.0, {1.0, 1.003, 0.998, 1.001}, {"a", "b", "c", "d"});
  const auto next = processes(1.05, {1.0, 1.003, 0.998, 1.001}, {"a", "b", "c", "d"});
  const Comparison found = compare(base, next, {});
  const ComparedPoint& point = found.points.at(0);
  EXPECT_GT(point.interval_confidence, 0.98);
  EXPECT_LT(point.interval->low, point.ratio.ci95.low);
  EXPECT_EQ(point.interval_contains.back(), "all points at once");
}

TEST(Interval, IsAbsentWithTooFewSamples) {
  const Comparison found = compare(run_with(around(1.0, 0.001, 3)), run_with(around(2.0, 0.001, 3)), quiet());
  EXPECT_EQ(found.points.at(0).change, Change::inconclusive);
  EXPECT_FALSE(found.points.at(0).interval);
}

}  // namespace
}  // namespace gpubench::compare
