// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "compare/noise/noise.h"
#include "reports/comparisons.h"
#include "tests/compare/compared_runs.h"
#include "tests/matchers.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

using compare::around;
using compare::clocked;
using compare::quiet;
using compare::run_with;

std::string console_text(const gpubench::Run& base, const gpubench::Run& next,
                         const compare::CompareOptions& options = quiet()) {
  return console(compare::compare(base, next, options), {false, 200});
}

TEST(ComparisonText, NamesTheClockThatWasAskedFor) {
  const gpubench::Run run = clocked({{TimingMode::stream, 3.0}, {TimingMode::device, 2.0}});
  compare::CompareOptions options = quiet();
  options.clock = TimingMode::device;
  const auto comparison = compare::compare(run, run, options);
  EXPECT_THAT(console(comparison, {false, 200}), HasSubstr("Times compared: device (the operation alone)."));
  EXPECT_THAT(markdown(comparison), HasSubstr("| device |"));
  EXPECT_EQ(nlohmann::json::parse(json(comparison))["points"][0]["clock"], "device");
}

TEST(ComparisonText, NamesWhatIsLeftOut) {
  compare::Comparison comparison;
  comparison.points.resize(1);
  comparison.left_out = {{"one", "no device time"}, {"two", "no device time in the new run"}};
  const std::string text = console(comparison, {false, 200});
  EXPECT_THAT(text, HasSubstr("left out: two: no device time in the new run"));
  EXPECT_THAT(text, HasSubstr("2 left out"));
  EXPECT_THAT(markdown(comparison), HasSubstr("- left out: one: no device time"));
  EXPECT_EQ(nlohmann::json::parse(json(comparison))["left_out"][0]["name"], "one");
  EXPECT_THAT(csv(comparison), HasSubstr("left out"));
}

TEST(ComparisonText, TheTableNamesTheClockOfEachPointWhereTheyDiffer) {
  gpubench::Run base = clocked({{TimingMode::stream, 3.0}});
  base.points.push_back(clocked({{TimingMode::host, 1.0}}, "on the host").points[0]);
  const std::string text = console(compare::compare(base, base, quiet()), {false, 200});
  EXPECT_THAT(text, HasSubstr(" timed by "));
  EXPECT_THAT(text, HasSubstr("Times compared: stream (launched back to back) at 1 point, host at 1 point."));
}

TEST(ComparisonText, JsonIsValidAndComplete) {
  gpubench::Run next = sample_run();
  next.points[0].measurement.make_primary().seconds->median *= 1.5;
  const auto comparison = compare::compare(sample_run(), next, quiet());
  const auto document = nlohmann::json::parse(json(comparison));
  EXPECT_EQ(document["schema"]["name"], "gpubench-comparison");
  ASSERT_EQ(document["points"].size(), 8U);
  EXPECT_EQ(document["points"][0]["change"], "slower");
  EXPECT_DOUBLE_EQ(document["points"][0]["ratio"], 1.5);
}

TEST(ComparisonText, AChangeOfTheLimitIsSaidInWords) {
  gpubench::Run base = run_with(around(1.0)), next = run_with(around(1.5));
  base.points[0].verdict.emplace();
  base.points[0].verdict->regime = Regime::memory;
  base.points[0].verdict->limiter = "dram";
  base.points[0].verdict->achieved = 0.91;
  next.points[0].verdict.emplace();
  next.points[0].verdict->regime = Regime::overhead;
  next.points[0].verdict->limiter = "launch";
  EXPECT_THAT(console(compare::compare(base, next, quiet()), {false, 200}),
              HasSubstr("op went from DRAM-bound at 91 % to launch-bound"));
}

TEST(ComparisonText, SaysWhatItRestsOn) {
  EXPECT_THAT(console_text(clocked({{TimingMode::stream, 3.0}}), clocked({{TimingMode::latency, 3.0}})),
              HasSubstr("not comparable: no point can be compared"));
  EXPECT_THAT(console_text(run_with(around(1.0)), run_with(around(1.05)), {}),
              HasSubstr("one run a side does not show"));
  gpubench::Run base = run_with(around(1.0)), next = run_with(around(1.5));
  base.context.environment = next.context.environment = {{"host_code", "x"}};
  EXPECT_THAT(markdown(compare::compare(base, next, quiet())), HasSubstr("Code unchanged, time changed"));
  base.context.environment = {{"host_code", "a"}, {"device_code", "k"}};
  next.context.environment = {{"host_code", "b"}, {"device_code", "k"}};
  EXPECT_THAT(console_text(base, next), HasSubstr("The kernels of both programs are the same"));
  auto forced = compare::compare(base, next, quiet());
  forced.forced = true;
  forced.forbidding = {"cuda:0: uuid was '1', is '2'"};
  EXPECT_THAT(console(forced, {false, 200}), HasSubstr("by --force"));
}

