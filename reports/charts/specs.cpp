// SPDX-License-Identifier: Apache-2.0
// The charts, one function for the specification of each.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "reports/charts/charts.h"
#include "reports/charts/parts.h"
#include "reports/charts/rows.h"

namespace gpubench::reports::charts {
namespace {

/// An axis with so many pixels free at its ends.
Json padded(Json axis, int pixels) {
  axis["scale"]["padding"] = pixels;
  return axis;
}

constexpr int label_room = 24;  ///< for a label above the highest line

Json size_axis() { return binary_axis("size", "size", size_label); }

/// As high as it has rows.
Json row_spec(Json layers) {
  auto result = spec(0, {}, "[]");
  result["layer"] = std::move(layers);
  result["height"] = {{"step", 27}};
  return result;
}

constexpr const char* shown_points =
    "datum.device === device && datum.seconds > 0 && indexof(regimes, datum.regime) >= 0";
/// All operations of the device, or the one that is chosen: an empty `line` stands for all.
const std::string shown_lines = fmt::format("{} && (line === '' || datum.line === line)", shown_points);

/// A text in each cell of a map: an expression of its opacity, and one of the text.
using CellText = std::pair<std::string, std::string>;

/// A condition on the width of a cell in pixels, from `from` on and below `below`, so that texts lie in their own
/// cells.
std::string of_width(std::string_view from_field, std::string_view to_field, int from, int below = 0) {
  const auto width = fmt::format("(scale('x', datum.{}) - scale('x', datum.{}))", to_field, from_field);
  return fmt::format("{0} >= {1}{2} ? 1 : 0", width, from, below > 0 ? fmt::format(" && {} < {}", width, below) : "");
}
constexpr int sign_width = 9;  ///< of a cell with a sign in it, in pixels
constexpr int number_width = 23;
constexpr int both_width = 32;

/// Cells of a map. `own`: x, points shown, strength and its scale. The fields of a cell's end and its text's place.
Json cell_layers(Parts own, std::string_view to, std::string_view middle, const std::vector<CellText>& texts) {
  own["shown"] = fmt::format("{} && datum.{} > 0 && datum.repetition === 0", own["shown"].get<std::string>(), to);
  own["to"] = {{"field", to}};
  own["middle"] = filled(fmt::format("\"@x.{}\"", middle), own);
  auto layers = filled(R"([
    {"data": "points", "filter": "@shown", "mark": "rect cell", "with": {"cursor": "pointer"},
     "transform": [{"calculate": "@strength", "as": "strength"}],
     "encoding": {"x": "@x", "x2": "@to", "y": "@operations", "color": "@color", "tooltip": "@point",
      "opacity": {"field": "strength", "type": "quantitative", "legend": null, "scale": "@strengths"}}}])",
                       own);
  for (const auto& [visible, expression] : texts) {
    own["visible"] = visible;
    own["expression"] = expression;
    layers.push_back(filled(R"({"data": "points", "filter": "@shown", "mark": "text cell-label",
     "transform": [{"calculate": "@expression", "as": "cell_text"}], "with": {"opacity": {"expr": "@visible"}},
     "encoding": {"x": "@middle", "y": "@operations", "text": "@.cell_text"}})",
                            own));
  }
  return layers;
}

/// How sure the regime is: from faint (a toss-up between two) to strong.
Json map_layers(const char* from, const char* to, const char* middle, const char* title, const char* label,
                const std::vector<CellText>& texts) {
  const Parts own = {{"x", padded(binary_axis(from, title, label), 0)},
                     {"shown", shown_lines},
                     {"strength", "isValid(datum.confidence) ? datum.confidence : 0"},
                     {"strengths", {{"domain", {0.4, 1}}, {"range", {0.12, 0.72}}, {"clamp", true}}}};
  return cell_layers(own, to, middle, texts);
}

Json framed(const char* title, Json layers) {
  return {{"title", {{"text", title}, {"anchor", "start"}, {"fontSize", 13}}},
          {"width", 380},
          {"height", 250},
          {"layer", std::move(layers)}};
}

