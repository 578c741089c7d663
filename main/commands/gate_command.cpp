// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "compare/comparability.h"
#include "compare/history/gate.h"
#include "compare/history/history.h"
#include "core/base/environment.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/base/units.h"
#include "core/storage/baselines.h"
#include "core/storage/other_tools.h"
#include "core/storage/storage.h"
#include "main/cli/terminal.h"
#include "main/commands/shared/comparison.h"
#include "main/run/commits.h"

namespace gpubench {
namespace {

struct GateOptions : ComparisonOptions {
  std::string store = ".gpubench";
  std::string label;
  std::optional<std::string> summary_file;
  std::string repository = ".";
};

/// What a check reads of a store: enough for baseline and noise, whatever its age.
constexpr std::size_t max_entries_to_check = 100;
constexpr std::size_t max_entries_of_history = 10'000;

/// All runs must be of one code on one machine: together they are to tell how far its processes differ.
void require_alike(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    const auto found = compare::comparability_of(runs.front(), run);
    if (!found.forbidding.empty())
      throw UsageError(
          fmt::format("These runs are not all of one machine: {}. Add the runs of each machine separately.",
                      found.forbidding.front()));
    if (compare::code_change(runs.front(), run) == compare::CodeChange::differs)
      throw UsageError("These runs are not all of the same machine code. Add the runs of each build separately.");
  }
}

void require_finished(const std::vector<Run>& runs) {
  for (const Run& run : runs)
    if (run.unfinished)
      throw UsageError(
          fmt::format("The run of {} is unfinished: it has {} of {} points, too few for a baseline. Finish it with "
                      "--resume, or measure again.",
                      printable(run.context.created_utc), run.unfinished->finished, run.unfinished->planned));
}

void require_times(const std::vector<Run>& runs) {
  const auto is_timed = [](const Point& point) { return point.measurement.seconds().has_value(); };
  if (std::ranges::none_of(runs, [&](const Run& run) { return std::ranges::any_of(run.points, is_timed); }))
    throw UsageError("No point of these runs has a time, so they are no baseline. Give runs that measured something.");
}

/// Names the points that later checks by this clock will leave out.
void say_without_clock(const Run& run, std::optional<TimingMode> clock) {
  std::vector<std::string> names;
  for (const Point& point : run.points)
    if (clock && point.measurement.seconds() && seconds_by(point.measurement, *clock) == nullptr)
      names.push_back(printable(point.measurement.name));
  if (!names.empty())
    say(fmt::format("no {} time, so checks will leave them out: {}", name_of(*clock), joined(names, ", ")));
}

/// What keeps a stored machine from being this one, in words.
std::string difference(const storage::Fingerprint& stored, const storage::Fingerprint& here) {
  for (const auto& [key, value] : here) {
    const auto place = stored.find(key);
    if (place == stored.end()) return fmt::format("{} is '{}', and is not known there", key, value);
    if (place->second != value) return fmt::format("{} was '{}', is '{}'", key, place->second, value);
  }
  return "its description has more entries than these runs";
}

/// The command that fills the store that was given.
std::string update_words(const GateOptions& options) {
  const bool is_default = options.store == GateOptions().store;
  return fmt::format("gpubench gate update {}RUN...", is_default ? "" : fmt::format("--store={} ", options.store));
}

std::string no_baseline(const GateOptions& options) {
  return fmt::format("{} has no baseline. To make one: {}", options.store, update_words(options));
}

/// Of all cards of the model, the newest last.
std::vector<storage::BaselineEntry> entries_of_model(const storage::BaselineStore& store,
                                                     const storage::Fingerprint& here) {
  std::vector<storage::BaselineEntry> result;
  for (const storage::BaselineEntry& newest : store.newest_of_each()) {
    if (compare::without_cards(newest.fingerprint) != compare::without_cards(here)) continue;
    std::ranges::move(store.entries(newest.fingerprint, max_entries_to_check), std::back_inserter(result));
  }
  std::ranges::stable_sort(result, {}, &storage::BaselineEntry::added_utc);
  return result;
}

/// The entries to check against; empty when the store has none of this machine, which has been said.
std::vector<storage::BaselineEntry> baseline_for(const Run& run, const GateOptions& options) {
  const storage::BaselineStore store(options.store);
  const auto here = compare::fingerprint_of(run);
  auto entries = options.same_model ? entries_of_model(store, here) : store.entries(here, max_entries_to_check);
  if (!entries.empty()) return entries;
  const auto others = store.newest_of_each();
  if (others.empty()) {
    say(no_baseline(options));
    return {};
  }
  const storage::BaselineEntry& newest = others.back();
  if (options.force) return store.entries(newest.fingerprint, max_entries_to_check);
  const bool same_model = !options.same_model && std::ranges::any_of(others, [&](const auto& other) {
    return compare::without_cards(other.fingerprint) == compare::without_cards(here);
  });
  say(fmt::format("{} has no baseline of this machine ({}). To make one: {} To compare {}", options.store,
                  difference(newest.fingerprint, here), update_words(options),
                  same_model ? "with other cards of its model: --same-model" : "anyway: --force"));
  return {};
}

void require_points(const std::string& filter, std::size_t left) {
  if (left == 0) throw UsageError(fmt::format("No point of the store matches the filter '{}'.", filter));
}

/// Older entries may lack the points, but not all of them.
void keep_matching(const std::string& filter, std::vector<storage::BaselineEntry>& entries) {
  if (filter.empty()) return;
  std::size_t left = 0;
  for (storage::BaselineEntry& entry : entries)
    for (Run& run : entry.runs) {
      drop_others(filter, run);
      left += run.points.size();
    }
  require_points(filter, left);
}

std::string summary_text(const compare::Comparison& comparison, int code) {
  constexpr std::array headlines = {"no regression", "slower than the baseline", "points failed", "not comparable",
                                    "inconclusive"};  // by exit code
  return fmt::format("## gpubench: {}\n\n{}", headlines.at(static_cast<std::size_t>(code)),
                     reports::markdown(comparison));
}

/// The page of a job on GitHub takes what is added to this file.
void add_to_job_summary(const std::string& text) {
  const std::string file = environment({"GITHUB_STEP_SUMMARY"});
  if (file.empty()) return;
  std::ofstream stream(file, std::ios::app | std::ios::binary);
  stream << text << "\n";
  stream.flush();
  if (!stream)
    say(fmt::format("GITHUB_STEP_SUMMARY={} cannot be written, so the page of the job has no summary", file));
}

int gate_update(const GateOptions& options) {
  const std::vector<Run> runs = read_runs(options.inputs);
  require_alike(runs);
  require_finished(runs);
  require_times(runs);
  const std::size_t failed = static_cast<std::size_t>(std::ranges::count_if(
      runs.front().points, [](const Point& point) { return point.measurement.failure.has_value(); }));
  storage::BaselineEntry entry;
  entry.label = options.label.empty() ? environment({"GITHUB_SHA", "CI_COMMIT_SHA"}) : options.label;
  entry.added_utc = utc_now();
  entry.fingerprint = compare::fingerprint_of(runs.front());
  entry.clock = options.clock;
  say_without_clock(runs.front(), entry.clock);
  entry.runs = runs;
  const auto file = storage::BaselineStore(options.store).add(entry);
  if (!options.quiet)
    say(fmt::format("wrote {}: entry {}, {}", file.string(), entry.number, plural(std::ssize(runs), "run")));
  if (failed > 0) say(fmt::format("{} failed and have no baseline", plural(failed, "point")));
  if (runs.size() == 1 && !options.quiet)
    say("one run does not show how much results vary between processes. Give several runs, each from its own process");
  return exit_codes::fine;
}

/// Each run is an entry of its own, in the order of their times: the past of a project, as its tool kept it.
int gate_import(const GateOptions& options) {
  std::vector<Run> runs = read_runs(options.inputs);
  require_finished(runs);
  std::ranges::stable_sort(runs, {}, [](const Run& run) { return run.context.created_utc; });
  const storage::BaselineStore store(options.store);
  std::map<storage::Fingerprint, std::set<std::pair<std::string, std::string>>> known;  // what was imported before
  std::size_t added = 0;
  for (Run& run : runs) {
    storage::BaselineEntry entry;
    const auto commit = run.context.environment.find(storage::commit_key);
    entry.label = !options.label.empty()                    ? options.label
                  : commit == run.context.environment.end() ? ""
                                                            : commit->second;
    entry.added_utc = run.context.created_utc.empty() ? utc_now() : run.context.created_utc;
    entry.fingerprint = compare::fingerprint_of(run);
    const auto [place, is_new] = known.try_emplace(entry.fingerprint);
    auto& seen = place->second;
    if (is_new)
      store.visit_times(entry.fingerprint, max_entries_of_history,
                        [&](const storage::BaselineEntry& other) { seen.emplace(other.label, other.added_utc); });
    if (!seen.emplace(entry.label, entry.added_utc).second) continue;
    entry.runs.push_back(std::move(run));
    storage::BaselineStore(options.store).add(entry);
    ++added;
  }
  if (!options.quiet)
    say(fmt::format("added {} of {} to {}{}", added, plural(std::ssize(runs), "run"), options.store,
                    added < runs.size() ? ": the others were in it" : ""));
  return exit_codes::fine;
}

int gate_check(const GateOptions& options) {
  if (options.summary_file) storage::check_writable(*options.summary_file);
  std::vector<Run> runs = read_runs(options.inputs);
  for (Run& run : runs) keep_matching(options.filter, run);
  auto entries = baseline_for(runs.front(), options);
  if (entries.empty()) return options.fail_on == compare::FailOn::never ? exit_codes::fine : exit_codes::not_comparable;
  keep_matching(options.filter, entries);
  const compare::Comparison comparison = compare::check_against(entries, runs, options);
  const int code = report_comparison(comparison, options);
  const std::string summary = summary_text(comparison, compare::exit_code(comparison, compare::FailOn::inconclusive));
  if (options.summary_file) storage::write_file(*options.summary_file, summary);
  add_to_job_summary(summary);
  return code;
}

int gate_history(const GateOptions& options) {
  const storage::BaselineStore store(options.store);
  const auto machines = store.newest_of_each();
  if (machines.empty()) throw UsageError(no_baseline(options));
  if (machines.size() > 1 && !options.outputs.empty())
    throw UsageError(fmt::format("{} has baselines of {} machines, but --out writes one. Leave --out out.",
                                 options.store, machines.size()));
  for (const storage::BaselineEntry& machine : machines) {
    compare::HistoryBuilder builder;
    std::size_t left = 0;
    store.visit_times(machine.fingerprint, max_entries_of_history, [&](storage::BaselineEntry& entry) {
      for (Run& run : entry.runs) {
        drop_others(options.filter, run);
        left += run.points.size();
      }
      builder.add(entry);
    });
    if (!options.filter.empty()) require_points(options.filter, left);
    compare::History history = builder.take(options.min_effect);
    if (const std::string trouble = add_commits(options.repository, history); !trouble.empty()) say(trouble);
    if (!options.quiet) {
      for (const auto& [key, value] : machine.fingerprint)
        if (machines.size() > 1) show(fmt::format("{}: {}\n", printable(key), printable(value)));
      show(reports::console(history, stdout_style(options)));
    }
    write_results(history, options, [&] { return reports::html(history, machine.fingerprint); });
  }
  return exit_codes::fine;
}

}  // namespace

