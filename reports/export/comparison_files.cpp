// SPDX-License-Identifier: Apache-2.0
// Comparisons as Markdown, CSV and JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "reports/comparison_text.h"
#include "reports/comparisons.h"
#include "reports/export/delimited.h"
#include "reports/export/markdown_text.h"

namespace gpubench::reports {
namespace {

std::string markdown_list(std::string_view title, const std::vector<std::string>& items) {
  std::string text;
  for (const auto& item : items) text += fmt::format("- {}: {}\n", title, markdown_text(item));
  return text;
}

std::string markdown_change(const compare::ComparedPoint& point) {
  const bool stands_out = point.change == compare::Change::slower || point.change == compare::Change::faster;
  return stands_out ? fmt::format("**{}**", change_text(point)) : change_text(point);
}

/// The limit in words where the verdicts give any, else the regimes.
std::string limit_text(const compare::ComparedPoint& point) {
  std::string text = bound_change(point);
  if (text.empty()) text = regime_change(point);
  const bool changed = point.change == compare::Change::slower || point.change == compare::Change::faster;
  return changed && !point.kernels.empty() ? fmt::format("{}; {}", text, point.kernels) : text;
}

nlohmann::ordered_json json_of(const compare::ComparedPoint& point) {
  nlohmann::ordered_json item;
  item["name"] = point.name;
  item["device"] = point.device;
  item["clock"] = name_of(point.clock);
  item["base_seconds"] = point.base_seconds;
  item["new_seconds"] = point.new_seconds;
  item["ratio"] = point.ratio.value;
  item["ratio_ci95"] = {point.ratio.ci95.low, point.ratio.ci95.high};
  item["change"] = name_of(point.change);
  item["adjusted_p"] = point.p_value;
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

/// Points that have no ratio, as lines of the CSV: their name and what became of them.
std::string csv_without_ratio(const std::vector<std::string>& names, std::string_view change) {
  std::string text;
  for (const auto& name : names)
    text += csv_line({csv_text(name), "", "", "", "", "", "", std::string(change), "", "", "", "", "", "", "", "", ""});
  return text;
}

}  // namespace

std::string markdown(const compare::Comparison& comparison) {
  std::string text;
  if (!comparison.comparable) text += "**Not comparable**, for the reasons below.\n\n";
  if (comparison.forced) text += "**Compared by --force**, in spite of the differences below.\n\n";
  text += markdown_text(summary_of(comparison)) + "\n";
  if (!comparison.points.empty()) {
    text += "\n";
    text += markdown_row({"point", "device", "clock", "base", "new", "change", "95 % of ratio", "limit"});
    text += markdown_row({":---", ":---", ":---", "---:", "---:", ":---", ":---", ":---"});
    for (const auto* point : by_effect(comparison))
      text +=
          markdown_row({markdown_text(point->name), markdown_text(point->device), std::string(name_of(point->clock)),
                        format_seconds(point->base_seconds, 4), format_seconds(point->new_seconds, 4),
                        markdown_change(*point), interval_text(*point), markdown_text(limit_text(*point))});
  }
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
  std::string text = csv_line({"name", "device", "base_s", "new_s", "ratio", "ratio_ci95_low", "ratio_ci95_high",
                               "change", "base_regime", "new_regime", "adjusted_p", "smallest_slow_down_seen",
                               "base_processes", "new_processes", "process_deviation", "noise_from", "clock"});
  for (const auto& point : comparison.points)
    text += csv_line({csv_text(point.name), csv_text(point.device), csv_number(point.base_seconds),
                      csv_number(point.new_seconds), csv_number(point.ratio.value), csv_number(point.ratio.ci95.low),
                      csv_number(point.ratio.ci95.high), std::string(name_of(point.change)),
                      csv_text(point.base_regime), csv_text(point.new_regime), csv_number(point.p_value),
                      csv_number(point.min_seen), std::to_string(point.base_processes),
                      std::to_string(point.new_processes), csv_number(point.process_deviation),
                      std::string(name_of(point.noise)), std::string(name_of(point.clock))});
  std::vector<std::string> left_out;
  for (const compare::LeftOutPoint& point : comparison.left_out) left_out.push_back(point.name);
  text += csv_without_ratio(left_out, "left out");
  text += csv_without_ratio(comparison.failed_in_new, "failed in the new run");
  text += csv_without_ratio(comparison.only_in_base, "only in the base");
  return text + csv_without_ratio(comparison.only_in_new, "only in the new run");
}

std::string json(const compare::Comparison& comparison) {
  using Json = nlohmann::ordered_json;
  Json document;
  document["schema"] = {{"name", "gpubench-comparison"}, {"version", 1}};
  document["comparable"] = comparison.comparable;
  Json points = Json::array();
  for (const auto& point : comparison.points) points.push_back(json_of(point));
  document["points"] = std::move(points);
  Json left_out = Json::array();
  for (const compare::LeftOutPoint& point : comparison.left_out)
    left_out.push_back({{"name", point.name}, {"reason", point.reason}});
  document["left_out"] = std::move(left_out);
  document["failed_in_new"] = comparison.failed_in_new;
  document["only_in_base"] = comparison.only_in_base;
  document["only_in_new"] = comparison.only_in_new;
  document["differences"] = comparison.differences;
  document["forbidding"] = comparison.forbidding;
  document["notes"] = comparison.notes;
  document["forced"] = comparison.forced;
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
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gpubench::reports
