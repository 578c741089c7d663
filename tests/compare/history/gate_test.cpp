// SPDX-License-Identifier: Apache-2.0
#include "compare/history/gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "compare/history/history.h"
#include "core/statistics/statistics.h"
#include "tests/matchers.h"

namespace gpubench::compare {
namespace {

constexpr int points = 20;

/// A machine whose processes and updates differ at random, in logarithms.
class Machine {
 public:
  Machine(double process_deviation, double update_deviation, std::uint64_t seed)
      : process_deviation_(process_deviation), update_deviation_(update_deviation), random_(seed) {}

  /// Runs of one update, with the first point slowed down by `factor`.
  std::vector<gpubench::Run> update(int processes, double factor = 1.0, const std::string& code = "") {
    std::normal_distribution<double> normal;
    const double update = update_deviation_ * normal(random_);
    std::vector<gpubench::Run> runs;
    for (int i = 0; i < processes; ++i) {
      gpubench::Run run;
      run.context.created_utc = std::to_string(++count_);
      if (!code.empty()) run.context.environment["host_code"] = code;
      run.devices.emplace_back();
      run.devices.back().id = "cpu";
      run.devices.back().name = "Example CPU";
      for (int p = 0; p < points; ++p) {
        Measurement measurement;
        measurement.name = "op" + std::to_string(p);
        measurement.device = "cpu";
        const double time =
            1e-5 * (p + 1) * (p == 0 ? factor : 1.0) * std::exp(update + process_deviation_ * normal(random_));
        measurement.make_primary().seconds = statistics::summarize(std::vector<double>(10, time));
        run.points.push_back({measurement, std::nullopt});
      }
      runs.push_back(run);
    }
    return runs;
  }

  storage::BaselineEntry entry(int number, int processes, double factor = 1.0, const std::string& code = "") {
    return {number, "v" + std::to_string(number), "2026-01-01T00:00:00Z", {}, {}, update(processes, factor, code)};
  }

 private:
  double process_deviation_, update_deviation_;
  std::mt19937_64 random_;
  int count_ = 0;
};

int changed(const Comparison& comparison) {
  int count = 0;
  for (const auto& point : comparison.points)
    count += point.change == Change::slower || point.change == Change::faster ? 1 : 0;
  return count;
}

TEST(Gate, FindsWhatIsSlowerThanTheNewestEntry) {
  Machine machine(0.003, 0.0, 1);
  const std::vector entries = {machine.entry(1, 5, 1.0, "a"), machine.entry(2, 5, 1.5, "b")};
  const auto comparison = check_against(entries, machine.update(5, 1.6, "c"), {});
  EXPECT_EQ(changed(comparison), 1);
  EXPECT_EQ(comparison.points[0].change, Change::slower);
  EXPECT_NEAR(comparison.points[0].ratio.value, 1.6 / 1.5, 0.01);
  EXPECT_EQ(comparison.points[0].noise, NoiseSource::history);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("the baseline is entry 2 (v2)")));
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("of 1 update:")));
  EXPECT_EQ(exit_code(comparison, FailOn::regression), 1);
  EXPECT_EQ(changed(check_against(entries, machine.update(5, 1.5, "c"), {})), 0);
}

TEST(Gate, WithThreeUpdatesOfOneCodeTheUpdateIsTheUnit) {
  // Updates lie 3 % apart, processes of one update 0.2 %: against the process noise alone every point would be an
  // alarm, so that what changes between two series is added to it.
  Machine machine(0.002, 0.03, 2);
  int alarms_by_update = 0, alarms_by_process = 0;
  for (int i = 0; i < 20; ++i) {
    std::vector<storage::BaselineEntry> known, unknown;
    for (int e = 1; e <= 5; ++e) {
      known.push_back(machine.entry(e, 3, 1.0, "a"));
      unknown.push_back(known.back());
      for (auto& run : unknown.back().runs) run.context.environment.clear();
    }
    const auto runs = machine.update(3, 1.0, "a");
    const auto by_update = check_against(known, runs, {});
    EXPECT_TRUE(by_update.updates);
    EXPECT_EQ(by_update.base_processes, 5);
    EXPECT_EQ(by_update.new_processes, 1);
    alarms_by_update += changed(by_update);
    const auto by_process = check_against(unknown, runs, {});
    EXPECT_FALSE(by_process.updates);
    alarms_by_process += changed(by_process);
  }
  EXPECT_LE(alarms_by_update, 20 * points / 50);
  EXPECT_LE(alarms_by_process, 20 * points / 50);
}

