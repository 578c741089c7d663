// SPDX-License-Identifier: Apache-2.0
// A chart by itself: the specification with its data, of a width of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/model/points.h"
#include "core/storage/document.h"
#include "reports/charts/charts.h"
#include "reports/charts/rows.h"
#include "reports/shared_text.h"

namespace gpubench::reports::charts {
namespace {

constexpr int picture_width = 760;

template <typename Value, typename Visit>
void each_object(Value& value, const Visit& visit) {
  if (value.is_object()) visit(value);
  if (value.is_structured())
    for (auto& element : value) each_object(element, visit);
}

/// The timed points of a device (of any, where it is empty), or of one operation there.
std::vector<const Json*> rows_of(const Json& points, const std::string& device, const std::string& line) {
  std::vector<const Json*> rows;
  for (const auto& row : points)
    if (row.contains("seconds") && (device.empty() || row["device"] == device) &&
        (line.empty() || row["line"] == line || row["operation"] == line))
      rows.push_back(&row);
  return rows;
}

[[noreturn]] void refuse_line(const Json& points, const std::string& device, const std::string& line) {
  std::vector<std::string> known;
  for (const auto* row : rows_of(points, device, ""))
    if (auto name = (*row)["line"].get<std::string>(); !contains(known, name)) known.push_back(std::move(name));
  throw std::invalid_argument(fmt::format("no timed point of operation '{}' on {}; it has {}", printable(line),
                                          device.empty() ? "any device" : device,
                                          known.empty() ? "none at all" : few_of(known, 12)));
}

std::string chosen_device(const Run& run, const Json& points, const Selection& choice) {
  if (!choice.device.empty()) {
    std::vector<std::string> ids;
    for (const auto& device : run.devices) ids.push_back(printable(device.id));
    if (!contains(ids, choice.device))
      throw std::invalid_argument(
          fmt::format("no device '{}' in this run; it has {}", printable(choice.device), few_of(ids, 12)));
    return choice.device;
  }
  for (const std::string& line : {choice.line, std::string()})
    if (const auto rows = rows_of(points, "", line); !rows.empty())
      return rows.front()->at("device").get<std::string>();
  return run.calibrations.empty() ? "" : printable(run.calibrations.front().device.id);
}

/// Who and when, below the title.
std::string origin_of(const Run& run, const std::string& device) {
  std::string text;
  for (const auto& known : run.devices)
    if (device.empty() || known.id == device)
      text += (text.empty() ? "" : "; ") + printable(known.name) + " (" + printable(known.id) + ")";
  return text + (text.empty() ? "" : ", ") + "gpubench " + printable(run.context.gpubench_version) + ", " +
         printable(run.context.created_utc);
}

/// Likewise of each of several runs, a line a run.
Json origins_of(const Several& several) {
  auto lines = Json::array();
  for (std::size_t i = 0; i < several.labels.size(); ++i) {
    std::string text = printable(several.labels[i]) + ": ";
    for (const auto& device : several.devices[i]) text += printable(device.name) + ", ";
    const auto& context = several.contexts[i];
    lines.push_back(text + "gpubench " + printable(context.gpubench_version) + ", " + printable(context.created_utc));
  }
  return lines;
}

const Measurement& chosen_point(const Run& run, const Selection& choice) {
  for (const auto& point : run.points) {
    const auto& measurement = point.measurement;
    const bool named = choice.line.empty() || printable(label(measurement)) == choice.line;
    if (named && measurement.seconds() && !measurement.primary().samples_seconds.empty() &&
        (choice.device.empty() || printable(measurement.device) == choice.device))
      return measurement;
  }
  throw std::invalid_argument(choice.line.empty()
                                  ? std::string("no point of this run has samples")
                                  : fmt::format("this run has no point '{}' with samples; give a name as in the table, "
                                                "such as saxpy/n:1024",
                                                printable(choice.line)));
}

/// Regimes that do not occur, and resources, have no place in the legend.
void trim_legends(Json& spec, const std::vector<const Json*>& rows) {
  std::set<std::string> regimes;
  std::set<std::string> resources;
  for (const auto* row : rows) {
    regimes.insert(row->value("regime", ""));
    if (row->contains("shares"))
      for (const auto& share : (*row)["shares"]) resources.insert(share[0].get<std::string>());
  }
  each_object(spec, [&](Json& channel) {
    if (!channel.contains("legend") || !channel["legend"].is_object()) return;
    const auto field = channel.value("field", "");
    if (field != "regime" && field != "resource") return;
    auto values = Json::array();
    for (const auto& name : channel["scale"]["domain"])
      if ((field == "regime" ? regimes : resources).count(name.get<std::string>()) > 0) values.push_back(name);
    channel["legend"]["values"] = std::move(values);
  });
}

void put_axis_name(Json& spec, const std::vector<const Json*>& rows) {
  const auto name = rows.empty() ? std::string() : rows.front()->value("axis", "");
  if (name.empty() || !spec.contains("layer")) return;
  for (auto& layer : spec["layer"])
    if (auto& encoding = layer["encoding"]; encoding.contains("x") && encoding["x"].value("title", Json()) == "size")
      encoding["x"]["title"] = name;
}

/// Pixels to draw in, of which `draw` then makes a picture so wide: 144 an inch, so that text of 12 pixels has 6
/// points.
int pixels_of(double width_mm) { return static_cast<int>(std::lround(width_mm / 25.4 * 144.0)); }

/// Title and subtitle in lines that a picture so wide holds, from its left edge on.
void put_title(Json& spec, int width) {
  spec["config"]["title"]["frame"] = "bounds";
  for (const auto& [field, pixels] : {std::pair("text", 9.0), std::pair("subtitle", 6.5)}) {  // of a letter
    auto& text = spec["title"][field];
    auto lines = Json::array();
    for (const Json& line : text.is_array() ? text : Json::array({text}))
      for (auto& part : wrap(line.get<std::string>(), static_cast<std::size_t>(width / pixels)))
        lines.push_back(std::move(part));
    text = std::move(lines);
  }
}

/// Charts beside each other come below each other on paper that is too narrow for two.
void put_width(Json& spec, double width_mm) {
  constexpr double narrow_mm = 120.0;
  constexpr int beside_plot = 110;  // an axis with its labels
  const int width = pixels_of(width_mm);
  put_title(spec, width);
  if (spec.contains("width")) spec["width"] = width;
  if (!spec.contains("concat")) return;
  const int columns = width_mm < narrow_mm ? 1 : spec.value("columns", 1);
  spec["columns"] = columns;
  for (auto& part : spec["concat"])
    if (part.contains("width")) part["width"] = width / columns - beside_plot;
}

void put_sizes(Json& spec, const std::vector<const Json*>& rows) {
  if (spec.value("width", Json()) == "container") spec["width"] = picture_width;
  if (!spec.contains("height") || !spec["height"].is_object()) return;
  // A row a line, in pixels: Vega-Lite cannot fit the width while it steps the height.
  std::set<std::string> lines;
  const auto* cell = contains(storage::json_text(spec["layer"]), "size_to") ? "size_to" : "cell_to";
  for (const auto* row : rows)
    if (row->contains(cell)) lines.insert((*row)["line"].get<std::string>());
  spec["height"] = spec["height"]["step"].get<int>() * static_cast<int>(std::max<std::size_t>(lines.size(), 1));
}

/// A picture of nothing helps nobody.
void refuse_empty(const Chart& chart, const Json& sets, const std::set<std::string>& names,
                  const std::vector<const Json*>& rows) {
  const std::map<std::string, const char*> fields = {{"strip", "cell_to"}, {"overview", "cell_to"},
                                                     {"map", "size_to"},   {"rate", "bytes_per_second"},
                                                     {"shares", "shares"}, {"kernels", "kernel_shares"}};
  const auto known = fields.find(chart.id);
  const char* const needed = known != fields.end() ? known->second : "seconds";
  const bool of_points = names.contains("points") && !names.contains("roofs");
  const bool lacks = std::ranges::none_of(rows, [&](const Json* row) { return row->contains(needed); });
  const bool all_empty = std::ranges::all_of(names, [&](const std::string& name) { return sets[name].empty(); });
  if ((of_points && lacks) || all_empty)
    throw std::invalid_argument(fmt::format("this run has no data for the chart '{}'", chart.id));
}

Json compose(const Chart& chart, const Run& run, Json sets, const Selection& choice) {
  auto spec = chart.spec;
  const bool of_all_runs = chart.scope.starts_with("runs");
  const bool of_one_line = chart.scope.ends_with("operation");
  const auto& points = sets["points"];
  const auto device = of_all_runs ? std::string() : chosen_device(run, points, choice);
  auto line = choice.line;
  auto rows = rows_of(points, device, line);
  if (!line.empty() && rows.empty()) refuse_line(points, device, line);
  if (of_one_line && line.empty())
    for (const auto* row : rows)
      if (row->contains("size") && (*row)["size"].get<double>() > 0) {
        line = (*row)["line"].get<std::string>();
        break;
      }
  auto title = chart.title;
  if (!line.empty()) {
    rows = rows_of(points, device, line);
    line = rows.front()->at("line").get<std::string>();  // of an operation with several series the first
    rows = rows_of(points, device, line);
    title += " \u00b7 " + line;
  }
  trim_legends(spec, rows);
  put_axis_name(spec, rows);
  put_sizes(spec, rows);
  spec["title"] = {{"text", title}, {"subtitle", origin_of(run, device)}};
  for (auto& param : spec["params"]) {
    if (param["name"] == "device") param["value"] = device;
    if (param["name"] == "line") param["value"] = line;
  }
  std::set<std::string> names;
  each_object(chart.spec, [&](const Json& part) {
    if (const auto data = part.find("data"); data != part.end() && data->contains("name"))
      names.insert(data->at("name").get<std::string>());
  });
  refuse_empty(chart, sets, names, rows);
  auto own = Json::object();
  for (const auto& name : names) own[name] = std::move(sets[name]);
  spec["datasets"] = std::move(own);
  return spec;
}

/// `source`: the run, or several of which `run` is the merged one; `origins`: of these.
template <class Source>
Json finished(const Chart& chart, const Run& run, const Source& source, const Selection& choice,
              const PictureStyle& style, const Json& origins = nullptr) {
  Json spec;
  if (chart.scope == "point") {
    const auto& measurement = chosen_point(run, choice);
    spec = chart.spec;
    spec["title"] = {{"text", chart.title + " of " + printable(label(measurement))},
                     {"subtitle", origin_of(run, measurement.device)}};
    spec["datasets"] = sample_sets(measurement);
  } else {
    spec = compose(chart, run, datasets(source), choice);
  }
  spec["description"] = chart.description;
  spec["config"] = paper_theme(style.dark);
  if (!style.title.empty()) spec["title"]["text"] = printable(style.title);
  if (chart.scope.starts_with("runs")) spec["title"]["subtitle"] = origins;
  if (style.width_mm > 0.0) put_width(spec, style.width_mm);
  return spec;
}

}  // namespace

Json standalone(const Chart& chart, const Run& run, const Selection& choice, const PictureStyle& style) {
  return finished(chart, run, run, choice, style);
}

Json standalone(const Chart& chart, const Several& several, const Selection& choice, const PictureStyle& style) {
  return finished(chart, several.merged, several, choice, style, origins_of(several));
}

}  // namespace gpubench::reports::charts
