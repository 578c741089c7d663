// SPDX-License-Identifier: Apache-2.0
#include "compare/calibration_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/base/table.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace gpubench::reports {
namespace {

const Ceiling* usable(const Calibration& calibration, const Ceiling& like) {
  const Ceiling* const found = calibration.find(like.resource);
  return found != nullptr && found->unit == like.unit && found->value > 0.0 && like.value > 0.0 ? found : nullptr;
}

double size_of(const CeilingChange& change) { return std::abs(std::log(change.ratio)); }

std::string names(const std::vector<std::string>& resources) {
  constexpr std::size_t max = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(max, resources.size()); ++i)
    text += (text.empty() ? "" : ", ") + printable(resources[i]);
  return resources.size() > max ? fmt::format("{} and {} more", text, resources.size() - max) : text;
}

/// Slower is red, faster green, where the intervals tell the two apart.
std::string_view color_of(const CeilingChange& change) {
  if (change.overlap) return color::dim;
  return (change.ratio < 1.0) == (change.unit == "s") ? color::green : color::red;
}

}  // namespace

CalibrationDiff diff(const Calibration& base, const Calibration& next) {
  CalibrationDiff result;
  for (const Ceiling& then : base.ceilings) {
    const Ceiling* const now = usable(next, then);
    if (now == nullptr) {
      result.only_base.push_back(then.resource);
      continue;
    }
    CeilingChange change;
    change.resource = then.resource;
    change.unit = then.unit;
    change.base = {then.value, then.ci95};
    change.next = {now->value, now->ci95};
    change.ratio = now->value / then.value;
    change.overlap = now->ci95.low <= then.ci95.high && then.ci95.low <= now->ci95.high;
    result.changes.push_back(std::move(change));
  }
  for (const Ceiling& now : next.ceilings)
    if (usable(base, now) == nullptr) result.only_next.push_back(now.resource);
  std::stable_sort(result.changes.begin(), result.changes.end(),
                   [](const CeilingChange& a, const CeilingChange& b) { return size_of(a) > size_of(b); });
  return result;
}

std::string console(const CalibrationDiff& diff, const ConsoleStyle& style) {
  std::vector<Column> columns = {
      {"resource", false, {}}, {"base", true, {}}, {"new", true, {}}, {"ratio", true, {}}, {"intervals", false, {}}};
  std::size_t apart = 0;
  for (const CeilingChange& change : diff.changes) {
    if (!change.overlap) ++apart;
    const auto color = color_of(change);
    columns[0].cells.push_back({printable(change.resource)});
    columns[1].cells.push_back({format_value(change.base.value, printable(change.unit), 4)});
    columns[2].cells.push_back({format_value(change.next.value, printable(change.unit), 4)});
    columns[3].cells.push_back({fmt::format("{:.4f}", change.ratio), color});
    columns[4].cells.push_back({change.overlap ? "meet" : "apart", color});
  }
  std::string text;
  if (!diff.changes.empty()) {
    Table table(columns, 0, 8);
    table.fit(usable_width(style));
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
