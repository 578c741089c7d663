// SPDX-License-Identifier: Apache-2.0
#include "main/run/stored_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "calibrate/calibrate.h"
#include "core/base/elf_image.h"
#include "core/base/pattern.h"
#include "core/base/text.h"
#include "core/storage/other_tools.h"
#include "core/storage/storage.h"
#include "main/cli/options.h"
#include "reports/reports.h"

namespace gpubench {

namespace {

/// One file a benchmark: together they are one run. Absent where the folder is not criterion's.
template <class Read>
std::optional<Run> criterion_run(const std::filesystem::path& folder, const Read& read) {
  const auto files = storage::criterion_files_in(folder);
  if (files.empty()) return std::nullopt;
  Run all = read(files.front());
  for (std::size_t i = 1; i < files.size(); ++i)
    std::ranges::move(read(files[i]).points, std::back_inserter(all.points));
  return all;
}

}  // namespace

std::vector<std::filesystem::path> run_files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files, below;
  std::error_code error, none;
  const auto look = [&](const std::filesystem::path& in, std::vector<std::filesystem::path>& folders) {
    for (std::filesystem::directory_iterator place(in, error), end; !error && place != end; place.increment(error)) {
      const auto& file = place->path();
      if (file.filename().string().starts_with('.')) continue;
      if (place->is_directory(none))
        folders.push_back(file);
      else if (reports::writes_run(file) && !storage::is_beside_results(file))
        files.push_back(file);
    }
  };
  look(folder, below);
  // .benchmarks and .asv/results have one for each machine.
  std::vector<std::filesystem::path> deeper;
  if (files.empty())
    for (const auto& one : below) look(one, deeper);
  if (error) throw UsageError(fmt::format("{}: the folder cannot be read: {}.", folder.string(), error.message()));
  if (files.empty())
    throw UsageError(
        fmt::format("{}: this folder has no run. Give one with files written by --out=FILE.json.", folder.string()));
  std::ranges::sort(files);
  return files;
}

std::vector<Run> read_runs(const std::vector<std::string>& files_and_folders) {
  std::vector<Run> runs;
  for (const std::string& name : files_and_folders) {
    std::error_code error;
    if (!std::filesystem::is_directory(name, error)) {
      runs.push_back(storage::read_slim_run(name));
      continue;
    }
    const auto read = [](const std::filesystem::path& file) { return storage::read_slim_run(file); };
    if (auto run = criterion_run(name, read))
      runs.push_back(*std::move(run));
    else
      std::ranges::transform(run_files_in(name), std::back_inserter(runs), read);
  }
  return runs;
}

Run read_whole_run(const std::filesystem::path& file) {
  std::error_code error;
  const auto read = [](const std::filesystem::path& one) { return storage::read_run(one); };
  if (std::filesystem::is_directory(file, error))
    if (auto run = criterion_run(file, read)) return *std::move(run);
  return read(file);
}

std::string extension_of(const std::filesystem::path& file) { return lower(file.extension().string()); }

void drop_others(const std::string& filter, Run& run) {
  if (filter.empty()) return;
  const bool inverts = filter.front() == '-';
  try {
    const auto matches = searcher(filter.substr(inverts ? 1 : 0));
    // Filters of a run see Google Benchmark's names.
    std::erase_if(run.points,
                  [&](const Point& point) { return matches(point.measurement.name + "/manual_time") == inverts; });
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--filter={} is no regular expression: {}.", filter, error.what()));
  }
  std::erase_if(run.boundaries, [&](const Boundary& boundary) {
    return std::ranges::none_of(run.points, [&](const Point& point) {
      return point.measurement.operation == boundary.operation && point.measurement.device == boundary.device;
    });
  });
}

void keep_matching(const std::string& filter, Run& run) {
  drop_others(filter, run);
  if (!filter.empty() && run.points.empty())
    throw UsageError(fmt::format("No point of the run matches the filter '{}'.", filter));
}

namespace {

/// One for each program on each set of devices; absent without a cache.
std::optional<std::filesystem::path> file_of_last(const Run& run) {
  const auto cache = calibrate::cache_directory();
  if (!cache) return std::nullopt;
  Fnv1a64 hash;
  const auto add = [&](const std::string& text) { hash.add(text + '\n'); };
  add(run.context.program);
  add(run.context.host);
  for (const Device& device : run.devices) {
    add(device.id);
    add(device.name);
    add(device.property("uuid"));
  }
  return *cache / "last" / fmt::format("{:016x}.json.gz", hash.value());
}

}  // namespace

std::optional<compare::Comparison> changes_since_last(const Run& run) {
  const auto file = file_of_last(run);
  std::error_code error;
  if (!file || !std::filesystem::exists(*file, error)) return std::nullopt;
  try {
    const Run last = storage::read_slim_run(*file);
    auto changes = compare::compare({last}, {storage::slim(run)}, {});
    if (!changes.comparable || changes.points.empty()) return std::nullopt;
    return changes;
  } catch (const storage::ReadError&) {
    return std::nullopt;
  }
}

void keep_as_last(const Run& run) {
  const auto file = file_of_last(run);
  if (!file) return;
  try {
    storage::write_for_reading(*file, storage::to_json(storage::slim(run)));
  } catch (const storage::WriteError&) {  // a cache that cannot be written is a run without a last one
  }
}

}  // namespace gpubench
