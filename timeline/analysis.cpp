// SPDX-License-Identifier: Apache-2.0
#include "timeline/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/base/text.h"
#include "timeline/statistics/distribution.h"

namespace gpubench::timeline {

std::vector<ResultTable> tables_of(const Linked& linked, std::string_view analysis, std::string_view by) {
  const auto found = std::ranges::find(analyses(), analysis, [](const Analysis* one) { return one->name; });
  if (found == analyses().end())
    throw std::invalid_argument(fmt::format("There is no analysis '{}'; there are {}.", analysis,
                                            joined(analyses(), ", ", [](const Analysis* one) { return one->name; })));
  const std::string_view words = (*found)->by;
  if (words == Analysis::any_operator) return (*found)->tables(linked, by);
  if (by.empty()) by = words.substr(0, words.find('|'));
  if (!by.empty() && !contains(fmt::format("|{}|", words), fmt::format("|{}|", by)))
    throw std::invalid_argument(words.empty()
                                    ? fmt::format("{} has no choice of what to sum up by.", analysis)
                                    : fmt::format("{} can be asked by {}, not by '{}'.", analysis, words, by));
  return (*found)->tables(linked, by);
}

void add_columns(ResultTable& table, std::string_view prefix, std::string_view unit) {
  for (const std::string_view what : {"mean", "stddev", "min", "p25", "p50", "p75", "p95", "p99", "max"})
    table.columns.push_back({fmt::format("{}_{}_{}", prefix, what, unit), "", ValueKind::count});
}

void add_values(std::vector<Value>& row, const Distribution& of, double unit) {
  for (const double value : {of.mean, of.deviation, of.min, of.p25, of.p50, of.p75, of.p95, of.p99, of.max})
    row.push_back(of.count > 0 ? Value(value / unit) : Absent{"nothing to take it of"});
}

}  // namespace gpubench::timeline
