// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/table.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/comparison_text.h"
#include "reports/comparisons.h"

namespace gpubench::reports {
namespace {

constexpr std::size_t min_name = 16;

std::string_view color_of(compare::Change change) {
  switch (change) {
    case compare::Change::slower:
      return color::red;
    case compare::Change::faster:
      return color::green;
    case compare::Change::same:
      return color::none;
    case compare::Change::inconclusive:
      return color::yellow;
  }
  return color::none;
}

struct Parts {
  bool clock;
  bool interval;
  bool regime;
};

Table table_of(const std::vector<const compare::ComparedPoint*>& points, Parts parts) {
  std::set<std::string> devices;
  for (const auto* point : points) devices.insert(point->device);
  Column name{"point", false, {}}, base{"base", true, {}}, next{"new", true, {}}, change{"change", false, {}};
  Column clock{"clock", false, {}}, interval{"95 % of ratio", false, {}}, regime{"regime", false, {}};
  for (const auto* point : points) {
    name.cells.push_back({printable(devices.size() > 1 ? point->name + " on " + point->device : point->name)});
    base.cells.push_back({format_seconds(point->base_seconds, 4)});
    next.cells.push_back({format_seconds(point->new_seconds, 4)});
    change.cells.push_back({change_text(*point), color_of(point->change)});
    clock.cells.push_back({std::string(name_of(point->clock))});
    interval.cells.push_back({interval_text(*point)});
    const bool changed = point->base_regime != point->new_regime;
    regime.cells.push_back({printable(regime_change(*point)), changed ? color::yellow : color::dim});
  }
  std::vector<Column> columns = {std::move(name)};
  if (parts.clock) columns.push_back(std::move(clock));
  for (Column* column : {&base, &next, &change}) columns.push_back(std::move(*column));
  if (parts.interval) columns.push_back(std::move(interval));
  if (parts.regime) columns.push_back(std::move(regime));
  return {std::move(columns), 0, min_name};
}

std::string table_text(const compare::Comparison& comparison, const ConsoleStyle& style) {
  const auto points = by_effect(comparison);
  if (points.empty()) return "";
  const std::size_t width = usable_width(style);
  const bool clock = several_clocks(comparison);
  Table table = table_of(points, {clock, true, true});
  if (!table.fits(width)) table = table_of(points, {clock, false, true});
  if (!table.fits(width)) table = table_of(points, {clock, false, false});
  table.fit(style);
  std::string text = table.header(style);
  for (std::size_t i = 0; i < points.size(); ++i) text += table.row(i, style);
  return text + "\n";
}

/// Of changed points: the limit, where it is another one now, and what is known of the kernels.
std::string stories(const compare::Comparison& comparison, const ConsoleStyle& style) {
  std::string text;
  for (const auto* point : by_effect(comparison)) {
    if (point->change != compare::Change::slower && point->change != compare::Change::faster) continue;
    std::string story = bound_change(*point);
    if (!story.starts_with("went ")) story.clear();
    if (!point->kernels.empty()) story += (story.empty() ? "" : "; ") + point->kernels;
    if (!story.empty()) text += paragraph(printable(point->name) + " ", printable(story), color::yellow, style);
  }
  return text.empty() ? text : text + "\n";
}

std::string list(std::string_view lead, const std::vector<std::string>& names, std::string_view color,
                 const ConsoleStyle& style) {
  std::string text;
  for (const auto& name : names) text += paragraph(lead, printable(name), color, style);
  return text;
}

}  // namespace

std::string console(const compare::Comparison& comparison, const ConsoleStyle& style) {
  std::string text = list("forbids: ", comparison.forbidding, color::red, style);
  text += list("differs: ", comparison.differences, color::yellow, style);
  if (!text.empty()) text += "\n";
  text += table_text(comparison, style);
  text += stories(comparison, style);
  for (const compare::LeftOutPoint& point : comparison.left_out)
    text += paragraph("left out: ", printable(fmt::format("{}: {}", point.name, point.reason)), color::yellow, style);
  text += list("failed in the new run: ", comparison.failed_in_new, color::red, style);
  text += list("only in the base: ", comparison.only_in_base, color::dim, style);
  text += list("only in the new run: ", comparison.only_in_new, color::dim, style);
  text += list("note: ", comparison.notes, color::yellow, style);
  text += paragraph("", summary_of(comparison), color::bold, style);
  for (const std::string& sentence : grounds_of(comparison))
    text += paragraph("", printable(sentence), color::dim, style);
  if (!comparison.comparable)
    text +=
        paragraph("",
                  comparison.forbidding.empty() ? "not comparable: no point can be compared, for the reasons above"
                                                : "not comparable, for the reasons above; to compare anyway: --force",
                  color::red, style);
  if (comparison.forced)
    text += paragraph("", "compared by --force, in spite of the differences above", color::red, style);
  return text;
}

}  // namespace gpubench::reports
