// SPDX-License-Identifier: Apache-2.0
// The charts of charts.json, and their theme.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "core/storage/document.h"
#include "reports/charts/charts.h"
#include "reports/charts/rows.h"
#include "reports/charts/short_form.h"
#include "reports/html/page.h"
#include "reports/regimes.h"

namespace gpubench::reports::charts {
namespace {

const Json& file() {
  static const Json parsed = storage::parsed_json(page::charts().text);
  return parsed;
}

/// The sign of a row's regime, as an expression.
std::string regime_sign() {
  std::string text = "'?'";
  for (std::size_t i = regime_names.size(); i-- > 0;)
    text = fmt::format("datum.regime === '{}' ? '{}' : {}", regime_names[i], regime_looks[i].sign, text);
  return text;
}

/// As `id` in the file. `further`: parts of the file's to use under another name.
Chart chart_of(const std::string& id, Parts own = {}, const Json& further = Json::object()) {
  auto raw = *std::ranges::find_if(file()["charts"], [&](const Json& chart) { return chart["id"] == id; });
  Chart chart{id, raw["title"], raw["description"], raw["scope"], {}};
  for (const auto* key : {"id", "title", "description", "scope"}) raw.erase(key);
  if (!further.empty()) raw["parts"].update(further);
  own.insert({{"regime_names", regime_names}, {"regime_sign", regime_sign()}});
  chart.spec = written_out(raw, file()["parts"], own);
  // The page sets these values, and `standalone` the first device and operation of the run. Candidates are rows that
  // may carry a group's label.
  chart.spec.update({{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"},
                     {"params", Json::array({{{"name", "device"}, {"value", ""}},
                                             {{"name", "line"}, {"value", ""}},
                                             {{"name", "regimes"}, {"value", regime_names}},
                                             {{"name", "candidates"}, {"value", 1}}})}});
  if (chart.spec.contains("layer"))
    chart.spec.update({{"width", "container"}, {"autosize", {{"type", "fit-x"}, {"contains", "padding"}}}});
  return chart;
}

Chart overview(const Run& run) {
  const bool flops = std::ranges::any_of(
      run.points, [](const Point& point) { return flops_per_second(point.measurement).has_value(); });
  const bool dram = std::ranges::any_of(run.calibrations,
                                        [](const Calibration& calibration) { return dram_of(calibration) != nullptr; });
  return chart_of("overview", {},
                  {{"second", flops ? "@speed" : "@moved"}, {"third", dram ? "@of_ceiling" : "@bandwidth"}});
}

/// Families keep their regime's colour: overhead, memory from near to far, pipes; grey for the unexplained.
Chart shares(const Run& run) {
  std::set<std::string> seen;
  for (const auto& point : run.points)
    if (point.verdict)
      for (const auto& share : point.verdict->shares) seen.insert(printable(label_of(share.resource)));
  auto names = Json::array(), colors = Json::array();
  const auto add = [&](const std::string& name, std::string_view color) {
    names.push_back(name), colors.push_back(color);
  };
  const std::string unexplained(resource::unexplained);
  const bool is_unexplained = seen.erase(unexplained) > 0;
  for (const Resource& each : all_resources())
    if (const std::string name(label_of(each.name)); !each.color.empty() && seen.erase(name) > 0) add(name, each.color);
  constexpr std::array pipes = {"#009E73", "#5CC4A4", "#00795A", "#97DCC6", "#B8D77E"};
  std::size_t next = 0;
  for (const auto& resource : seen) add(resource, pipes.at(next++ % pipes.size()));
  if (is_unexplained) add(unexplained, find_resource(unexplained)->color);
  auto chart = chart_of("shares", {{"resources", names}, {"resource_colors", colors}});
  // Names out of a run are values, never part of an expression.
  chart.spec["params"].push_back({{"name", "resources"}, {"value", std::move(names)}});
  return chart;
}

}  // namespace

std::vector<Chart> all(const Run& run) {
  const auto any = [&](auto Calibration::*list) {
    return std::ranges::any_of(run.calibrations, [&](const auto& calibration) { return !(calibration.*list).empty(); });
  };
  std::vector<Chart> charts = {chart_of("roofline"), overview(run),    chart_of("map"), chart_of("strip"),
                               chart_of("time"),     chart_of("rate"), shares(run),     chart_of("ladder")};
  if (std::ranges::any_of(run.points, [](const Point& point) { return point.measurement.kernels.size() > 1; }))
    charts.push_back(chart_of("kernels"));
  // Full calibrations have more; for others there would be nothing to draw.
  if (any(&Calibration::latency_curve)) charts.push_back(chart_of("latency"));
  if (any(&Calibration::intensity_sweep)) charts.push_back(chart_of("intensity"));
  return charts;
}

Chart samples_chart() { return chart_of("samples"); }

std::vector<Chart> overlays(const Several& several) {
  auto labels = Json::array();
  for (const auto& label : several.labels) labels.push_back(printable(label));
  const Parts own = {{"run_labels", labels}, {"base_title", "time in " + labels.at(0).get<std::string>()}};
  return {chart_of("rooflines", own), chart_of("changes", own), chart_of("times", own)};
}

Json theme(bool dark) {
  const auto regimes = of_regimes(dark ? &RegimeLook::dark : &RegimeLook::light);
  Parts own = file()[dark ? "dark" : "light"];
  own.insert({{"regimes", regimes},
              {"symbols", of_regimes(&RegimeLook::symbol)},
              {"blue", regimes[static_cast<std::size_t>(Regime::memory)]}});
  return written_out(file()["theme"], Json::object(), own);
}

Json paper_theme(bool dark) {
  auto config = theme(dark);
  config.merge_patch(file()["paper"]);
  if (dark) config.merge_patch(file()["dark_paper"]);
  return config;
}

}  // namespace gpubench::reports::charts