/// Thin lines join the sizes of an operation; the highest points lie on the edge, so they are not cut off there.
Json panel(const char* title, const Json& y) {
  const auto shown =
      fmt::format("{} && datum.working_set > 0 && datum['{}'] > 0", shown_lines, y["field"].get<std::string>());
  return framed(title,
                filled(R"([
    {"data": "points", "filter": ["@shown", "datum.repetition === 0 && datum.cell_to > 0"], "mark": "line thread",
     "encoding": {"x": "@x", "y": "@y", "detail": "@.line"}},
    {"data": "points", "filter": "@shown", "mark": "point measured",
     "with": {"filled": true, "cursor": "pointer", "clip": false},
     "encoding": {"x": "@x", "y": "@y", "color": "@color", "shape": "@shape", "tooltip": "@point"}},
    {"data": "points", "filter": "@shown", "mark": "point anchor", "label": ["working_set", "line", "line"],
     "encoding": {"x": "@x", "y": "@y"}}])",
                       {{"x", binary_axis("working_set", "working set", bytes_label)}, {"y", y}, {"shown", shown}}));
}

Json roofline() {
  const Parts own = {
      {"x", decimal_axis("x", "intensity", "arithmetic intensity (FLOP per byte)", "format(datum.value, '.6~g')")},
      {"y", decimal_axis("y", "rate", "speed", si_label("FLOP/s"))},
      {"faint", {{"condition", {{"test", "datum.used"}, {"value", 1}}}, {"value", 0.45}}},
      {"aside", "-4 - 168 * min(datum.column, 2)"}};
  // Of roofs that lie close together those that no point uses have no label, others theirs aside and below.
  return spec(460, own, R"([
    {"data": "roofs", "filter": "@of_device", "mark": "area roof-interval",
     "encoding": {"x": "@x", "y": "@y.rate_low", "y2": "@.rate_high", "detail": "@.roof"}},
    {"data": "roofs", "filter": "@of_device", "mark": "line roof",
     "encoding": {"x": "@x", "y": "@y", "detail": ["@.roof", "@.used", "@.kind"], "opacity": "@faint",
      "strokeDash": {"condition": {"test": "datum.kind === 'memory'", "value": [1, 0]}, "value": [7, 3]},
      "tooltip": ["label", "interval", "method"]}},
    {"data": "roofs", "filter": ["@of_device", "datum.kind === 'memory' && datum.place === 'label'"],
     "mark": "text roof-label", "with": {"align": "left", "dx": {"expr": "width < 500 ? 8 + 68 * datum.rank : 14"},
      "dy": -6, "angle": {"expr": "@roof_angle"}, "fillOpacity": {"expr": "width < 500 && datum.rank > 1 ? 0 : 1"}},
     "encoding": {"x": "@x", "y": "@y", "text": "@.label"}},
    {"data": "roofs", "filter": ["@of_device", "datum.kind === 'pipe' && datum.place === 'label'"],
     "mark": "text roof-label", "with": {"align": "right", "dx": {"expr": "@aside"},
      "dy": {"expr": "datum.column > 0 ? 9 : -6"},
      "fillOpacity": {"expr": "datum.column > 0 && (!datum.used || width < 500) ? 0 : 1"}},
     "encoding": {"x": "@x", "y": "@y", "text": "@.label", "opacity": "@faint"}},
    {"data": "points", "filter": ["@shown_points", "datum.intensity > 0", "datum.rate_low > 0"], "mark": "rule whisker",
     "encoding": {"x": "@x", "y": "@y.rate_low", "y2": "@.rate_high", "color": "@color"}},
    {"data": "points", "filter": ["@shown_points", "datum.intensity > 0"],
     "mark": "point measured", "with": "@pointer",
     "encoding": {"x": "@x", "y": "@y.flops_per_second", "color": "@color", "shape": "@shape", "tooltip": "@point"}},
    {"data": "points", "filter": ["@shown_points", "datum.intensity > 0"],
     "mark": "point anchor", "label": ["flops_per_second", "line", "line"],
     "encoding": {"x": "@x", "y": "@y.flops_per_second"}}])");
}

Json strip() {
  const Parts own = {{"x", padded(binary_axis("cell_from", "working set", bytes_label), 0)},
                     {"shown", shown_points},
                     {"strength", "isValid(datum.achieved) ? datum.achieved : 0.3"},
                     {"strengths", {{"domain", {0, 1}}, {"range", {0.1, 0.68}}, {"clamp", true}}}};
  const std::string number = "isValid(datum.achieved) ? format(100 * datum.achieved, '.0f')";
  return row_spec(cell_layers(
      own, "cell_to", "working_set",
      {{of_width("cell_from", "cell_to", both_width), fmt::format("{} + ({} : '')", regime_sign, number)},
       {of_width("cell_from", "cell_to", number_width, both_width), fmt::format("{} : {}", number, regime_sign)},
       {of_width("cell_from", "cell_to", sign_width, number_width), regime_sign}}));
}

