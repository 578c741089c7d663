// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

#include "core/base/text.h"
#include "core/storage/storage.h"
#include "main/cli/terminal.h"
#include "main/commands/commands.h"
#include "reports/comparisons.h"

namespace gpubench {
namespace {

std::vector<std::filesystem::path> run_files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator place(folder, error), end; !error && place != end; place.increment(error)) {
    const auto& file = place->path();
    const std::string name = file.filename().string();
    if (!name.starts_with('.') && reports::writes_run(file)) files.push_back(file);
  }
  if (error) throw UsageError(fmt::format("{}: the folder cannot be read: {}.", folder.string(), error.message()));
  if (files.empty())
    throw UsageError(
        fmt::format("{}: this folder has no run. Give one with files written by --out=FILE.json.", folder.string()));
  std::ranges::sort(files);
  return files;
}

std::pair<std::vector<std::string>, std::vector<std::string>> sides_of(const Options& options) {
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

bool is_page(const std::string& output) { return extension_of(output) == ".html"; }

}  // namespace

std::vector<Run> read_runs(const std::vector<std::string>& files_and_folders) {
  std::vector<Run> runs;
  for (const std::string& name : files_and_folders) {
    std::error_code error;
    if (!std::filesystem::is_directory(name, error)) {
      runs.push_back(storage::read_slim_run(name));
      continue;
    }
    for (const auto& file : run_files_in(name)) runs.push_back(storage::read_slim_run(file));
  }
  return runs;
}

compare::CompareOptions compare_options(const Options& options) {
  return {options.min_effect, options.process_deviation, options.force, options.paired, options.compared_clock, false,
          options.same_model};
}

void check_comparison_outputs(const Options& options) {
  for (const std::string& output : options.outputs) {
    const std::string extension = extension_of(output);
    if (extension != ".json" && extension != ".csv" && extension != ".md")
      throw UsageError(
          fmt::format("--out={}: a comparison can be written as .json, .csv or .md, and by compare as .html.", output));
    storage::check_writable(output);
  }
}

int report_comparison(const compare::Comparison& comparison, const Options& options) {
  if (!options.quiet) show(reports::console(comparison, stdout_style(options)));
  write_results(comparison, options);
  return compare::exit_code(comparison, options.fail_on);
}

int compare_command(const Options& options) {
  Options others = options;
  std::erase_if(others.outputs, is_page);
  check_comparison_outputs(others);
  for (const std::string& output : options.outputs) storage::check_writable(output);
  const auto [base_names, new_names] = sides_of(options);
  auto [old, next] = read_sides(base_names, new_names);
  for (auto* const side : {&old, &next})
    for (Run& run : *side) keep_matching(options.filter, run);
  if (options.paired && (old.size() != next.size() || old.size() < 2))
    throw UsageError(fmt::format("--paired needs as many base runs as new ones, at least two. It got {} and {}.",
                                 old.size(), next.size()));
  const compare::Comparison comparison = compare::compare(old, next, compare_options(options));
  const int code = report_comparison(comparison, others);
  if (others.outputs.size() == options.outputs.size()) return code;
  const std::string page =
      reports::html(comparison, reports::join({{"base", first_run(base_names.front(), options.filter)},
                                               {"new", first_run(new_names.front(), options.filter)}}));
  std::vector<std::string> pages = options.outputs;
  std::erase_if(pages, std::not_fn(is_page));
  write_each(pages, options.quiet, [&](const std::string& file) { storage::write_file(file, page); });
  return code;
}

}  // namespace gpubench
