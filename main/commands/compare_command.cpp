// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

#include "core/base/text.h"
#include "core/storage/storage.h"
#include "main/commands/shared/comparison.h"

namespace gpubench {
namespace {

struct CompareOptions : ComparisonOptions {
  std::vector<std::string> base_runs;  ///< files and folders of one side
  std::vector<std::string> new_runs;
};

std::pair<std::vector<std::string>, std::vector<std::string>> sides_of(const CompareOptions& options) {
  if (options.inputs.size() == 1) throw UsageError("'compare' needs two runs, but got one: gpubench compare BASE NEW");
  auto base = options.base_runs, next = options.new_runs;
  if (options.inputs.size() == 2) {
    base.insert(base.begin(), options.inputs[0]);
    next.insert(next.begin(), options.inputs[1]);
  }
  if (base.empty() || next.empty())
    throw UsageError(
        fmt::format("'compare' got no run of the {} side. Give BASE and NEW, or --base and --new. See "
                    "compare --help.",
                    base.empty() ? "base" : "new"));
  return {std::move(base), std::move(next)};
}

/// Both at once, if the system gives a thread: reading takes most of the time of a comparison.
std::pair<std::vector<Run>, std::vector<Run>> read_sides(const std::vector<std::string>& base,
                                                         const std::vector<std::string>& next) {
  auto old = std::async(std::launch::async | std::launch::deferred, [&] { return read_runs(base); });
  std::vector<Run> now = read_runs(next);
  return {old.get(), std::move(now)};
}

/// The first run of a side, whole: `compare` reads less.
Run first_run(const std::string& name, const std::string& filter) {
  std::error_code error;
  Run run = storage::read_run(std::filesystem::is_directory(name, error) ? run_files_in(name).front()
                                                                         : std::filesystem::path(name));
  keep_matching(filter, run);
  return run;
}

int run_compare(const CompareOptions& options) {
  const auto [base_names, new_names] = sides_of(options);
  auto [old, next] = read_sides(base_names, new_names);
  for (auto* const side : {&old, &next})
    for (Run& run : *side) keep_matching(options.filter, run);
  if (options.paired && (old.size() != next.size() || old.size() < 2))
    throw UsageError(fmt::format("--paired needs as many base runs as new ones, at least two. It got {} and {}.",
                                 old.size(), next.size()));
  const compare::Comparison comparison = compare::compare(old, next, options);
  return report_comparison(comparison, options, [&, base = base_names.front(), next = new_names.front()] {
    const auto labels = reports::labels_of({base, next});
    return reports::html(comparison, reports::join({{labels[0], first_run(base, options.filter)},
                                                    {labels[1], first_run(next, options.filter)}}));
  });
}

OptionRows own_rows() {
  using enum Rank;
  return {
      {"--base", "RUN", "", "", common, repeatable, "One more run, or folder of runs, of the base side. Repeatable.",
       use::list(&CompareOptions::base_runs)},
      {"--new", "RUN", "", "", common, repeatable, "The same for the new side.", use::list(&CompareOptions::new_runs)},
      {"--paired", "", "", "", common, once,
       "Compare pair by pair: the first base run with the first new run, and so on, as ab keeps "
       "them.",
       use::set(&compare::CompareOptions::paired)}};
}

}  // namespace

extern const CommandFile compare_command{
    10, [] {
      return std::vector{with(
          Command{"compare",
                  "Compare stored runs, point by point",
                  "gpubench compare base.json new.json\n"
                  "gpubench compare base/ new/ --out=changes.md\n"
                  "gpubench compare base.json new.json --min-effect=3 --fail-on=never",
                  {"BASE NEW",
                   "Each is a run file, or a folder of run files of one program: one file for each process.", 0, 2},
                  ".json .csv .md .html",
                  false,
                  joined_rows({comparison_rows(), own_rows()})},
          run_compare)};
    }};

}  // namespace gpubench