Json time() {
  const Parts own = {{"x", size_axis()}, {"y", decimal_axis("y", "seconds", "time", si_label("s"))}};
  return spec(320, own, R"([
    {"data": "bands", "filter": "@of_line", "mark": "rect band",
     "encoding": {"x": "@x.from", "x2": "@.to", "color": "@color"}},
    {"data": "boundaries", "filter": ["@of_line", "datum.low > 0"], "mark": "rect boundary-interval",
     "encoding": {"x": "@x.low", "x2": "@.high"}},
    {"data": "boundaries", "filter": "@of_line", "mark": "rule boundary",
     "encoding": {"x": "@x.at", "tooltip": ["label", "at .4~s"]}},
    {"data": "boundaries", "filter": "@of_line", "mark": "text boundary-label",
     "encoding": {"x": "@x.at", "y": {"value": 4}, "text": "@.label"}},
    {"data": "points", "mark": "line model",
     "filter": ["@shown_sizes", "datum.model > 0 && datum.repetition === 0"], "encoding": {"x": "@x", "y": "@y.model"}},
    {"data": "points", "filter": ["@shown_sizes", "datum.low > 0"],
     "mark": "rule whisker", "encoding": {"x": "@x", "y": "@y.low", "y2": "@.high", "color": "@color"}},
    {"data": "points", "filter": "@shown_sizes",
     "mark": "point measured", "with": "@pointer",
     "encoding": {"x": "@x", "y": "@y", "color": "@color", "shape": "@shape", "tooltip": "@point"}}])");
}

Json rate() {
  const Parts own = {{"x", size_axis()},
                     {"y", decimal_axis("y", "bytes_per_second", "bytes moved per second", si_label("B/s"))}};
  return spec(320, own, R"([
    {"data": "bands", "filter": "@of_line", "mark": "rect band",
     "encoding": {"x": "@x.from", "x2": "@.to", "color": "@color"}},
    {"data": "ceilings", "filter": "@of_device", "mark": "rule roof",
     "encoding": {"y": "@y.rate", "tooltip": ["label"]}},
    {"data": "ceilings", "filter": "@of_device", "mark": "text roof-label", "with": {"align": "left", "dx": 5, "dy": -6},
     "encoding": {"x": {"value": 0}, "y": "@y.rate", "text": "@.label"}},
    {"data": "points",
     "filter": ["@shown_sizes", "datum.bytes_per_second > 0"],
     "mark": "point measured", "with": "@pointer",
     "encoding": {"x": "@x", "y": "@y", "color": "@color", "shape": "@shape", "tooltip": "@point"}}])");
}

Json shares(const Run& run) {
  // Families keep their regime's colour: overhead, memory from near to far, pipes; grey for the unexplained.
  std::set<std::string> seen;
  for (const auto& point : run.points)
    if (point.verdict)
      for (const auto& share : point.verdict->shares) seen.insert(printable(label_of(share.resource)));
  auto domain = Json::array();
  auto range = Json::array();
  for (const Resource& each : all_resources())
    if (!each.color.empty() && each.name != resource::unexplained && seen.erase(std::string(label_of(each.name))) > 0)
      domain.push_back(label_of(each.name)), range.push_back(each.color);
  const std::string unexplained(resource::unexplained);
  const bool is_unexplained = seen.erase(unexplained) > 0;
  constexpr std::array pipes = {"#009E73", "#5CC4A4", "#00795A", "#97DCC6", "#B8D77E"};
  std::size_t next = 0;
  for (const auto& resource : seen) domain.push_back(resource), range.push_back(pipes.at(next++ % pipes.size()));
  if (is_unexplained) domain.push_back(unexplained), range.push_back(find_resource(unexplained)->color);
  const Parts own = {{"domain", domain},
                     {"range", range},
                     {"size_label", size_label},
                     {"shown", "datum.size > 0 && datum.repetition === 0 && isArray(datum.shares)"},
                     {"order", "indexof(resources, datum.resource)"}};
  auto result = spec(320, own, R"([
    {"data": "points", "filter": ["@of_line", "@shown"], "mark": "bar share",
     "transform": [{"flatten": ["shares"], "as": ["share"]}, {"calculate": "datum.share[0]", "as": "resource"},
      {"calculate": "datum.share[1]", "as": "fraction"}, {"calculate": "@order", "as": "order"}],
     "encoding": {
      "x": {"field": "size", "type": "ordinal", "title": "size",
       "axis": {"labelExpr": "@size_label", "labelOverlap": true, "labelAngle": 0}},
      "y": {"field": "fraction", "type": "quantitative", "stack": "normalize", "title": "share of the measured time",
       "axis": {"format": "%"}},
      "color": {"field": "resource", "type": "nominal", "scale": {"domain": "@domain", "range": "@range"},
       "legend": {"title": null, "orient": "top"}},
      "order": {"field": "order", "type": "quantitative"}, "tooltip": ["resource", "fraction .1%"]}}])");
  // Names out of a run are values, never part of an expression.
  result["params"].push_back({{"name", "resources"}, {"value", std::move(domain)}});
  return result;
}

