// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/storage/document.h"
#include "reports/charts/charts.h"
#include "reports/charts/picture.h"
#include "reports/charts/rows.h"
#include "reports/comparisons.h"
#include "reports/html/markup.h"
#include "reports/html/page.h"
#include "reports/html/sections.h"
#include "reports/reports.h"

namespace gpubench::reports {
namespace {

std::string figure(const charts::Chart& chart) {
  return markup::part(
      "chart", {{"id", chart.id}, {"scope", chart.scope}, {"title", chart.title}, {"description", chart.description}});
}

/// Takes the numbers out of a list of lists, and leaves null where they stood: its shape.
void take_numbers(charts::Json& value, charts::Json& numbers) {
  if (value.is_array())
    for (auto& each : value) take_numbers(each, numbers);
  else if (value.is_number() || value.is_null())
    numbers.push_back(std::exchange(value, nullptr));
}

/// Rows as columns, each text and each shape of a list once: a sixth of the size, and faster to read. A row's number is
/// its id.
class Columns {
 public:
  void add(charts::Json row) {
    for (auto& [key, value] : row.get_ref<charts::Json::object_t&>()) {
      if (key == "id") continue;
      auto& list = columns_[key];
      if (list.is_null()) list = charts::Json::array();
      auto& column = list.get_ref<charts::Json::array_t&>();
      column.resize(count_);
      if (value.is_string()) {
        // In brackets: a text by number, not a number.
        column.push_back(charts::Json::array({place_of(value.get_ref<const std::string&>(), value)}));
      } else if (value.is_array()) {
        auto numbers = charts::Json::array();
        take_numbers(value, numbers);
        column.push_back(charts::Json::array({place_of("\n" + value.dump(), value), std::move(numbers)}));
      } else {
        column.push_back(std::move(value));
      }
    }
    ++count_;
  }
  charts::Json take() {
    return {{"count", count_}, {"columns", charts::Json(std::move(columns_))}, {"texts", std::move(texts_)}};
  }

 private:
  /// `key`: no printable text has a line feed, so shapes differ from texts.
  std::size_t place_of(const std::string& key, const charts::Json& value) {
    const auto [place, is_new] = places_.try_emplace(key, places_.size());
    if (is_new) texts_.push_back(value);
    return place->second;
  }

