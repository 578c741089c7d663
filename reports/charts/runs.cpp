// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/base/text.h"
#include "reports/charts/charts.h"
#include "reports/charts/parts.h"
#include "reports/charts/rows.h"

namespace gpubench::reports::charts {
namespace {

/// What all three charts are made of: colours and shapes of runs, and the mark of a point.
Parts parts_of(const Several& several, Json x, Json y) {
  auto labels = Json::array();
  for (const auto& label : several.labels) labels.push_back(printable(label));
  const auto by_run = [&](Json range) -> Json {
    return {{"field", "run"},
            {"type", "nominal"},
            {"scale", {{"domain", labels}, {"range", std::move(range)}}},
            {"legend", {{"title", nullptr}, {"orient", "top"}, {"labelLimit", 320}}}};
  };
  auto tooltip = filled("\"@point\"");
  tooltip.insert(tooltip.begin(), Json::object({{"field", "run"}}));
  return {{"x", std::move(x)},
          {"y", std::move(y)},
          {"run", by_run("ordinal")},  // the theme's colours for runs
          {"run_shape", by_run({"circle", "triangle-up", "square", "diamond", "cross", "triangle-down",
                                "triangle-right", "triangle-left"})},
          {"run_point", std::move(tooltip)},
          {"shown", "datum.seconds > 0 && indexof(regimes, datum.regime) >= 0"}};
}

/// Of each run the outermost memory roof and the pipes that its points use: all of them would be a thicket.
Json rooflines(const Several& several) {
  auto own = parts_of(
      several, decimal_axis("x", "intensity", "arithmetic intensity (FLOP per byte)", "format(datum.value, '.6~g')"),
      decimal_axis("y", "rate", "speed", si_label("FLOP/s")));
  own["main_roof"] = "datum.kind === 'memory' ? datum.rank === 0 : datum.used";
  own["named"] = "isValid(datum.run_label)";
  own["angle"] = "datum.kind === 'memory' ? " + filled("\"@roof_angle\"").get<std::string>() + " : 0";
  return spec(420, own, R"([
    {"data": "roofs", "filter": "@main_roof", "mark": "area roof-interval",
     "encoding": {"x": "@x", "y": "@y.rate_low", "y2": "@.rate_high", "detail": ["@.run", "@.device", "@.roof"]}},
    {"data": "roofs", "filter": "@main_roof", "mark": "line run-roof",
     "encoding": {"x": "@x", "y": "@y", "detail": ["@.run", "@.device", "@.roof"], "color": "@run",
      "tooltip": ["run", "label", "interval", "method"]}},
    {"data": "roofs", "filter": "@named", "mark": "text roof-label",
     "with": {"align": {"expr": "datum.kind === 'memory' ? 'left' : 'right'"},
      "dx": {"expr": "datum.kind === 'memory' ? 6 : -4"}, "dy": -7, "angle": {"expr": "@angle"}},
     "encoding": {"x": "@x", "y": "@y", "text": "@.run_label", "color": "@run"}},
    {"data": "points", "filter": ["@shown", "datum.intensity > 0"], "mark": "point run-point", "with": "@pointer",
     "encoding": {"x": "@x", "y": "@y.flops_per_second", "color": "@run", "shape": "@run_shape",
      "tooltip": "@run_point"}}])");
}

Json times(const Several& several) {
  auto own =
      parts_of(several, binary_axis("size", "size", size_label), decimal_axis("y", "seconds", "time", si_label("s")));
  own["shown"] = own["shown"].get<std::string>() + " && datum.line === line && datum.size > 0";
  return spec(340, own, R"([
    {"data": "points", "filter": ["@shown", "datum.repetition === 0"], "mark": "line run-line",
     "encoding": {"x": "@x", "y": "@y", "color": "@run", "detail": "@.device"}},
    {"data": "points", "filter": ["@shown", "datum.low > 0"], "mark": "rule whisker",
     "encoding": {"x": "@x", "y": "@y.low", "y2": "@.high", "color": "@run"}},
    {"data": "points", "filter": "@shown", "mark": "point run-point", "with": "@pointer",
     "encoding": {"x": "@x", "y": "@y", "color": "@run", "shape": "@run_shape", "tooltip": "@run_point"}},
    {"data": "points", "filter": "@shown", "mark": "point anchor", "label": ["size", "device", "run"],
     "encoding": {"x": "@x", "y": "@y"}}])");
}