Json kernels() {
  const Parts own = {{"size_label", size_label},
                     {"shown", "datum.size > 0 && datum.repetition === 0 && isArray(datum.kernel_shares)"}};
  return spec(320, own, R"([
    {"data": "points", "filter": ["@of_line", "@shown"], "mark": "bar share",
     "transform": [{"flatten": ["kernel_shares"], "as": ["share"]}, {"calculate": "datum.share[0]", "as": "kernel"},
      {"calculate": "datum.share[1]", "as": "fraction"}, {"calculate": "datum.share[2]", "as": "text"}],
     "encoding": {
      "x": {"field": "size", "type": "ordinal", "title": "size",
       "axis": {"labelExpr": "@size_label", "labelOverlap": true, "labelAngle": 0}},
      "y": {"field": "fraction", "type": "quantitative", "stack": "normalize", "title": "share of the time on the device",
       "axis": {"format": "%"}},
      "color": {"field": "kernel", "type": "nominal", "scale": {"scheme": "tableau20"},
       "legend": {"title": null, "orient": "top", "columns": 3, "labelLimit": 260}}, "tooltip": ["text"]}}])");
}

Json ladder() {
  const Parts own = {{"x", binary_axis("working_set", "working set", bytes_label)},
                     {"y", decimal_axis("y", "rate", "read bandwidth", si_label("B/s"))}};
  return spec(340, own, R"([
    {"data": "levels", "filter": ["@of_device", "datum.capacity_low > 0"], "mark": "rect boundary-interval",
     "encoding": {"x": "@x.capacity_low", "x2": "@.capacity_high"}},
    {"data": "levels", "filter": ["@of_device", "datum.capacity > 0"], "mark": "rule boundary",
     "encoding": {"x": "@x.capacity", "tooltip": ["capacity_label"]}},
    {"data": "levels", "filter": ["@of_device", "datum.capacity > 0"], "mark": "text boundary-label",
     "encoding": {"x": "@x.capacity", "y": {"value": 4}, "text": "@.capacity_label"}},
    {"data": "levels", "filter": ["@of_device", "datum.rate > 0"], "mark": "rect level-interval",
     "encoding": {"x": "@x.from", "x2": "@.to", "y": "@y.rate_low", "y2": "@.rate_high"}},
    {"data": "levels", "filter": ["@of_device", "datum.rate > 0"], "mark": "rule level",
     "encoding": {"x": "@x.from", "x2": "@.to", "y": "@y", "tooltip": ["label"]}},
    {"data": "levels", "filter": ["@of_device", "datum.rate > 0"],
     "mark": "text roof-label", "with": {"align": "left", "dx": 4, "dy": -9},
     "encoding": {"x": "@x.from", "y": "@y", "text": "@.label"}},
    {"data": "ladder", "filter": "@of_device", "mark": "line ladder", "with": {"point": {"filled": true, "size": 26}},
     "encoding": {"x": "@x", "y": "@y", "tooltip": ["working_set_text", "rate_text"]}}])");
}

Json latency() {
  const Parts own = {{"x", binary_axis("working_set", "working set", bytes_label)},
                     {"y", padded(decimal_axis("y", "seconds", "latency of one access", si_label("s")), label_room)}};
  return spec(320, own, R"([
    {"data": "latency_levels", "filter": "@of_device", "mark": "rule boundary",
     "encoding": {"y": "@y", "tooltip": ["label"]}},
    {"data": "latency_levels", "filter": "@of_device",
     "mark": "text roof-label", "with": {"align": "right", "dx": -6, "dy": -7},
     "encoding": {"x": {"value": "width"}, "y": "@y", "text": "@.label"}},
    {"data": "latencies", "filter": "@of_device", "mark": "line ladder", "with": {"point": {"filled": true, "size": 26}},
     "encoding": {"x": "@x", "y": "@y", "tooltip": ["working_set_text", "time_text", "cycles_text"]}}])");
}

