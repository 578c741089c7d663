// SPDX-License-Identifier: Apache-2.0
// Comparisons and histories as Markdown, CSV and JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/document.h"
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

Json json_of(const compare::ComparedPoint& point) {
  Json item;
  item["name"] = point.name;
  item["device"] = point.device;
  item["clock"] = name_of(point.clock);
  item["base_seconds"] = point.base_seconds;
  item["new_seconds"] = point.new_seconds;
  item["ratio"] = point.ratio.value;
  if (point.interval) {
    item["interval"] = {point.interval->low, point.interval->high};
    item["interval_confidence"] = point.interval_confidence;
  }
  item["interval_contains"] = point.interval_contains;
  item["change"] = name_of(point.change);
  item["adjusted_p"] = point.p_value;
  if (point.by_fastest) item["by"] = "fastest samples";
  item["smallest_slow_down_seen"] = point.min_seen;
  item["base_processes"] = point.base_processes;
  item["new_processes"] = point.new_processes;
  item["process_deviation"] = point.process_deviation;
  item["noise_from"] = name_of(point.noise);
  if (!point.base_regime.empty()) item["base_regime"] = point.base_regime;
  if (!point.new_regime.empty()) item["new_regime"] = point.new_regime;
  if (!point.kernels.empty()) item["kernels"] = point.kernels;
  for (const compare::Cause& cause : point.causes.list) {
    Json one = {{"kind", name_of(cause.kind)}, {"text", cause.text}};
    if (cause.share) one["share"] = *cause.share;
    item["causes"].push_back(std::move(one));
  }
  if (!point.causes.rest.empty()) item["causes_rest"] = point.causes.rest;
  if (!point.causes.hint.empty()) item["causes_hint"] = point.causes.hint;
  if (!point.base_bound.empty()) item["base_bound"] = point.base_bound;
  if (!point.new_bound.empty()) item["new_bound"] = point.new_bound;
  return item;
}

Json json_of(const compare::ProgramChange& program) {
  Json item = {{"base_seconds", program.base_seconds},
               {"new_seconds", program.new_seconds},
               {"rest_seconds", program.rest_seconds},
               {"rest_groups", program.rest_groups},
               {"groups", Json::array()}};
  if (!program.step.empty()) {
    item["step"] = program.step;
    item["base_steps"] = program.base_steps;
    item["new_steps"] = program.new_steps;
    item["outside_base_seconds"] = program.outside_base_seconds;
    item["outside_new_seconds"] = program.outside_new_seconds;
  }
  for (const compare::GroupChange& group : program.groups) {
    Json one = {{"name", group.name},
                {"device", group.device},
                {"range", group.range},
                {"matched", name_of(group.match)},
                {"base_seconds", group.base_seconds},
                {"new_seconds", group.new_seconds},
                {"base_launches", group.base_launches},
                {"new_launches", group.new_launches}};
    if (!group.was.empty()) one["was"] = group.was;
    item["groups"].push_back(std::move(one));
  }
  return item;
}

Json json_of(const compare::Commit& commit) {
  return {{"hash", commit.hash}, {"author", commit.author}, {"date", commit.date}, {"subject", commit.subject}};
}

Json json_of(const compare::LevelChange& step) {
  Json item = {{"name", step.name},
               {"device", step.device},
               {"entry", step.entry},
               {"label", step.label},
               {"added_utc", step.added_utc},
               {"before_seconds", step.before_seconds},
               {"after_seconds", step.after_seconds},
               {"code", name_of(step.code)},
               {"kind", step.is_drift() ? "drift" : "step"},
               {"adjusted_p", step.p_value}};
  if (step.is_drift()) item["until_entry"] = step.until_entry;
  if (step.rearranged_p) item["rearranged_p"] = *step.rearranged_p;
  if (!step.commits.empty()) {
    item["commits"] = Json::array();
    for (const compare::Commit& commit : step.commits) item["commits"].push_back(json_of(commit));
    if (step.more_commits) item["more_commits"] = true;
  }
  return item;
}

constexpr const char* point_columns =
    "name device base_s new_s ratio interval_low interval_high change base_regime new_regime adjusted_p "
    "smallest_slow_down_seen base_processes new_processes process_deviation noise_from clock interval_confidence "
    "causes";
