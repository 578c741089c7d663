// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "core/base/table.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/comparisons.h"

namespace gpubench::reports {
namespace {

std::string names(const std::vector<std::string>& resources) {
  constexpr std::size_t max = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(max, resources.size()); ++i)
    text += (text.empty() ? "" : ", ") + printable(resources[i]);
  return resources.size() > max ? fmt::format("{} and {} more", text, resources.size() - max) : text;
}

/// Slower is red, faster green, where the intervals tell the two apart.
std::string_view color_of(const compare::CeilingChange& change) {
  if (change.overlap) return color::dim;
  return (change.ratio < 1.0) == (change.unit == "s") ? color::green : color::red;
}

}  // namespace

std::string console(const compare::CalibrationDiff& diff, const ConsoleStyle& style) {
  std::vector<Column> columns = {
      {"resource", false, {}}, {"base", true, {}}, {"new", true, {}}, {"ratio", true, {}}, {"intervals", false, {}}};
  std::size_t apart = 0;
  for (const compare::CeilingChange& change : diff.changes) {
    if (!change.overlap) ++apart;
    const auto color = color_of(change);
    columns[0].cells.push_back({printable(change.resource)});
    columns[1].cells.push_back({format_value(change.base.value, printable(change.unit), 4)});
    columns[2].cells.push_back({format_value(change.next.value, printable(change.unit), 4)});
    columns[3].cells.push_back({fmt::format("{:.4f}", change.ratio), color});
    columns[4].cells.push_back({change.overlap ? "overlap" : "apart", color});
  }
  std::string text;
  if (!diff.changes.empty()) {
    Table table(columns, 0, 8);
    table.fit(style);
    text += table.header(style);
    for (std::size_t i = 0; i < diff.changes.size(); ++i) text += table.row(i, style);
  }
  text += paragraph(
      "", fmt::format("{} of {} ceilings differ by more than their 95 % intervals", apart, diff.changes.size()),
      color::bold, style);
  if (!diff.only_base.empty()) text += paragraph("only in the base: ", names(diff.only_base), color::dim, style);
  if (!diff.only_next.empty()) text += paragraph("only in the new one: ", names(diff.only_next), color::dim, style);
  return text;
}

}  // namespace gpubench::reports