TEST(ComparisonText, SaysWhyInEveryFormat) {
  auto comparison = compare::compare(run_with(around(1.0)), run_with(around(1.5)), quiet());
  comparison.points.at(0).causes = {{{compare::CauseKind::occupancy, "32 -> 40 registers a thread", 0.8},
                                     {compare::CauseKind::code, "its machine code differs", std::nullopt}},
                                    "20 % of the change is left.",
                                    "Counters could tell more."};
  for (const std::string& text : {console(comparison, {false, 200}), markdown(comparison)}) {
    EXPECT_THAT(text, HasSubstr("registers a thread (80 % of the change)"));
    EXPECT_THAT(text, HasSubstr("20 % of the change is left."));
    EXPECT_THAT(text, HasSubstr("Counters could tell more."));
  }
  EXPECT_THAT(csv(comparison), HasSubstr("32 -> 40 registers a thread; its machine code differs"));
  const auto point = nlohmann::json::parse(json(comparison))["points"][0];
  EXPECT_EQ(point["causes"][0]["kind"], "occupancy");
  EXPECT_EQ(point["causes"][0]["share"], 0.8);
  EXPECT_FALSE(point["causes"][1].contains("share"));
  comparison.points.at(0).change = compare::Change::same;
  EXPECT_THAT(console(comparison, {false, 200}), Not(HasSubstr("registers")));
}

TEST(ComparisonText, ShowsTheIntervalThatDecidesAndWhatItContains) {
  const auto comparison = compare::compare(run_with(around(1.0)), run_with(around(1.5)), quiet());
  const auto point = nlohmann::json::parse(json(comparison))["points"][0];
  EXPECT_EQ(point["interval"].size(), 2U);
  EXPECT_EQ(point["interval_contains"][0], "differences between processes, as given");
  EXPECT_GT(point["smallest_slow_down_seen"], 0.01);
  const std::string text = console(comparison, {false, 300});
  EXPECT_THAT(text, HasSubstr(interval_text(comparison.points.at(0))));
  EXPECT_THAT(text, HasSubstr("It contains: differences between processes, as given"));
  EXPECT_THAT(text, HasSubstr("seen from"));
  auto none = comparison;
  none.points.at(0).interval.reset();
  EXPECT_THAT(console(none, {false, 300}), HasSubstr("none: few samples"));
  EXPECT_FALSE(nlohmann::json::parse(json(none))["points"][0].contains("interval"));
}

TEST(HistoryText, NamesEntriesAndTheirLabels) {
  compare::History history;
  history.entries.resize(1);
  EXPECT_THAT(console(history, {false, 80}), HasSubstr("1 entry"));
  history.entries.resize(12);
  history.points.resize(1);
  history.steps = {{"op0", "cpu", 9, "v9", "2026-01-01T00:00:00Z", 1.0, 1.04, compare::CodeChange::differs}};
  EXPECT_THAT(console(history, {false, 120}), HasSubstr("9 (v9)"));
  EXPECT_EQ(nlohmann::json::parse(json(history))["steps"][0]["entry"], 9);
  EXPECT_THAT(markdown(history), HasSubstr("slower"));
  EXPECT_THAT(csv(history), HasSubstr("op0,cpu,9,v9"));
}

TEST(HistoryText, TellsDriftsAndLevelsOfOneEntry) {
  compare::History history;
  history.entries.resize(12);
  history.points.resize(2);
  history.steps.push_back({"op0", "cpu", 4, std::string(40, 'a'), "2026-01-01", 1.0, 1.1});
  history.steps[0].until_entry = 9;
  history.steps.push_back({"op1", "cpu", 12, "", "2026-01-01", 1.0, 2.0});
  history.steps.back().entries_after = 1;
  EXPECT_EQ(summary_of(history), "1 step and 1 drift in 2 points over 12 entries");
  EXPECT_EQ(entry_text(history.steps[0]), "4 (aaaaaaaaaa) to 9");
  EXPECT_EQ(change_text(history.steps[1]), "2.00x slower, once");
  const auto steps = nlohmann::json::parse(json(history))["steps"];
  EXPECT_EQ(steps[0]["kind"], "drift");
  EXPECT_EQ(steps[0]["until_entry"], 9);
  EXPECT_FALSE(steps[1].contains("rearranged_p")) << "not tested is absent";
}

