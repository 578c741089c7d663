// SPDX-License-Identifier: Apache-2.0
// Comparisons and histories as Markdown, CSV and JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "reports/comparisons.h"
#include "reports/export/tables.h"

namespace gpubench::reports {
namespace {

using Json = nlohmann::ordered_json;

std::string markdown_list(std::string_view title, const std::vector<std::string>& items) {
  std::string text;
  for (const auto& item : items) text += fmt::format("- {}: {}\n", title, markdown_text(item));
  return text;
}

std::string markdown_change(const compare::ComparedPoint& point) {
  return has_changed(point) ? fmt::format("**{}**", change_text(point)) : change_text(point);
}

/// The limit in words where the verdicts give any, else the regimes.
std::string limit_text(const compare::ComparedPoint& point) {
  std::string text = bound_change(point);
  if (text.empty()) text = regime_change(point);
  return has_changed(point) && !point.kernels.empty() ? fmt::format("{}; {}", text, point.kernels) : text;
}

Json json_of(const compare::ComparedPoint& point) {
  Json item;
  item["name"] = point.name;
  item["device"] = point.device;
  item["clock"] = name_of(point.clock);
  item["base_seconds"] = point.base_seconds;
  item["new_seconds"] = point.new_seconds;
  item["ratio"] = point.ratio.value;
  item["ratio_ci95"] = {point.ratio.ci95.low, point.ratio.ci95.high};
  item["change"] = name_of(point.change);
  item["adjusted_p"] = point.p_value;
  if (point.by_fastest) item["by"] = "fastest samples";
  if (point.sign_test_p) item["sign_test_p"] = *point.sign_test_p;
  item["smallest_slow_down_seen"] = point.min_seen;
  item["base_processes"] = point.base_processes;
  item["new_processes"] = point.new_processes;
  item["process_deviation"] = point.process_deviation;
  item["noise_from"] = name_of(point.noise);
  if (!point.base_regime.empty()) item["base_regime"] = point.base_regime;
  if (!point.new_regime.empty()) item["new_regime"] = point.new_regime;
  if (!point.kernels.empty()) item["kernels"] = point.kernels;
  if (!point.base_bound.empty()) item["base_bound"] = point.base_bound;
  if (!point.new_bound.empty()) item["new_bound"] = point.new_bound;
  return item;
}

CsvRecord record_of(const compare::ComparedPoint& point) {
  return {{"name", csv_text(point.name)},
          {"device", csv_text(point.device)},
          {"base_s", csv_number(point.base_seconds)},
          {"new_s", csv_number(point.new_seconds)},
          {"ratio", csv_number(point.ratio.value)},
          {"ratio_ci95_low", csv_number(point.ratio.ci95.low)},
          {"ratio_ci95_high", csv_number(point.ratio.ci95.high)},
          {"change", std::string(name_of(point.change))},
          {"base_regime", csv_text(point.base_regime)},
          {"new_regime", csv_text(point.new_regime)},
          {"adjusted_p", csv_number(point.p_value)},
          {"smallest_slow_down_seen", csv_number(point.min_seen)},
          {"base_processes", fmt::to_string(point.base_processes)},
          {"new_processes", fmt::to_string(point.new_processes)},
          {"process_deviation", csv_number(point.process_deviation)},
          {"noise_from", std::string(name_of(point.noise))},
          {"clock", std::string(name_of(point.clock))}};
}

/// A line of the CSV for a point without a ratio: its name and what became of it.
std::string csv_without_ratio(const std::string& name, std::string_view change) {
  CsvRecord record = record_of(compare::ComparedPoint{});
  for (auto& [column, field] : record) field = column == "name" ? csv_text(name) : column == "change" ? change : "";
  return csv_line(record);
}

CsvRecord record_of(const compare::LevelChange& step) {
  return {{"name", csv_text(step.name)},
          {"device", csv_text(step.device)},
          {"entry", fmt::to_string(step.entry)},
          {"label", csv_text(step.label)},
          {"added_utc", csv_text(step.added_utc)},
          {"before_s", csv_number(step.before_seconds)},
          {"after_s", csv_number(step.after_seconds)},
          {"ratio", csv_number(step.ratio())},
          {"code", std::string(name_of(step.code))}};
}

std::string text_of(const Json& document) {
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string markdown(const compare::Comparison& comparison) {
  std::string text;
  if (!comparison.comparable) text += "**Not comparable**, for the reasons below.\n\n";
  if (comparison.unfinished) text += "**Unfinished runs**: see the notes below.\n\n";
  if (comparison.forced) text += "**Compared by --force**, in spite of the differences below.\n\n";
  text += markdown_text(summary_of(comparison)) + "\n";
  const auto wholes = changed_operations(comparison);
  for (std::size_t i = 0; i < wholes.size(); ++i)
    text += fmt::format("{}- As a whole, {}\n", i == 0 ? "\n" : "", markdown_text(wholes[i]));
  std::vector<std::vector<std::string>> rows;
  const ShownPoints shown = shown_points(comparison);
  for (const auto* point : shown.points)
    rows.push_back({markdown_text(point->name), markdown_text(point->device), std::string(name_of(point->clock)),
                    format_seconds(point->base_seconds, 4), format_seconds(point->new_seconds, 4),
                    markdown_change(*point), interval_text(*point), markdown_text(limit_text(*point))});
  if (!rows.empty())
    text += "\n" + markdown_table({{"point"},
                                   {"device"},
                                   {"clock"},
                                   {"base", true},
                                   {"new", true},
                                   {"change"},
                                   {"95 % of new/base"},
                                   {"limit"}},
                                  rows);
  if (!shown.folded.empty()) text += "\n" + markdown_text(shown.folded) + "\n";
  std::vector<std::string> left_out;
  for (const compare::LeftOutPoint& point : comparison.left_out) left_out.push_back(point.name + ": " + point.reason);
  const std::string lists =
      markdown_list("left out", left_out) + markdown_list("failed in the new run", comparison.failed_in_new) +
      markdown_list("only in the base", comparison.only_in_base) +
      markdown_list("only in the new run", comparison.only_in_new) + markdown_list("forbids", comparison.forbidding) +
      markdown_list("differs", comparison.differences) + markdown_list("note", comparison.notes);
  for (const std::string& sentence : grounds_of(comparison)) text += "\n" + markdown_text(sentence) + "\n";
  return lists.empty() ? text : fmt::format("{}\n{}", text, lists);
}

std::string csv(const compare::Comparison& comparison) {
  std::string text = csv_header(record_of(compare::ComparedPoint{}));
  for (const auto& point : comparison.points) text += csv_line(record_of(point));
  for (const auto& point : comparison.left_out) text += csv_without_ratio(point.name, "left out");
  for (const auto& name : comparison.failed_in_new) text += csv_without_ratio(name, "failed in the new run");
  for (const auto& name : comparison.only_in_base) text += csv_without_ratio(name, "only in the base");
  for (const auto& name : comparison.only_in_new) text += csv_without_ratio(name, "only in the new run");
  return text;
}

std::string json(const compare::Comparison& comparison) {
  Json document;
  document["schema"] = {{"name", "gpubench-comparison"}, {"version", 1}};
  document["comparable"] = comparison.comparable;
  document["points"] = Json::array();
  for (const auto& point : comparison.points) document["points"].push_back(json_of(point));
  document["operations"] = Json::array();
  for (const compare::ComparedOperation& each : comparison.operations)
    document["operations"].push_back({{"operation", each.operation},
                                      {"device", each.device},
                                      {"points", each.points},
                                      {"ratio", each.ratio.value},
                                      {"ci95", {each.ratio.ci95.low, each.ratio.ci95.high}},
                                      {"change", name_of(each.change)},
                                      {"p_value", each.p_value},
                                      {"beside_others", each.relative}});
  document["left_out"] = Json::array();
  for (const compare::LeftOutPoint& point : comparison.left_out)
    document["left_out"].push_back({{"name", point.name}, {"reason", point.reason}});
  document["failed_in_new"] = comparison.failed_in_new;
  document["only_in_base"] = comparison.only_in_base;
  document["only_in_new"] = comparison.only_in_new;
  document["differences"] = comparison.differences;
  document["forbidding"] = comparison.forbidding;
  document["notes"] = comparison.notes;
  document["forced"] = comparison.forced;
  if (comparison.unfinished) document["unfinished"] = true;
  document["code"] = name_of(comparison.code);
  document["device_code"] = name_of(comparison.device_code);
  document["least_effect"] = comparison.min_effect;
  document["unit"] = comparison.updates ? "update" : "process";
  document["base_processes"] = comparison.base_processes;
  document["new_processes"] = comparison.new_processes;
  if (comparison.min_seen_by_half) {
    document["smallest_slow_down_seen_by_half"] = *comparison.min_seen_by_half;
    document["smallest_slow_down_seen_by_all"] = *comparison.min_seen_by_all;
  }
  return text_of(document);
}

std::string markdown(const compare::History& history) {
  std::string summary = summary_of(history) + "\n";
  if (history.steps.empty()) return summary;
  std::vector<std::vector<std::string>> rows;
  for (const compare::LevelChange& step : history.steps)
    rows.push_back({markdown_text(step.name), markdown_text(step.device), markdown_text(entry_text(step)),
                    markdown_text(step.added_utc), format_seconds(step.before_seconds, 4),
                    format_seconds(step.after_seconds, 4), change_text(step), std::string(name_of(step.code))});
  const std::vector<Heading> headings = {{"point"},        {"device"},      {"from entry"}, {"added"},
                                         {"before", true}, {"after", true}, {"change"},     {"code"}};
  return summary + "\n" + markdown_table(headings, rows);
}

std::string csv(const compare::History& history) {
  std::string text = csv_header(record_of(compare::LevelChange{}));
  for (const compare::LevelChange& step : history.steps) text += csv_line(record_of(step));
  return text;
}

std::string json(const compare::History& history) {
  Json document;
  document["schema"] = {{"name", "gpubench-history"}, {"version", 1}};
  document["entries"] = history.entries;
  document["points"] = history.points;
  document["steps"] = Json::array();
  for (const compare::LevelChange& step : history.steps)
    document["steps"].push_back({{"name", step.name},
                                 {"device", step.device},
                                 {"entry", step.entry},
                                 {"label", step.label},
                                 {"added_utc", step.added_utc},
                                 {"before_seconds", step.before_seconds},
                                 {"after_seconds", step.after_seconds},
                                 {"code", name_of(step.code)}});
  return text_of(document);
}

}  // namespace gpubench::reports