  std::size_t count_ = 0;
  charts::Json::object_t columns_;
  charts::Json texts_ = charts::Json::array();
  std::unordered_map<std::string, std::size_t> places_;
};

charts::Json data_of(const Run& run, const std::vector<charts::Chart>& list, charts::Json datasets, Columns points) {
  auto specs = charts::Json::object();
  specs["samples"] = charts::samples_chart().spec;
  for (const auto& chart : list) specs[chart.id] = chart.spec;
  auto devices = charts::Json::array();
  for (const auto& device : run.devices)
    devices.push_back({{"id", printable(device.id)}, {"name", printable(device.name)}});
  charts::Json data = {
      {"datasets", std::move(datasets)}, {"points", points.take()},
      {"specs", std::move(specs)},       {"themes", {{"light", charts::theme(false)}, {"dark", charts::theme(true)}}},
      {"devices", std::move(devices)},   {"embedded", !page::vega().text.empty()},
      {"regimes", regime_names}};
  if (run.program) data["program"] = sections::overview_data(*run.program);
  return data;
}

std::string meta_of(const Context& context) {
  return markup::part(
      "meta", {{"created", context.created_utc}, {"host", context.host}, {"made_by", sections::made_by(context)}});
}

std::string environments(const Several& several) {
  std::string html;
  for (std::size_t i = 0; i < several.labels.size(); ++i) {
    Run own;
    own.context = several.contexts[i];
    own.devices = several.devices[i];
    html += "<h3 class=\"of-run\">" + markup::escape(several.labels[i]) + "</h3>\n" + sections::environment(own);
  }
  return html;
}

std::string several_title(const Several& several, bool compared) {
  return compared ? several.labels.back() + " against " + several.labels.front() : joined(several.labels, ", ");
}

/// One heading, with the names of all devices once.
std::string heading_of(const Several& several, bool compared) {
  std::vector<std::string> names;
  for (const auto& devices : several.devices)
    for (const Device& device : devices)
      if (!contains(names, device.name)) names.push_back(device.name);
  const charts::Json heading = {{"name", several_title(several, compared)}, {"facts", joined(names, ", ")}};
  return markup::part("devices", {{"devices", charts::Json::array({heading})}});
}

/// `several` is null for the page of one run.
std::string page_of(const Run& run, const std::vector<charts::Chart>& list, charts::Json datasets, Columns points,
                    const Several* several, const std::string& comparison = {}) {
  std::string device_charts;
  std::string operation_charts;
  std::string ladder;
  std::string overlays;
  for (const auto& chart : list) {
    const bool of_calibration = chart.id == "ladder" || chart.id == "latency" || chart.id == "intensity";
    auto& place = of_calibration                    ? ladder
                  : chart.scope == "operation"      ? operation_charts
                  : chart.scope == "runs"           ? overlays
                  : chart.scope.starts_with("runs") ? operation_charts
                                                    : device_charts;
    place += figure(chart);
  }
  const bool one = several == nullptr;
  std::vector<page::File> own = {page::script_page(), page::script_base(), page::script_table()};
  if (run.program) own.insert(own.end(), {page::script_timeline(), page::script_program()});
  const auto scripts = page::scripts(own), last = page::scripts({page::script_charts()});
  page::Scripts vega;
  charts::Json data, samples;
  for_each_in_parallel(2, 1, [&](std::size_t i) {  // what takes longest, and what can be made beside it
    if (i == 0) {
      data = page::json_data(data_of(run, list, std::move(datasets), std::move(points)));
    } else {
      vega = page::vega_scripts();
      // As it is: to compress it gains little, and it is read when a point is opened.
      samples = {
          {"type", "application/json"}, {"id", "samples"}, {"text", markup::script_json(charts::packed_samples(run))}};
    }
  });
  return markup::fill(
      page::frame().text,
      {{"head", page::head(one ? sections::title(run) : several_title(*several, !comparison.empty()),
                           run.context.gpubench_version, scripts.sources + last.sources + vega.sources)},
       {"devices", one ? sections::devices(run) : heading_of(*several, !comparison.empty())},
       {"meta", one ? meta_of(run.context) : ""},
       {"version", run.context.gpubench_version},
       {"summary", sections::summary(run)},
       {"findings", sections::findings(run)},
       {"regimes", sections::regimes(run)},
       {"notices", sections::notices(run)},
       {"comparison", comparison},
       {"program", sections::program(run)},
       {"of_program", run.program.has_value()},
       {"runs", one ? "" : sections::runs(*several) + overlays},
       {"device_charts", device_charts},
       {"operation_charts", operation_charts},
       {"ladder", ladder},
       {"boundaries", sections::phases(run) + sections::boundaries(run) + sections::own(run) + sections::checks(run)},
       {"calibrations", sections::calibrations(run)},
       {"environment", one ? sections::environment(run) : environments(*several)},
       {"data", charts::Json::array({std::move(data), std::move(samples)})},
       {"scripts", scripts.html + vega.html + last.html}});
}

}  // namespace

std::string html(const Run& run) {
  Columns points;
  std::vector<charts::Chart> list;
  charts::Json beside;
  for_each_in_parallel(2, 1, [&](std::size_t i) {
    if (i == 0) {
      charts::each_printable_row(run, [&](charts::Json row) { points.add(std::move(row)); });
    } else {
      list = charts::all(run);
      beside = charts::datasets_beside_points(run);
    }
  });
  return page_of(run, list, std::move(beside), std::move(points), nullptr);
}

static std::string html_of(const Several& several, const std::string& comparison) {
  auto list = charts::all(several.merged);
  for (auto& chart : charts::overlays(several)) list.push_back(std::move(chart));
  auto sets = charts::datasets(several);
  Columns points;
  for (auto& row : sets["points"]) points.add(std::move(row));
  sets.erase("points");
  return page_of(several.merged, list, std::move(sets), std::move(points), &several, comparison);
}

std::string html(const Several& several) { return html_of(several, {}); }

std::string html(const compare::Comparison& comparison, const Several& several) {
  return html_of(several, sections::comparison(comparison, several.labels.front(), several.labels.back()));
}

std::string leaderboard_html(std::string_view text, const std::string& version) {
  constexpr std::array looks = {std::pair{"right", "good"}, std::pair{"wrong", "slower"}, std::pair{"refused", "held"}};
  const auto given = storage::parsed_json(text);
  markup::CaptionedTable table{.caption = given.at("caption"),
                               .columns = headings(given.at("columns").get<std::string>()),
                               .rows = given.at("rows").get<Rows>(),
                               .folds = false};
  for (auto& row : table.rows)
    for (std::size_t i = 0; i < row.size() && i < table.columns.size(); ++i)
      if (table.columns[i].made) {
        const auto* const look =
            std::ranges::find(looks, row[i], [](const auto& one) { return std::string(one.first); });
        row[i] = fmt::format("<span class=\"{}\">{}</span>", look == looks.end() ? "" : look->second,
                             markup::escape(row[i]));
      }
  page::LookPage page;
  page.summary = given.at("summary");
  page.body = markup::part("leaderboard", {{"table", markup::render(table)}, {"caption", given.at("chart")}});
  page.data.push_back(page::json_data({{"specification", given.at("specification")},
                                       {"themes", {{"light", charts::theme(false)}, {"dark", charts::theme(true)}}}}));
  page.scripts = {page::script_leaderboard()};
  page.draws_charts = true;
  return page::look_page({given.at("title"), version, given.at("notes")}, std::move(page));
}

std::string chart_html(std::string_view specification) {
  return markup::fill(page::chart().text,
                      {{"scripts", page::vega_scripts().html},
                       {"specification", markup::script_json(storage::parsed_json(specification))}});
}

}  // namespace gpubench::reports