compare::History small_history(const std::string& name, std::size_t entries = 3) {
  compare::History history;
  for (std::size_t i = 0; i < entries; ++i) history.entries.push_back({static_cast<int>(i) + 1, name, name, 1});
  history.points.push_back({name, "cpu", TimingMode::host, std::vector<float>(entries, -7.0F), 1e-3, 1e-3});
  history.points[0].log_seconds[1] = std::nanf("");
  history.steps.push_back({name, "cpu", 3, name, name, 1e-3, 2e-3});
  history.steps[0].place = 2;
  history.steps[0].commits = {{"abc", name, name, name}};
  return history;
}

TEST(HistoryPage, TextFromElsewhereIsNoMarkup) {
  const std::string page = html(small_history("</script><img src=x onerror=alert(1)>\x1b[31m"), {{"<b>", "<i>"}});
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
}

TEST(HistoryPage, LongHistoriesOfManyPointsStaySmall) {
  compare::History history = small_history("op", 1000);
  history.steps.clear();
  history.points.resize(10'000, history.points[0]);
  std::uint32_t state = 1;
  for (compare::HistoryPoint& point : history.points)
    for (float& value : point.log_seconds) value = static_cast<float>((state = state * 1664525U + 1013904223U) >> 8U);
  EXPECT_LT(html(history, {}).size(), std::size_t{3} << 20U);
}

TEST(ComparisonText, AWaterfallOfProfilesAddsUp) {
  compare::Comparison comparison;
  compare::ProgramChange& program = comparison.program.emplace();
  program.base_seconds = 10e-3;
  program.new_seconds = 12e-3;
  program.groups = {{"gemm", "", "step", "cuda:0", compare::Match::same, 5e-3, 8e-3, 4, 4},
                    {"new_name", "old_name", "step", "cuda:0", compare::Match::renamed, 3e-3, 2.5e-3, 1, 2}};
  program.rest_seconds = -0.5e-3;
  program.rest_groups = 7;
  const Rows rows = waterfall_rows(comparison);
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[1], (std::vector<std::string>{"gemm", "", "4", "+3.000 ms", "13.00 ms"}));
  EXPECT_EQ(rows[2],
            (std::vector<std::string>{"new_name", "renamed, was old_name", "1 -> 2", "-500.0 us", "12.50 ms"}));
  EXPECT_EQ(rows[3].back(), "12.00 ms");
  EXPECT_EQ(rows[4].back(), "12.00 ms");
  EXPECT_THAT(markdown(comparison), HasSubstr("7 other groups"));
  EXPECT_THAT(console(comparison, {false, 120}), HasSubstr("renamed"));
  EXPECT_EQ(nlohmann::json::parse(json(comparison))["program"]["groups"][1]["was"], "old_name");
}

compare::Comparison with_points(std::size_t slower, std::size_t inconclusive, double ratio) {
  compare::Comparison comparison;
  for (std::size_t i = 0; i < slower + inconclusive; ++i) {
    compare::ComparedPoint& point = comparison.points.emplace_back();
    point.name = "op" + std::to_string(i);
    point.device = "cuda:0";
    point.change = i < slower ? compare::Change::slower : compare::Change::inconclusive;
    point.ratio = {i < slower ? 1.5 : ratio, {0.9, 1.6}};
    point.interval = point.ratio.ci95;
    point.base_seconds = point.new_seconds = 1e-6;
    point.process_deviation = 0.02;
  }
  return comparison;
}

TEST(ComparisonText, RowsThatDecideNothingAreFolded) {
  const auto few = with_points(2, 8, 1.05);
  EXPECT_EQ(shown_points(few).points.size(), 10U);
  EXPECT_EQ(shown_points(few).folded, "");
  const auto many = with_points(2, 190, 1.05);
  EXPECT_EQ(shown_points(many).points.size(), 5U);
  EXPECT_EQ(shown_points(many).folded, "and 187 more inconclusive: --out=FILE.csv has them all");
  for (const std::string& text : {console(many, {false, 100}), markdown(many)}) {
    EXPECT_THAT(text, HasSubstr("187 more inconclusive"));
    EXPECT_THAT(text, Not(HasSubstr("op100")));
  }
  EXPECT_THAT(csv(many), HasSubstr("op100"));
}

TEST(ComparisonText, SaysThatMoreRunsDecideMore) {
  compare::Comparison comparison = with_points(0, 100, 1.05);
  for (compare::ComparedPoint& point : comparison.points) point.noise = compare::NoiseSource::processes;
  EXPECT_THAT(console(comparison, {false, 300}), HasSubstr("More runs a side decide more."));
}

}  // namespace
}  // namespace gpubench::reports