constexpr const char* step_columns =
    "name device entry label added_utc before_s after_s ratio code kind until_entry adjusted_p rearranged_p";

/// Where the JSON object has what stands in a column.
Json::json_pointer place_of(const std::string& column) {
  if (column.ends_with("_low")) return Json::json_pointer("/interval/0");
  if (column.ends_with("_high")) return Json::json_pointer("/interval/1");
  return Json::json_pointer("/" + column + (column.ends_with("_s") ? "econds" : ""));
}

/// A field for each column; empty where the object has nothing of it.
CsvRecord record_of(const Json& item, const char* columns) {
  CsvRecord record;
  std::istringstream names(columns);
  for (std::string column; names >> column;) {
    const Json value = item.value(place_of(column), Json());
    if (value.is_array()) {
      record.emplace_back(column,
                          csv_text(joined(value, "; ", [](const Json& cause) { return cause.value("text", ""); })));
      continue;
    }
    record.emplace_back(column, value.is_number_float() ? csv_number(value.get<double>())
                                : value.is_string()     ? csv_text(value.get<std::string>())
                                : value.is_null()       ? ""
                                                        : storage::json_text(value));
  }
  return record;
}

std::string text_of(const Json& document) { return storage::json_text(document, 1) + "\n"; }

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
  if (comparison.program)
    text += fmt::format(
        "\n{}:\n\n{}", markdown_text(waterfall_caption(*comparison.program)),
        markdown_table(headings("kernel group; matched; launches>; change>; then>"), waterfall_rows(comparison)));
  const ShownPoints shown = shown_points(comparison);
  Rows rows = comparison_rows(shown.points);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (is_change(shown.points[i]->change)) rows[i][5] = fmt::format("**{}**", rows[i][5]);
  if (!rows.empty())
    text += "\n" + markdown_table(
                       headings("point; device; timed by; base>; new>; change*; new/base*; seen from>; limit"), rows);
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
  std::string text = csv_header(record_of(Json::object(), point_columns));
  const auto add = [&](const Json& item) { text += csv_line(record_of(item, point_columns)); };
  for (const auto& point : comparison.points) add(json_of(point));
  for (const auto& point : comparison.left_out) add({{"name", point.name}, {"change", "left out"}});
  for (const auto& name : comparison.failed_in_new) add({{"name", name}, {"change", "failed in the new run"}});
  for (const auto& name : comparison.only_in_base) add({{"name", name}, {"change", "only in the base"}});
  for (const auto& name : comparison.only_in_new) add({{"name", name}, {"change", "only in the new run"}});
  return text;
}

std::string json(const compare::Comparison& comparison) {
  Json document;
  document["schema"] = {{"name", "gpubench-comparison"}, {"version", 2}};
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
  if (comparison.program) document["program"] = json_of(*comparison.program);
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
  Rows rows;
  for (const compare::LevelChange& step : history.steps)
    rows.push_back({step.name, step.device, entry_text(step), step.added_utc, format_seconds(step.before_seconds, 4),
                    format_seconds(step.after_seconds, 4), change_text(step), std::string(name_of(step.code))});
  return summary + "\n" +
         markdown_table(headings("point; device; from entry; added; before>; after>; change; code"), rows);
}

std::string csv(const compare::History& history) {
  std::string text = csv_header(record_of(Json::object(), step_columns));
  for (const compare::LevelChange& step : history.steps) {
    Json item = json_of(step);
    item["ratio"] = step.ratio();
    text += csv_line(record_of(item, step_columns));
  }
  return text;
}

std::string json(const compare::History& history) {
  Json document = {{"schema", {{"name", "gpubench-history"}, {"version", 1}}},
                   {"entries", history.entries.size()},
                   {"points", history.points.size()},
                   {"neighbour_correlation", history.correlation},
                   {"steps", Json::array()},
                   {"levels", Json::array()}};
  for (const compare::LevelChange& step : history.steps) document["steps"].push_back(json_of(step));
  for (const compare::HistoryPoint& point : history.points)
    document["levels"].push_back({{"name", point.name},
                                  {"device", point.device},
                                  {"clock", name_of(point.clock)},
                                  {"first_seconds", point.first_seconds},
                                  {"last_seconds", point.last_seconds}});
  return text_of(document);
}

}  // namespace gpubench::reports