Json changes(const Several& several) {
  auto own = parts_of(several,
                      decimal_axis("x", "base_seconds", "time in " + printable(several.labels.front()), si_label("s")),
                      filled(R"({"field": "ratio", "type": "quantitative", "title": "time over that of the first run",
                 "scale": {"type": "log", "base": 2, "nice": false, "padding": 14},
                 "axis": {"labelExpr": "format(datum.value, '.3~g') + 'x'", "labelOverlap": true}})"));
  own["unit_line"] = filled(unit_line);
  own["change"] = "abs(log(datum.ratio))";
  return spec(340, own, R"(["@unit_line",
    {"data": "changes", "filter": "datum.ratio_low > 0", "mark": "rule whisker",
     "encoding": {"x": "@x", "y": "@y.ratio_low", "y2": "@.ratio_high", "color": "@run"}},
    {"data": "changes", "mark": "point run-point", "with": "@pointer",
     "encoding": {"x": "@x", "y": "@y", "color": "@run", "shape": "@run_shape",
      "tooltip": ["name", "run", "ratio_text", "bounds"]}},
    {"data": "changes", "filter": "datum.ratio > 0", "transform": [{"calculate": "@change", "as": "change"},
      {"filter": "datum.change > 0.05"}], "mark": "point anchor", "label": ["change", "id", "name"],
     "encoding": {"x": "@x", "y": "@y"}}])");
}

std::string times_text(double ratio) { return rounded(ratio).dump() + "x"; }

/// What a point is called across runs, and the device's id without the run's label.
using RowKey = std::pair<std::string, std::string>;

Json change_rows(const Several& several, const Json& points) {
  const auto own_id = [&](const Json& row) {
    const auto id = row["device"].get<std::string>();
    return id.substr(std::min(id.size(), row["run"].get<std::string>().size() + 3));
  };
  const auto first_label = printable(several.labels.front());
  std::map<RowKey, const Json*> base;
  std::set<std::string> base_devices;
  std::string first_device;
  for (const auto& row : points) {
    if (!row.contains("seconds") || row["run"] != first_label) continue;
    const auto device = own_id(row);
    if (base_devices.empty()) first_device = device;
    base_devices.insert(device);
    base.emplace(RowKey{device, row["name"].get<std::string>()}, &row);
  }
  auto rows = Json::array();
  for (const auto& row : points) {
    if (!row.contains("seconds") || row["run"] == first_label) continue;
    const auto device = own_id(row);
    const auto& partner = base_devices.count(device) > 0 ? device : first_device;
    const auto match = base.find({partner, row["name"].get<std::string>()});
    if (match == base.end()) continue;
    const auto& old = *match->second;
    const double ratio = row["seconds"].get<double>() / old["seconds"].get<double>();
    Json change = {{"id", row["id"]},     {"name", row["name"]},     {"run", row["run"]},
                   {"line", row["line"]}, {"device", row["device"]}, {"base_seconds", old["seconds"]}};
    put(change, "ratio", ratio);
    change["ratio_text"] = "takes " + times_text(ratio) + " the time of " + first_label;
    if (row.contains("low") && old.contains("low") && old["low"].get<double>() > 0) {
      const double low = row["low"].get<double>() / old["high"].get<double>();
      const double high = row["high"].get<double>() / old["low"].get<double>();
      put(change, "ratio_low", low);
      put(change, "ratio_high", high);
      change["bounds"] = "at least " + times_text(low) + ", at most " + times_text(high);
    }
    rows.push_back(std::move(change));
  }
  return rows;
}

/// Roofs of several runs lie close together: each is named once, by the first run that has about its value.
void name_roofs(Json& roofs) {
  std::map<std::string, std::vector<double>> named;  // values, by kind
  for (auto& row : roofs) {
    const bool memory = row["kind"] == "memory";
    if (row["place"] != "label" || !row.contains("run") || !(memory ? row["rank"] == 0 : row["used"] == true)) continue;
    auto& values = named[row["kind"].get<std::string>()];
    const double value = row["rate"].get<double>();
    const auto near = [&](double other) { return std::max(value / other, other / value) < 1.35; };
    if (std::ranges::any_of(values, near)) continue;
    values.push_back(value);
    row["run_label"] = row["label"].get<std::string>() + " (" + row["run"].get<std::string>() + ")";
  }
}

}  // namespace

std::vector<Chart> overlays(const Several& several) {
  return {{"rooflines", "Rooflines of all runs",
           "Every point that declares FLOPs, coloured by run, with the DRAM roof and the pipes of each run. "
           "Roofs of the same device coincide.",
           "runs", rooflines(several)},
          {"changes", "Change of every point",
           "Time of each point divided by its time in the first run. Below 1 is faster. Whiskers span "
           "both 95 % intervals. To test whether a change is real, use gpubench compare.",
           "runs", changes(several)},
          {"times", "Time against size, by run", "Medians of the operation with their 95 % intervals.",
           "runs-operation", times(several)}};
}

Json datasets(const Several& several) {
  auto sets = datasets(several.merged);
  std::map<std::string, std::string> labels;
  for (const auto& [device, index] : several.run_of_device)
    labels[printable(device)] = printable(several.labels[index]);
  for (const auto* name : {"points", "roofs"})
    for (auto& row : sets[name])
      if (const auto label = labels.find(row["device"].get<std::string>()); label != labels.end())
        row["run"] = label->second;
  name_roofs(sets["roofs"]);
  sets["changes"] = change_rows(several, sets["points"]);
  return sets;
}

}  // namespace gpubench::reports::charts