TEST(Gate, OneProcessUnderLoadDoesNotHideASlowDown) {
  Machine machine(0.002, 0.003, 6);
  std::vector<storage::BaselineEntry> entries;
  for (int e = 1; e <= 3; ++e) entries.push_back(machine.entry(e, 3, 1.0, "a"));
  auto runs = machine.update(3, 2.0, "a");
  for (gpubench::Run& run : runs)
    for (Point& point : run.points) point.measurement.conditions.emplace().core_share = 1.0;
  runs[0].points[0].measurement.conditions->core_share = 0.6;
  const auto comparison = check_against(entries, runs, {});
  EXPECT_EQ(comparison.points[0].change, Change::slower);
  EXPECT_THAT(comparison.notes, Not(Contains(HasSubstr("is added to the noise")))) << "it is in what updates differ by";
}

TEST(Gate, EntriesThatDoNotTellTheirCodeTeachTheNoiseUntilAStep) {
  Machine machine(0.04, 0.0, 5);
  std::vector<storage::BaselineEntry> entries;
  for (int e = 1; e <= 8; ++e) entries.push_back(machine.entry(e, 1, e <= 4 ? 3.0 : 1.0));
  const auto runs = machine.update(1, 1.65);
  EXPECT_EQ(check_against(entries, runs, {}).points[0].change, Change::inconclusive);
  const auto comparison = check_against(entries, runs, {}, true);
  EXPECT_TRUE(comparison.updates);
  EXPECT_EQ(comparison.base_processes, 4);
  EXPECT_EQ(comparison.points[0].change, Change::slower);
  EXPECT_NEAR(comparison.points[0].ratio.value, 1.65, 0.25);
  EXPECT_EQ(changed(check_against(entries, machine.update(1, 1.0), {}, true)), 0);
}

TEST(Gate, AFailureInOneProcessIsAFailure) {
  Machine machine(0.002, 0.01, 3);
  std::vector<storage::BaselineEntry> entries;
  for (int e = 1; e <= 3; ++e) entries.push_back(machine.entry(e, 2, 1.0, "a"));
  auto runs = machine.update(2, 1.0, "a");
  runs[1].points[4].measurement.make_primary().seconds.reset();
  runs[1].points[4].measurement.failure = Failure{FailureKind::error, "gone"};
  const auto comparison = check_against(entries, runs, {});
  EXPECT_THAT(comparison.failed_in_new, ElementsAre("op4"));
  EXPECT_EQ(exit_code(comparison, FailOn::regression), 2);
}

/// Each point is timed by "stream", and by "device", whose times are `factor` of that.
void add_device_clock(std::vector<gpubench::Run>& runs, double factor) {
  for (gpubench::Run& run : runs)
    for (Point& point : run.points) {
      point.measurement.make_primary().clock = TimingMode::stream;
      Timing timing;
      timing.clock = TimingMode::device;
      timing.seconds = statistics::summarize(std::vector<double>(10, factor * point.measurement.seconds()->median));
      point.measurement.timings = {point.measurement.primary(), timing};
    }
}

TEST(Gate, TheClockThatTheBaselineIsForIsCompared) {
  for (const int updates : {1, 3}) {
    Machine machine(0.002, 0.0, 7);
    std::vector<storage::BaselineEntry> entries;
    for (int i = 0; i < updates; ++i) {
      entries.push_back(machine.entry(i + 1, 3, 1.0, "a"));
      entries.back().clock = TimingMode::device;
      add_device_clock(entries.back().runs, 0.5);
    }
    auto next = machine.update(3, 1.0, "a");
    add_device_clock(next, 1.0);
    const auto device = check_against(entries, next, {});
    ASSERT_EQ(device.points.size(), std::size_t{points}) << updates;
    EXPECT_EQ(device.points[0].clock, TimingMode::device);
    EXPECT_NEAR(device.points[0].ratio.value, 2.0, 0.04);
    EXPECT_EQ(changed(device), points);
    CompareOptions options;
    options.clock = TimingMode::stream;
    EXPECT_EQ(changed(check_against(entries, next, options)), 0) << updates;
  }
}