Json intensity() {
  const Parts own = {{"x", binary_axis("intensity", "arithmetic intensity, FLOP/byte", "format(datum.value, '.3~g')")},
                     {"y", padded(decimal_axis("y", "rate", "speed", si_label("FLOP/s")), label_room)}};
  return spec(320, own, R"([
    {"data": "intensity_roofs", "filter": "@of_device", "mark": "line roof",
     "encoding": {"x": "@x", "y": "@y", "detail": {"field": "roof", "type": "nominal"}, "tooltip": ["label"]}},
    {"data": "intensity_roofs", "filter": ["@of_device", "datum.labelled"],
     "mark": "text roof-label", "with": {"align": "right", "dx": -6, "dy": -8},
     "encoding": {"x": "@x", "y": "@y", "text": "@.label"}},
    {"data": "intensities", "filter": "@of_device", "mark": "line ladder", "with": {"point": {"filled": true, "size": 34}},
     "encoding": {"x": "@x", "y": "@y", "tooltip": ["intensity_text", "rate_text", "bandwidth_text", "clock_text"]}}])");
}

Json map() {
  constexpr auto title = "size (the operation's own argument)";
  auto layers = map_layers("size_from", "size_to", "size", title, size_label,
                           {{of_width("size_from", "size_to", both_width),
                             fmt::format("{} + (isValid(datum.confidence) && datum.confidence < 0.95 ? format(100 * "
                                         "datum.confidence, '.0f') : '')",
                                         regime_sign)},
                            {of_width("size_from", "size_to", sign_width, both_width), regime_sign}});
  layers.push_back(filled(R"({"data": "boundaries", "filter": "@shown", "mark": "tick boundary-tick",
                              "encoding": {"x": "@at", "y": "@operations", "tooltip": ["label", "at .4~s"]}})",
                          {{"at", padded(binary_axis("at", title, size_label), 0)},
                           {"shown", "datum.device === device && (line === '' || datum.line === line)"}}));
  return row_spec(std::move(layers));
}

Json overview(const Run& run) {
  const bool flops = std::ranges::any_of(
      run.points, [](const Point& point) { return flops_per_second(point.measurement).has_value(); });
  const bool dram = std::ranges::any_of(run.calibrations,
                                        [](const Calibration& calibration) { return dram_of(calibration) != nullptr; });
  const Json moved = decimal_axis("concat_1_y", "bytes_per_second", "bytes moved", si_label("B/s"));
  Parts own = {
      {"time", panel("Time", decimal_axis("concat_0_y", "seconds", "time", si_label("s")))},
      {"speed", flops ? panel("Throughput (operations that declare FLOPs)",
                              decimal_axis("concat_1_y", "flops_per_second", "speed", si_label("FLOP/s")))
                      : panel("Throughput", moved)},
      {"bandwidth", dram ? panel("Bandwidth utilisation", filled(R"({"field": "of_dram", "type": "quantitative",
                                            "title": "bytes over the DRAM ceiling",
                                            "axis": {"format": ".0%", "tickCount": 6}})"))
                         : panel("Bandwidth", decimal_axis("concat_2_y", "bytes_per_second", "bytes moved per second",
                                                           si_label("B/s")))},
      {"regime", framed("Regime", map_layers("cell_from", "cell_to", "working_set", "working set", bytes_label,
                                             {{"1", regime_sign}}))}};
  if (auto& layers = own["bandwidth"]["layer"]; dram) layers.insert(layers.begin(), filled(unit_line));
  return filled(R"({"$schema": "@schema", "params": "@parameters", "columns": 2, "spacing": 24,
                    "resolve": {"scale": {"color": "shared", "shape": "shared"}},
                    "concat": ["@time", "@speed", "@bandwidth", "@regime"]})",
                own);
}