extern const CommandFile gate_command{
    50, [] {
      using enum Rank;
      const char* const run_files =
          "Run files, or folders of them. All are of the same code, one file for each process.";
      const OptionRows store = {
          {"--store", "DIR", ".gpubench", common, "The folder of the baselines.", use::text(&GateOptions::store)}};
      return std::vector{
          Command{"gate", "Compare runs with a stored baseline, in CI"},
          with(Command{"gate update",
                       "Add runs to the baseline of this machine",
                       "gpubench gate update run-*.json\n"
                       "gpubench gate update runs/ --label=v1.4",
                       {"RUN...", run_files, 1, 10'000},
                       "",
                       joined_rows(
                           {chosen_rows(comparison_rows(), {"--time"}),
                            store,
                            {{"--label", "TEXT", "", common,
                              "What the runs are of: a commit, for instance. Without it: GITHUB_SHA or CI_COMMIT_SHA.",
                              use::text(&GateOptions::label)}}})},
               gate_update),
          with(
              Command{
                  "gate import",
                  "Add each run as an entry of its own: the past, as another tool kept it",
                  "gpubench gate import .asv/results/my-machine\n"
                  "gpubench gate import .benchmarks/Linux-CPython-3.11-64bit",
                  {"RUN...",
                   "Run files, or folders of them: of gpubench, Google Benchmark, nvbench, pytest-benchmark, asv or "
                   "criterion. They are added by their dates, those that are there already are not.",
                   1, 10'000},
                  "",
                  joined_rows(
                      {store,
                       {{"--label", "TEXT", "", common, "What the runs are of. Without it: the commit that each names.",
                         use::text(&GateOptions::label)}}})},
              gate_import),
          with(Command{"gate check",
                       "Compare runs with the baseline of this machine",
                       "gpubench gate check run-*.json\n"
                       "gpubench gate check runs/ --summary=summary.md --out=gate.json",
                       {"RUN...", run_files, 1, 10'000},
                       ".json .csv .md",
                       joined_rows(
                           {comparison_rows(),
                            store,
                            {{"--summary", "FILE.md", "", common,
                              "Write a summary for the pull request. GITHUB_STEP_SUMMARY gets one too where it is set.",
                              use::text(&GateOptions::summary_file)}}})},
               gate_check),
          with(Command{"gate history",
                       "Name the entry of the store at which the time of a point changed",
                       "gpubench gate history\n"
                       "gpubench gate history --out=history.html\n"
                       "gpubench gate history --min-effect=5",
                       {},
                       ".json .csv .md .html",
                       joined_rows({chosen_rows(comparison_rows(), {"--filter", "--min-effect"}),
                                    store,
                                    {{"--repository", "DIR", ".", common,
                                      "The git repository whose commits the labels of entries name: each change gets "
                                      "those since the entry before.",
                                      use::text(&GateOptions::repository)}}})},
               gate_history)};
    }};

}  // namespace gpubench
