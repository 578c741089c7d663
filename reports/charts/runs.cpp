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

constexpr auto of_shown_regime = "datum.seconds > 0 && indexof(regimes, datum.regime) >= 0";
constexpr auto of_chosen_line = "datum.line === line";

Json labels_list(const Several& several) {
  auto list = Json::array();
  for (const auto& label : several.labels) list.push_back(printable(label));
  return list;
}

/// By the theme's colours for runs.
Json run_color(const Several& several) {
  return {{"field", "run"},
          {"type", "nominal"},
          {"scale", {{"domain", labels_list(several)}, {"range", "ordinal"}}},
          {"legend", {{"title", nullptr}, {"orient", "top"}, {"labelLimit", 320}}}};
}
Json run_shape(const Several& several) {
  auto shape = run_color(several);
  shape["scale"]["range"] = Json::array(
      {"circle", "triangle-up", "square", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"});
  return shape;
}

Json run_tooltip() {
  auto list = point_tooltip();
  list.insert(list.begin(), Json::object({{"field", "run"}}));
  return list;
}

/// All points, coloured and shaped by their run.
Json run_points(std::string_view condition, const Json& x, const Json& y, const Several& several) {
  return layer(
      "points", condition, style("point", "run-point", {{"filled", true}, {"cursor", "pointer"}}),
      {{"x", x}, {"y", y}, {"color", run_color(several)}, {"shape", run_shape(several)}, {"tooltip", run_tooltip()}});
}

Json rooflines(const Several& several) {
  const auto x = decimal_axis("x", "intensity", "arithmetic intensity (FLOP per byte)", "format(datum.value, '.6~g')");
  const auto y = decimal_axis("y", "rate", "speed", si_label("FLOP/s"));
  const auto point_y = of_field(y, "flops_per_second");
  // Of each run the outermost memory roof and the pipes that its points use: all of them would be a thicket.
  constexpr auto main_roof = "datum.kind === 'memory' ? datum.rank === 0 : datum.used";
  const auto band_y = of_field(y, "rate_low");
  const auto identity = Json::array({like("run"), like("device"), like("roof")});
  const auto label = style("text", "roof-label",
                           {{"align", {{"expr", "datum.kind === 'memory' ? 'left' : 'right'"}}},
                            {"dx", {{"expr", "datum.kind === 'memory' ? 6 : -4"}}},
                            {"dy", -7},
                            {"angle", {{"expr", std::string("datum.kind === 'memory' ? ") + roof_angle + " : 0"}}}});
  return spec(420, {layer("roofs", main_roof, style("area", "roof-interval"),
                          {{"x", x}, {"y", band_y}, {"y2", like("rate_high")}, {"detail", identity}}),
                    layer("roofs", main_roof, style("line", "run-roof"),
                          {{"x", x},
                           {"y", y},
                           {"detail", identity},
                           {"color", run_color(several)},
                           {"tooltip", tooltip({{"run", ""}, {"label", ""}, {"interval", ""}, {"method", ""}})}}),
                    layer("roofs", "isValid(datum.run_label)", label,
                          {{"x", x}, {"y", y}, {"text", like("run_label")}, {"color", run_color(several)}}),
                    run_points(both(of_shown_regime, "datum.intensity > 0"), x, point_y, several)});
}

Json times(const Several& several) {
  const auto x = binary_axis("size", "size", size_label);
  const auto y = decimal_axis("y", "seconds", "time", si_label("s"));
  const auto shown = both(both(of_shown_regime, of_chosen_line), "datum.size > 0");
  const auto low = of_field(y, "low");
  return spec(340, {layer("points", both(shown, "datum.repetition === 0"), style("line", "run-line"),
                          {{"x", x}, {"y", y}, {"color", run_color(several)}, {"detail", like("device")}}),
                    layer("points", both(shown, "datum.low > 0"), style("rule", "whisker"),
                          {{"x", x}, {"y", low}, {"y2", like("high")}, {"color", run_color(several)}}),
                    run_points(shown, x, y, several)});
}

Json changes(const Several& several) {
  const auto x = decimal_axis("x", "base_seconds", "time in " + printable(several.labels.front()), si_label("s"));
  const Json y = {{"field", "ratio"},
                  {"type", "quantitative"},
                  {"title", "time over that of the first run"},
                  {"scale", {{"type", "log"}, {"base", 2}, {"nice", false}, {"padding", 14}}},
                  {"axis", {{"labelExpr", "format(datum.value, '.3~g') + 'x'"}, {"labelOverlap", true}}}};
  const auto low = of_field(y, "ratio_low");
  auto points = run_points("", x, y, several);
  points["data"] = data("changes");
  points["encoding"]["tooltip"] = tooltip({{"name", ""}, {"run", ""}, {"ratio_text", ""}, {"bounds", ""}});
  return spec(340, {unit_line(),
                    layer("changes", "datum.ratio_low > 0", style("rule", "whisker"),
                          {{"x", x}, {"y", low}, {"y2", like("ratio_high")}, {"color", run_color(several)}}),
                    points});
}

std::string times_text(double ratio) { return rounded(ratio).dump() + "x"; }

/// What a point is called across runs, and the device's id without the run's label.
using Key = std::pair<std::string, std::string>;

Json change_rows(const Several& several, const Json& points) {
  const auto own_id = [&](const Json& row) {
    const auto id = row["device"].get<std::string>();
    return id.substr(std::min(id.size(), row["run"].get<std::string>().size() + 3));
  };
  const auto first_label = printable(several.labels.front());
  std::map<Key, const Json*> base;
  std::set<std::string> base_devices;
  std::string first_device;
  for (const auto& row : points) {
    if (!row.contains("seconds") || row["run"] != first_label) continue;
    const auto device = own_id(row);
    if (base_devices.empty()) first_device = device;
    base_devices.insert(device);
    base.emplace(Key{device, row["name"].get<std::string>()}, &row);
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
    if (std::any_of(values.begin(), values.end(),
                    [&](double other) { return std::max(value / other, other / value) < 1.35; }))
      continue;
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
