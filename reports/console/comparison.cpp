// SPDX-License-Identifier: Apache-2.0
// Comparisons of runs and calibrations, and histories, on a terminal.
#include <fmt/format.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "core/base/table.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/comparisons.h"
#include "reports/console/program.h"

namespace gpubench::reports {
namespace {

constexpr std::size_t min_name = 16;

std::string_view color_of(compare::Change change) {
  constexpr std::array<std::string_view, 4> colors = {color::green, color::red, color::none, color::yellow};
  return colors[static_cast<std::size_t>(change)];
}

std::string points_text(const compare::Comparison& comparison, const ConsoleStyle& style) {
  if (comparison.points.empty()) return "";
  std::set<std::string> devices;
  std::set<TimingMode> clocks;
  for (const auto& point : comparison.points) devices.insert(point.device), clocks.insert(point.clock);
  std::vector<Column> columns = {{"point"},  {"timed by"}, {"base", true},      {"new", true},
                                 {"change"}, {"new/base"}, {"seen from", true}, {"regime"}};
  const ShownPoints shown = shown_points(comparison);
  for (const auto* point : shown.points) {
    const bool other_regime = point->base_regime != point->new_regime;
    add_row(columns, {{printable(devices.size() > 1 ? point->name + " on " + point->device : point->name)},
                      {std::string(name_of(point->clock))},
                      {format_seconds(point->base_seconds, 4)},
                      {format_seconds(point->new_seconds, 4)},
                      {change_text(*point), color_of(point->change)},
                      {interval_text(*point)},
                      {seen_text(*point), color::dim},
                      {printable(regime_change(*point)), other_regime ? color::yellow : color::dim}});
  }
  if (clocks.size() == 1) columns.erase(columns.begin() + 1);
  return table_text(columns, min_name, style, {{"seen from"}, {"regime"}, {"new/base"}}) +
         (shown.folded.empty() ? "" : paragraph("", shown.folded, color::dim, style)) + "\n";
}

/// Of changed points: the limit, where it is another one now, and why.
std::string stories(const compare::Comparison& comparison, const ConsoleStyle& style) {
  std::string text;
  for (const auto* point : by_effect(comparison)) {
    if (!is_change(point->change)) continue;
    std::string story = bound_change(*point);
    if (!story.starts_with("went ")) story.clear();
    const auto causes = cause_texts(point->causes);
    if (story.empty() && causes.empty()) continue;
    text += paragraph("", printable(point->name + (story.empty() ? ":" : " " + story)), color::yellow, style);
    text += paragraphs("  ", causes, color::yellow, style);
  }
  return text.empty() ? text : text + "\n";
}

std::string waterfall(const compare::Comparison& comparison, const ConsoleStyle& style) {
  if (!comparison.program) return {};
  std::vector<Column> columns = {
      {"by kernel group"}, {"matched"}, {"launches", true}, {"change", true}, {"then", true}};
  for (const auto& row : waterfall_rows(comparison)) {
    const bool slower = row[3].starts_with('+');
    add_row(columns, {{printable(row[0])},
                      {row[1].substr(0, row[1].find(','))},  // what it was called stands in files
                      {row[2]},
                      {row[3], row[2].empty() ? color::none
                               : slower       ? color::red
                                              : color::green},
                      {row[4]}});
  }
  return paragraph("", printable(waterfall_caption(*comparison.program)), color::bold, style) +
         table_text(columns, min_name, style, {{"launches"}, {"matched"}}) + "\n";
}

}  // namespace

std::string console(const compare::Comparison& comparison, const ConsoleStyle& style) {
  std::string text = paragraphs("forbids: ", comparison.forbidding, color::red, style);
  text += paragraphs("differs: ", comparison.differences, color::yellow, style);
  if (!text.empty()) text += "\n";
  text += waterfall(comparison, style) + points_text(comparison, style) + stories(comparison, style);
  for (const compare::LeftOutPoint& point : comparison.left_out)
    text += paragraph("left out: ", printable(fmt::format("{}: {}", point.name, point.reason)), color::yellow, style);
  text += paragraphs("failed in the new run: ", comparison.failed_in_new, color::red, style);
  text += paragraphs("only in the base: ", comparison.only_in_base, color::dim, style);
  text += paragraphs("only in the new run: ", comparison.only_in_new, color::dim, style);
  text += paragraphs("note: ", comparison.notes, color::yellow, style);
  text += paragraphs("as a whole: ", changed_operations(comparison), color::bold, style);
  text += paragraph("", summary_of(comparison), color::bold, style);
  text += paragraphs("", grounds_of(comparison), color::dim, style);
  if (!comparison.comparable)
    text +=
        paragraph("",
                  comparison.forbidding.empty() ? "not comparable: no point can be compared, for the reasons above"
                                                : "not comparable, for the reasons above; to compare anyway: --force",
                  color::red, style);
  if (comparison.unfinished) text += paragraph("", "unfinished runs: see the notes", color::red, style);
  if (comparison.forced)
    text += paragraph("", "compared by --force, in spite of the differences above", color::red, style);
  return text;
}

std::string console(const compare::History& history, const ConsoleStyle& style) {
  std::string text;
  if (!history.steps.empty()) {
    std::vector<Column> columns = {{"point"},  {"from entry"}, {"before", true}, {"after", true},
                                   {"change"}, {"added"},      {"code"}};
    for (const compare::LevelChange& step : history.steps) {
      const std::string entry = printable(entry_text(step));
      add_row(columns, {{printable(step.name)},
                        {style.whole_names ? entry : shorten(entry, 20)},
                        {format_seconds(step.before_seconds, 4)},
                        {format_seconds(step.after_seconds, 4)},
                        {change_text(step), step.ratio() > 1.0 ? color::red : color::green},
                        {printable(step.added_utc)},
                        {std::string(name_of(step.code))}});
    }
    text = table_text(columns, min_name, style, {{"added", "code"}, {"before", "after"}}) + "\n";
  }
  return text + paragraph("", summary_of(history), color::bold, style);
}

}  // namespace gpubench::reports
