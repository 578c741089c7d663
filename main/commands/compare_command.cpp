// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <future>

#include "core/storage/other_tools.h"
#include "main/commands/shared/comparison.h"
#include "main/run/stored_runs.h"

namespace gpubench {
namespace {

/// The first run of a side, whole: `compare` reads less.
Run first_run(const std::string& name, const std::string& filter) {
  std::error_code error;
  const bool of_runs = std::filesystem::is_directory(name, error) && storage::criterion_files_in(name).empty();
  Run run = read_whole_run(of_runs ? run_files_in(name).front() : std::filesystem::path(name));
  keep_matching(filter, run);
  return run;
}

int run_compare(const ComparisonOptions& options) {
  const std::string &base = options.inputs[0], &other = options.inputs[1];
  // Both at once, if the system gives a thread: reading takes most of the time of a comparison.
  auto reading = std::async(std::launch::async | std::launch::deferred, [&] { return read_runs({base}); });
  std::vector<Run> next = read_runs({other}), old = reading.get();
  for (auto* const side : {&old, &next})
    for (Run& run : *side) keep_matching(options.filter, run);
  if (options.paired && (old.size() != next.size() || old.size() < 2))
    throw UsageError(fmt::format("--paired needs as many base runs as new ones, at least two. It got {} and {}.",
                                 old.size(), next.size()));
  const compare::Comparison comparison = compare::compare(old, next, options);
  return report_comparison(comparison, options, [&] {
    const auto labels = reports::labels_of({base, other});
    return reports::html(comparison, reports::join({{labels[0], first_run(base, options.filter)},
                                                    {labels[1], first_run(other, options.filter)}}));
  });
}

}  // namespace

extern const CommandFile compare_command{
    10, [] {
      return std::vector{with(
          Command{
              "compare",
              "Compare stored runs, point by point",
              "gpubench compare base.json new.json\n"
              "gpubench compare base/ new/ --out=changes.md\n"
              "gpubench compare base.json new.json --min-effect=3 --fail-on=never",
              {"BASE NEW", "Each is a run file, or a folder of run files of one program: one file for each process.", 2,
               2},
              ".json .csv .md .html",
              joined_rows(
                  {comparison_rows(),
                   {{"--paired", "", "", Rank::common,
                     "Compare pair by pair: the first base run with the first new run, and so on, as ab keeps them.",
                     use::set(&compare::CompareOptions::paired)}}})},
          run_compare)};
    }};

}  // namespace gpubench