TEST(Gate, AMeanOverProcessesIsOfOneClock) {
  Machine machine(0.002, 0.0, 7);
  std::vector<storage::BaselineEntry> entries;
  for (int i = 0; i < 3; ++i) {
    entries.push_back(machine.entry(i + 1, 3, 1.0, "a"));
    add_device_clock(entries.back().runs, 0.5);
    for (Point& point : entries.back().runs[1].points) {  // this process was timed by "device" alone
      point.measurement.timings.erase(point.measurement.timings.begin());
    }
  }
  auto next = machine.update(3, 1.0, "a");
  add_device_clock(next, 0.5);
  const auto comparison = check_against(entries, next, {});
  ASSERT_EQ(comparison.points.size(), std::size_t{points});
  EXPECT_NEAR(comparison.points[0].ratio.value, 1.0, 0.02);
}

TEST(History, SaysInWhichEntryAStepCame) {
  Machine machine(0.004, 0.002, 4);
  std::vector<storage::BaselineEntry> entries;
  for (int e = 1; e <= 12; ++e) entries.push_back(machine.entry(e, 3, e < 9 ? 1.0 : 1.04, e < 9 ? "old" : "new"));
  const History history = history_of(entries, 0.01);
  ASSERT_EQ(history.steps.size(), 1U);
  EXPECT_EQ(history.steps[0].name, "op0");
  EXPECT_EQ(history.steps[0].entry, 9);
  EXPECT_EQ(history.steps[0].label, "v9");
  EXPECT_EQ(history.steps[0].code, CodeChange::differs);
  EXPECT_NEAR(history.steps[0].ratio(), 1.04, 0.01);
}

TEST(History, NoiseMakesFewSteps) {
  // Updates move all points together, so what counts is how many histories have any.
  int histories = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Machine machine(0.01, 0.02, seed);
    std::vector<storage::BaselineEntry> entries;
    for (int e = 1; e <= 30; ++e) entries.push_back(machine.entry(e, 2));
    histories += history_of(entries, 0.01).steps.empty() ? 0 : 1;
  }
  EXPECT_LE(histories, 4);
}

TEST(History, KeepsTheTimesOfEachPointByEntry) {
  Machine machine(0.004, 0.002, 6);
  std::vector<storage::BaselineEntry> entries;
  for (int e = 1; e <= 10; ++e) entries.push_back(machine.entry(e, 2));
  std::erase_if(entries[3].runs[0].points, [](const Point& point) { return point.measurement.name == "op1"; });
  std::erase_if(entries[3].runs[1].points, [](const Point& point) { return point.measurement.name == "op1"; });
  const History history = history_of(entries, 0.01);
  ASSERT_EQ(history.entries.size(), 10U);
  EXPECT_EQ(history.entries[9].number, 10);
  ASSERT_EQ(history.points.size(), static_cast<std::size_t>(points));
  const auto point = std::ranges::find(history.points, "op1", &HistoryPoint::name);
  ASSERT_NE(point, history.points.end());
  EXPECT_TRUE(std::isnan(point->log_seconds[3]));
  EXPECT_NEAR(std::exp(point->log_seconds[4]), 2e-5, 1e-6);
  EXPECT_NEAR(point->last_seconds, 2e-5, 1e-6);
}

TEST(History, ALevelOfOneEntryIsMarked) {
  Machine machine(0.004, 0.002, 7);
  std::vector<storage::BaselineEntry> entries;
  for (int e = 1; e <= 12; ++e) entries.push_back(machine.entry(e, 3, e < 12 ? 1.0 : 1.5));
  const History history = history_of(entries, 0.01);
  ASSERT_EQ(history.steps.size(), 1U);
  EXPECT_EQ(history.steps[0].entries_after, 1U);
}

TEST(History, EachMachineStatePersistsInTheNoise) {
  // Updates share a state that lasts: as steps these would be false, and the correlation of all points tells.
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  double state = 0.0;
  std::vector<storage::BaselineEntry> entries;
  Machine machine(0.002, 0.0, 8);
  for (int e = 1; e <= 120; ++e) {
    state = 0.7 * state + 0.02 * normal(random);
    entries.push_back(machine.entry(e, 1));
    for (Point& point : entries.back().runs.front().points) {
      Summary& seconds = *point.measurement.make_primary().seconds;
      seconds.median *= std::exp(state);
    }
  }
  const History history = history_of(entries, 0.01);
  EXPECT_GT(history.correlation, 0.4);
  EXPECT_THAT(history.steps, IsEmpty());
}

TEST(History, OfOneEntryHasNoStep) {
  Machine machine(0.01, 0.0, 5);
  const History history = history_of({machine.entry(1, 3)}, 0.01);
  EXPECT_THAT(history.steps, IsEmpty());
}

}  // namespace
}  // namespace gpubench::compare
