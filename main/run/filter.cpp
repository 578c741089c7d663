// SPDX-License-Identifier: Apache-2.0
// What commands take of a stored run.
#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "core/base/text.h"
#include "main/commands/commands.h"

namespace gpubench {

std::string extension_of(const std::filesystem::path& file) { return lower(file.extension().string()); }

void drop_others(const std::string& filter, Run& run) {
  if (filter.empty()) return;
  const bool inverts = filter.front() == '-';
  try {
    const std::regex regex(filter.substr(inverts ? 1 : 0), std::regex::extended);
    // Filters of a run see Google Benchmark's names.
    std::erase_if(run.points, [&](const Point& point) {
      return std::regex_search(point.measurement.name + "/manual_time", regex) == inverts;
    });
  } catch (const std::regex_error& error) {
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

}  // namespace gpubench
