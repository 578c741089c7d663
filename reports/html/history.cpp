// SPDX-License-Identifier: Apache-2.0
// The page of a history: small, whatever the number of points, as each value is one byte and each picture is drawn when
// it is looked at.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/base64.h"
#include "core/base/text.h"
#include "core/statistics/statistics.h"
#include "gpubench/version.h"
#include "reports/comparisons.h"
#include "reports/html/markup.h"
#include "reports/html/page.h"

namespace gpubench::reports {
namespace {

using Json = nlohmann::json;

/// Of all points together: beyond, a column of the pictures is the median of several entries.
constexpr std::size_t max_values = 1'500'000;
constexpr std::size_t min_columns = 100;

Json json_of(const compare::Commit& commit) {
  return {{"hash", printable(commit.hash)},
          {"author", printable(commit.author)},
          {"date", printable(commit.date)},
          {"subject", printable(commit.subject)}};
}

Json entries_of(const compare::History& history) {
  Json list = Json::array();
  for (const compare::HistoryEntry& entry : history.entries) {
    Json item = {{"number", entry.number}, {"label", printable(entry.label)}, {"added", printable(entry.added_utc)}};
    if (entry.commit) item["commit"] = json_of(*entry.commit);
    list.push_back(std::move(item));
  }
  return list;
}

Json json_of(const compare::LevelChange& step, const std::map<int, std::size_t>& places) {
  Json item = {{"point", step.point},
               {"place", step.place},
               {"place_before", step.place_before},
               {"before", step.before_seconds},
               {"after", step.after_seconds},
               {"ratio", step.ratio()},
               {"p", step.p_value},
               {"code", name_of(step.code)}};
  if (step.entries_after == 1) item["once"] = true;
  if (step.is_drift()) item["until"] = places.at(step.until_entry);
  if (!step.commits.empty()) {
    item["commits"] = Json::array();
    for (const compare::Commit& commit : step.commits) item["commits"].push_back(json_of(commit));
    item["more_commits"] = step.more_commits;
  }
  return item;
}

/// Medians of so many entries each, NaN without any.
std::vector<float> columns_of(const std::vector<float>& values, std::size_t entries_a_column) {
  std::vector<float> columns;
  for (std::size_t first = 0; first < values.size(); first += entries_a_column) {
    std::vector<float> some;
    for (std::size_t i = first; i < std::min(first + entries_a_column, values.size()); ++i)
      if (!std::isnan(values[i])) some.push_back(values[i]);
    columns.push_back(statistics::upper_median(std::move(some)).value_or(std::nanf("")));
  }
  return columns;
}

Json data_of(const compare::History& history) {
  const std::size_t entries = history.entries.size(), points = std::max<std::size_t>(history.points.size(), 1);
  const std::size_t most = std::max(min_columns, max_values / points);
  const std::size_t entries_a_column = std::max<std::size_t>(1, (entries + most - 1) / most);
  std::vector<std::string> devices;
  Json list = Json::array();
  std::string values;
  for (const compare::HistoryPoint& point : history.points) {
    auto device = std::ranges::find(devices, point.device);
    if (device == devices.end()) device = devices.insert(devices.end(), point.device);
    const std::vector<float> columns = columns_of(point.log_seconds, entries_a_column);
    float low = std::numeric_limits<float>::infinity(), high = -low;
    for (const float value : columns)
      if (!std::isnan(value)) low = std::min(low, value), high = std::max(high, value);
    if (!(low <= high)) low = high = 0.0F;
    for (const float value : columns) {
      const float part = high > low ? (value - low) / (high - low) : 0.5F;
      values += std::isnan(value) ? '\0' : static_cast<char>(static_cast<unsigned char>(std::lround(1 + 254 * part)));
    }
    list.push_back({printable(point.name), device - devices.begin(), name_of(point.clock), low, high,
                    point.first_seconds, point.last_seconds});
  }
  std::map<int, std::size_t> places;
  for (std::size_t i = 0; i < entries; ++i) places.emplace(history.entries[i].number, i);
  Json changes = Json::array();
  for (const compare::LevelChange& step : history.steps) changes.push_back(json_of(step, places));
  for (std::string& device : devices) device = printable(device);
  return {{"entries", entries_of(history)},
          {"columns", (entries + entries_a_column - 1) / entries_a_column},
          {"entries_a_column", entries_a_column},
          {"devices", devices},
          {"points", std::move(list)},
          {"changes", std::move(changes)},
          {"commit_address", printable(history.commit_address)},
          {"values", base64(values)}};
}

}  // namespace

std::string html(const compare::History& history, const std::map<std::string, std::string>& machine) {
  Json data = data_of(history);
  Json facts = Json::array();
  for (const auto& [name, text] : machine) facts.push_back({{"name", printable(name)}, {"text", printable(text)}});
  std::string words =
      "Each value is the geometric mean of an entry's processes. A change is beyond the minimum effect, with at most 5 "
      "% chance of a false one in this whole history.";
  if (const auto several = data["entries_a_column"].get<std::size_t>(); several > 1)
    words +=
        fmt::format(" Lines are drawn through medians of {} entries each; changes are found in single ones.", several);
  page::LookPage page{summary_of(history), markup::part("history", {{"machine", facts}, {"words", words}})};
  page.data.push_back(page::json_data(std::move(data)));
  page.scripts = {page::script_history()};
  return page::look_page({"Performance over time", std::string(version), {}}, std::move(page));
}

}  // namespace gpubench::reports