Json samples() {
  const Parts own = {
      {"order", filled(R"({"field": "index", "type": "quantitative", "title": "sample, in the order taken",
                       "scale": {"zero": false, "nice": false, "padding": 8},
                       "axis": {"tickMinStep": 1, "tickCount": 8, "grid": false}})")},
      {"y", filled(R"({"field": "seconds", "type": "quantitative", "title": "time of one execution",
                       "scale": {"zero": false, "nice": false, "padding": 8},
                       "axis": {"tickCount": 6, "labelExpr":
 "replace(replace(format(datum.value, '.5s'), '\u00b5', 'u'), regexp('([a-zA-Z]?)$'), ' $1') + 's'"}})")}};
  auto result = filled(R"({"$schema": "@schema", "params": "@parameters", "spacing": 10,
    "resolve": {"scale": {"y": "shared"}},
    "hconcat": [
     {"width": 480, "height": 170, "layer": [
      {"data": "summary", "mark": "rect level-interval", "encoding": {"y": "@y.low", "y2": "@.high"}},
      {"data": "blocks", "mark": "rule boundary", "encoding": {"x": "@order.block_from"}},
      {"data": "summary", "mark": "rule level", "encoding": {"y": "@y.median", "tooltip": ["text"]}},
      {"data": "samples", "mark": "point sample", "with": {"filled": true},
       "encoding": {"x": "@order", "y": "@y", "tooltip": ["text"]}}]},
     {"width": 140, "height": 170, "data": "samples", "mark": {"type": "bar", "style": "histogram"},
      "encoding": {"y": "@y", "x": {"aggregate": "count", "type": "quantitative", "title": "samples",
       "axis": {"tickMinStep": 1, "tickCount": 4}}}}]})",
                       own);
  auto& binned = result["hconcat"][1]["encoding"]["y"];
  binned.update({{"bin", {{"maxbins", 24}}}, {"title", nullptr}});
  binned["axis"]["labels"] = false;
  return result;
}

}  // namespace

std::vector<Chart> all(const Run& run) {
  const auto any = [&](auto Calibration::*list) {
    return std::ranges::any_of(run.calibrations, [&](const auto& calibration) { return !(calibration.*list).empty(); });
  };
  std::vector<Chart> charts = {
      {"roofline", "Roofline",
       "Speed against arithmetic intensity, under the roofs measured on this device. Slanted roofs are memory "
       "levels, flat dashed ones are execution pipes (faint: used by no point here). Their width is the 95 % "
       "interval. A point on a roof cannot get faster on that resource. Operations without FLOPs are in the "
       "charts below.",
       "device", roofline()},
      {"overview", "Overview",
       "Time, throughput, bandwidth and regime of every operation against its working set. Thin lines join the "
       "sizes of an operation. Bandwidth is declared bytes over time, compared with the measured DRAM ceiling. "
       "Above 100 % a cache serves them.",
       "device", overview(run)},
      {"map", "Regime map",
       "Operations by size, coloured by regime. Fainter means less sure; a number is the probability in percent "
       "where it is below 95. Vertical lines are the boundaries.",
       "device", map()},
      {"strip", "How close to the limit",
       "Percent of the limiter's ceiling reached, launch overhead included. A stronger colour is closer. Colour "
       "and symbol show the regime. Operations with a constant working set have no row.",
       "device", strip()},
      {"time", "Time against size",
       "Medians with their 95 % intervals. Dashed curve: the time by the model, from the ceilings alone. "
       "Background: the regime. Dashed vertical lines: its boundaries, with their intervals where known.",
       "operation", time()},
      {"rate", "Bandwidth against size", "Declared bytes over the median time, under the measured memory ceilings.",
       "operation", rate()},
      {"shares", "Where the time goes", "The share of the measured time that each resource takes.", "operation",
       shares(run)},
      {"ladder", "Memory hierarchy",
       "Read bandwidth against working set, from the calibration. Each plateau is a level of memory. Vertical "
       "lines mark where it ends.",
       "device", ladder()},
  };
  if (std::ranges::any_of(run.points, [](const Point& point) { return point.measurement.kernels.size() > 1; }))
    charts.push_back({"kernels", "Kernels",
                      "The share that each kernel, copy and fill has in the time on the device, by activity records.",
                      "operation", kernels()});
  // Full calibrations have more; for others there would be nothing to draw.
  if (any(&Calibration::latency_curve))
    charts.push_back(
        {"latency", "Latency",
         "Time of one dependent access by one thread, against the working set that it jumps around in. Lines are "
         "the ceilings of each level.",
         "device", latency()});
  if (any(&Calibration::intensity_sweep))
    charts.push_back(
        {"intensity", "Memory and arithmetic together",
         "What a kernel reached that reads memory and does multiply-adds at the same time. The lines are what each "
         "reaches alone. Near their crossing the power limit may slow down both.",
         "device", intensity()});
  return charts;
}

Chart samples_chart() {
  return {
      "samples", "Samples",
      "Each sample in the order taken, and a histogram of the times. The line is the median with its 95 % interval. "
      "Dashed vertical lines separate blocks that were measured at different times.",
      "point", samples()};
}

}  // namespace gpubench::reports::charts
