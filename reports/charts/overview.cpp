// SPDX-License-Identifier: Apache-2.0
// Charts of more than one view: the map of regimes, the overview in four panels, the samples of a point.
#include <algorithm>
#include <utility>

#include "core/model/points.h"
#include "reports/charts/charts.h"
#include "reports/charts/parts.h"
#include "reports/charts/rows.h"

namespace gpubench::reports::charts {
namespace {

/// All operations of the device, or the one that is chosen: an empty `line` stands for all.
constexpr auto shown_lines =
    "datum.device === device && datum.seconds > 0 && indexof(regimes, datum.regime) >= 0 && (line === '' || datum.line "
    "=== line)";

/// How sure the regime is: from faint (a toss-up between two) to strong.
Json map_layers(const char* from, const char* to, const char* middle, const char* title, const char* label,
                bool with_text) {
  auto x = binary_axis(from, title, label);
  x["scale"]["padding"] = 0;
  const auto at = of_field(x, middle);
  const auto y = rows_of_operations();
  const std::string shown = both(both(shown_lines, std::string("datum.") + to + " > 0"), "datum.repetition === 0");
  auto layers = Json::array(
      {cell_layer(shown, x, to, "isValid(datum.confidence) ? datum.confidence : 0", {0.4, 1}, {0.12, 0.72})});
  const std::string unsure = "isValid(datum.confidence) && datum.confidence < 0.95";
  if (with_text)
    layers.push_back(
        cell_text(shown, at, y, "width >= 700 ? 1 : 0",
                  std::string(regime_sign) + " + (" + unsure + " ? format(100 * datum.confidence, '.0f') : '')"));
  layers.push_back(cell_text(shown, at, y, with_text ? "width < 700 ? 1 : 0" : "1", regime_sign));
  return layers;
}

/// A panel of the overview.
Json framed(const char* title, Json layers) {
  return {{"title", {{"text", title}, {"anchor", "start"}, {"fontSize", 13}}},
          {"width", 380},
          {"height", 250},
          {"layer", std::move(layers)}};
}

/// Thin lines join the sizes of an operation.
Json panel(const char* title, const Json& y, Json below = Json::array()) {
  const auto x = binary_axis("working_set", "working set", bytes_label);
  const auto field = y["field"].get<std::string>();
  const std::string shown = both(both(shown_lines, "datum.working_set > 0"), "datum['" + field + "'] > 0");
  auto layers = std::move(below);
  auto mark = point_mark();
  mark["clip"] = false;  // the highest lie on the edge
  layers.push_back(layer("points", both(shown, "datum.repetition === 0 && datum.cell_to > 0"), style("line", "thread"),
                         {{"x", x}, {"y", y}, {"detail", like("line")}}));
  layers.push_back(
      layer("points", shown, std::move(mark),
            {{"x", x}, {"y", y}, {"color", regime_color()}, {"shape", regime_shape()}, {"tooltip", point_tooltip()}}));
  return framed(title, std::move(layers));
}

bool has_flops(const Run& run) {
  return std::any_of(run.points.begin(), run.points.end(),
                     [](const Point& point) { return flops_per_second(point.measurement).has_value(); });
}

bool has_dram(const Run& run) {
  return std::any_of(run.calibrations.begin(), run.calibrations.end(),
                     [](const Calibration& calibration) { return dram_of(calibration) != nullptr; });
}

}  // namespace

Json map() {
  auto layers = map_layers("size_from", "size_to", "size", "size (the operation's own argument)", size_label, true);
  auto at = binary_axis("at", "size (the operation's own argument)", size_label);
  at["scale"]["padding"] = 0;
  Json tick = style("tick", "boundary-tick");
  layers.push_back(
      layer("boundaries", "datum.device === device && (line === '' || datum.line === line)", tick,
            {{"x", at}, {"y", rows_of_operations()}, {"tooltip", tooltip({{"label", ""}, {"at", ".4~s"}})}}));
  return row_spec(std::move(layers));
}

Json overview(const Run& run) {
  const auto time_y = decimal_axis("concat_0_y", "seconds", "time", si_label("s"));
  const bool flops = has_flops(run);
  const auto throughput_y = flops ? decimal_axis("concat_1_y", "flops_per_second", "speed", si_label("FLOP/s"))
                                  : decimal_axis("concat_1_y", "bytes_per_second", "bytes moved", si_label("B/s"));
  const bool dram = has_dram(run);
  const Json share_y = {{"field", "of_dram"},
                        {"type", "quantitative"},
                        {"title", "bytes over the DRAM ceiling"},
                        {"axis", {{"format", ".0%"}, {"tickCount", 6}}}};
  auto panels = Json::array(
      {panel("Time", time_y), panel(flops ? "Throughput (operations that declare FLOPs)" : "Throughput", throughput_y),
       dram ? panel("Bandwidth utilisation", share_y, Json::array({unit_line()}))
            : panel("Bandwidth",
                    decimal_axis("concat_2_y", "bytes_per_second", "bytes moved per second", si_label("B/s"))),
       framed("Regime", map_layers("cell_from", "cell_to", "working_set", "working set", bytes_label, false))});
  return {{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"},
          {"params", parameters()},
          {"columns", 2},
          {"spacing", 24},
          {"resolve", {{"scale", {{"color", "shared"}, {"shape", "shared"}}}}},
          {"concat", std::move(panels)}};
}

Json samples() {
  const Json y = {{"field", "seconds"},
                  {"type", "quantitative"},
                  {"title", "time of one execution"},
                  {"scale", {{"zero", false}, {"nice", false}, {"padding", 8}}},
                  {"axis",
                   {{"tickCount", 6},
                    {"labelExpr",
                     "replace(replace(format(datum.value, '.5s'), '\u00b5', 'u'), regexp('([a-zA-Z]?)$'), "
                     "' $1') + 's'"}}}};
  const Json order = {{"field", "index"},
                      {"type", "quantitative"},
                      {"title", "sample, in the order taken"},
                      {"scale", {{"zero", false}, {"nice", false}, {"padding", 8}}},
                      {"axis", {{"tickMinStep", 1}, {"tickCount", 8}, {"grid", false}}}};
  const auto median = of_field(y, "median");
  const auto low = of_field(y, "low");
  const auto block = of_field(order, "block_from");
  Json sequence = {
      {"width", 480},
      {"height", 170},
      {"layer",
       Json::array({{{"data", data("summary")},
                     {"mark", style("rect", "level-interval")},
                     {"encoding", {{"y", low}, {"y2", like("high")}}}},
                    {{"data", data("blocks")}, {"mark", style("rule", "boundary")}, {"encoding", {{"x", block}}}},
                    {{"data", data("summary")},
                     {"mark", style("rule", "level")},
                     {"encoding", {{"y", median}, {"tooltip", tooltip({{"text", ""}})}}}},
                    {{"data", data("samples")},
                     {"mark", {{"type", "point"}, {"style", "sample"}, {"filled", true}, {"clip", true}}},
                     {"encoding", {{"x", order}, {"y", y}, {"tooltip", tooltip({{"text", ""}})}}}}})}};
  auto binned = y;
  binned["bin"] = {{"maxbins", 24}};
  binned["title"] = nullptr;
  binned["axis"]["labels"] = false;
  Json histogram = {{"width", 140},
                    {"height", 170},
                    {"data", data("samples")},
                    {"mark", {{"type", "bar"}, {"style", "histogram"}}},
                    {"encoding",
                     {{"y", binned},
                      {"x",
                       {{"aggregate", "count"},
                        {"type", "quantitative"},
                        {"title", "samples"},
                        {"axis", {{"tickMinStep", 1}, {"tickCount", 4}}}}}}}};
  return {{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"},
          {"params", parameters()},
          {"spacing", 10},
          {"resolve", {{"scale", {{"y", "shared"}}}}},
          {"hconcat", Json::array({std::move(sequence), std::move(histogram)})}};
}

}  // namespace gpubench::reports::charts
