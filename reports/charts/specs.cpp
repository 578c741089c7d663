// SPDX-License-Identifier: Apache-2.0
// The specifications themselves, one function a chart.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "reports/charts/charts.h"
#include "reports/charts/parts.h"
#include "reports/charts/rows.h"

namespace gpubench::reports::charts {
namespace {

const Json label_tooltip = tooltip({{"label", ""}});

/// What a chart over the sizes of one operation has behind its points: a colour for each stretch of one regime.
Json band_layer(const Json& x) {
  return layer("bands", of_line, style("rect", "band"),
               {{"x", of_field(x, "from")}, {"x2", like("to")}, {"color", regime_color()}});
}

/// A text beside what it names, `dx` and `dy` pixels from it.
Json label_style(std::string_view align, int dx, int dy) {
  return style("text", "roof-label", {{"align", align}, {"dx", dx}, {"dy", dy}});
}

/// Measured points joined by a line.
Json dotted_line(int size) { return style("line", "ladder", {{"point", {{"filled", true}, {"size", size}}}}); }

}  // namespace

Json roofline() {
  const auto x = decimal_axis("x", "intensity", "arithmetic intensity (FLOP per byte)", "format(datum.value, '.6~g')");
  const auto y = decimal_axis("y", "rate", "speed", si_label("FLOP/s"));
  const auto low_y = of_field(y, "rate_low");
  const Json faint = {{"condition", {{"test", "datum.used"}, {"value", 1}}}, {"value", 0.45}};
  const Json dash = {{"condition", {{"test", "datum.kind === 'memory'"}, {"value", Json::array({1, 0})}}},
                     {"value", Json::array({7, 3})}};
  auto memory_label = label_style("left", 14, -6);
  memory_label["dx"] = {{"expr", "width < 500 ? 8 + 68 * datum.rank : 14"}};
  memory_label["angle"] = {{"expr", roof_angle}};
  // Of roofs that lie close together those that no point uses have no label, others theirs aside and below.
  auto pipe_label = label_style("right", 0, 0);
  pipe_label["dx"] = {{"expr", "-4 - 168 * min(datum.column, 2)"}};
  pipe_label["dy"] = {{"expr", "datum.column > 0 ? 9 : -6"}};
  pipe_label["fillOpacity"] = {{"expr", "datum.column > 0 && (!datum.used || width < 500) ? 0 : 1"}};
  const auto shown = both(shown_points, "datum.intensity > 0");
  return spec(460, {layer("roofs", of_device, style("area", "roof-interval"),
                          {{"x", x}, {"y", low_y}, {"y2", like("rate_high")}, {"detail", like("roof")}}),
                    layer("roofs", of_device, style("line", "roof"),
                          {{"x", x},
                           {"y", y},
                           {"detail", Json::array({like("roof"), like("used"), like("kind")})},
                           {"opacity", faint},
                           {"strokeDash", dash},
                           {"tooltip", tooltip({{"label", ""}, {"interval", ""}, {"method", ""}})}}),
                    layer("roofs", both(of_device, "datum.kind === 'memory' && datum.place === 'label'"), memory_label,
                          {{"x", x}, {"y", y}, {"text", like("label")}}),
                    layer("roofs", both(of_device, "datum.kind === 'pipe' && datum.place === 'label'"), pipe_label,
                          {{"x", x}, {"y", y}, {"text", like("label")}, {"opacity", faint}}),
                    layer("points", both(shown, "datum.rate_low > 0"), style("rule", "whisker"),
                          {{"x", x}, {"y", low_y}, {"y2", like("rate_high")}, {"color", regime_color()}}),
                    point_layer(shown, x, of_field(y, "flops_per_second"))});
}

Json strip() {
  auto x = binary_axis("cell_from", "working set", bytes_label);
  x["scale"]["padding"] = 0;
  const auto shown = both(shown_points, "datum.cell_to > 0 && datum.repetition === 0");
  const std::string number = "isValid(datum.achieved) ? format(100 * datum.achieved, '.0f')";
  const auto text = [&](const char* visible, const std::string& expression) {
    return cell_text(shown, of_field(x, "working_set"), rows_of_operations(), visible, expression);
  };
  return row_spec(
      {cell_layer(shown, x, "cell_to", "isValid(datum.achieved) ? datum.achieved : 0.3", {0, 1}, {0.1, 0.68}),
       text("width >= 700 ? 1 : 0", std::string(regime_sign) + " + (" + number + " : '')"),
       text("width < 700 && width >= 430 ? 1 : 0", number + " : " + regime_sign),
       text("width < 430 ? 1 : 0", regime_sign)});
}

Json time() {
  const auto x = binary_axis("size", "size", size_label);
  const auto y = decimal_axis("y", "seconds", "time", si_label("s"));
  const auto shown = both(shown_points, "datum.line === line && datum.size > 0");
  const auto at = of_field(x, "at");
  return spec(320, {band_layer(x),
                    layer("boundaries", both(of_line, "datum.low > 0"), style("rect", "boundary-interval"),
                          {{"x", of_field(x, "low")}, {"x2", like("high")}}),
                    layer("boundaries", of_line, style("rule", "boundary"),
                          {{"x", at}, {"tooltip", tooltip({{"label", ""}, {"at", ".4~s"}})}}),
                    layer("boundaries", of_line, style("text", "boundary-label"),
                          {{"x", at}, {"y", constant(4)}, {"text", like("label")}}),
                    layer("points", both(shown, "datum.model > 0 && datum.repetition === 0"), style("line", "model"),
                          {{"x", x}, {"y", of_field(y, "model")}}),
                    layer("points", both(shown, "datum.low > 0"), style("rule", "whisker"),
                          {{"x", x}, {"y", of_field(y, "low")}, {"y2", like("high")}, {"color", regime_color()}}),
                    point_layer(shown, x, y)});
}

Json rate() {
  const auto x = binary_axis("size", "size", size_label);
  const auto y = decimal_axis("y", "bytes_per_second", "bytes moved per second", si_label("B/s"));
  const auto roof_y = of_field(y, "rate");
  const auto shown = both(shown_points, "datum.line === line && datum.size > 0 && datum.bytes_per_second > 0");
  return spec(320, {band_layer(x),
                    layer("ceilings", of_device, style("rule", "roof"), {{"y", roof_y}, {"tooltip", label_tooltip}}),
                    layer("ceilings", of_device, label_style("left", 5, -6),
                          {{"x", constant(0)}, {"y", roof_y}, {"text", like("label")}}),
                    point_layer(shown, x, y)});
}

Json shares(const Run& run) {
  // Families keep their regime's colour: overhead, memory from near to far, pipes, and grey for what nothing
  // accounts for.
  std::set<std::string> seen;
  for (const auto& point : run.points)
    if (point.verdict)
      for (const auto& share : point.verdict->shares) seen.insert(printable(share.resource));
  auto domain = Json::array();
  auto range = Json::array();
  for (const Resource& each : all_resources())
    if (!each.color.empty() && each.name != resource::unexplained && seen.erase(std::string(each.name)) > 0)
      domain.push_back(each.name), range.push_back(each.color);
  const std::string unexplained(resource::unexplained);
  const bool is_unexplained = seen.erase(unexplained) > 0;
  constexpr std::array pipes = {"#009E73", "#5CC4A4", "#00795A", "#97DCC6", "#B8D77E"};
  std::size_t next = 0;
  for (const auto& resource : seen) domain.push_back(resource), range.push_back(pipes.at(next++ % pipes.size()));
  if (is_unexplained) domain.push_back(unexplained), range.push_back(find_resource(unexplained)->color);
  const Json x = {{"field", "size"},
                  {"type", "ordinal"},
                  {"title", "size"},
                  {"axis", {{"labelExpr", size_label}, {"labelOverlap", true}, {"labelAngle", 0}}}};
  const Json y = {{"field", "fraction"},
                  {"type", "quantitative"},
                  {"stack", "normalize"},
                  {"title", "share of the measured time"},
                  {"axis", {{"format", "%"}}}};
  const Json color = {{"field", "resource"},
                      {"type", "nominal"},
                      {"scale", {{"domain", domain}, {"range", range}}},
                      {"legend", {{"title", nullptr}, {"orient", "top"}}}};
  const auto shown = both(of_line, "datum.size > 0 && datum.repetition === 0 && isArray(datum.shares)");
  auto bars = layer("points", shown, style("bar", "share"),
                    {{"x", x},
                     {"y", y},
                     {"color", color},
                     {"order", quantity("order")},
                     {"tooltip", tooltip({{"resource", ""}, {"fraction", ".1%"}})}});
  bars["transform"].push_back({{"flatten", Json::array({"shares"})}, {"as", Json::array({"share"})}});
  for (const auto& [name, expression] : {std::pair("resource", "datum.share[0]"),
                                         {"fraction", "datum.share[1]"},
                                         {"order", "indexof(resources, datum.resource)"}})
    bars["transform"].push_back({{"calculate", expression}, {"as", name}});
  auto result = spec(320, Json::array({bars}));
  // Names out of a run are values, never part of an expression.
  result["params"].push_back({{"name", "resources"}, {"value", std::move(domain)}});
  return result;
}

Json ladder() {
  const auto x = binary_axis("working_set", "working set", bytes_label);
  const auto y = decimal_axis("y", "rate", "read bandwidth", si_label("B/s"));
  const auto from = of_field(x, "from"), capacity = of_field(x, "capacity");
  const auto plateau = both(of_device, "datum.rate > 0"), end = both(of_device, "datum.capacity > 0");
  return spec(340,
              {layer("levels", both(of_device, "datum.capacity_low > 0"), style("rect", "boundary-interval"),
                     {{"x", of_field(x, "capacity_low")}, {"x2", like("capacity_high")}}),
               layer("levels", end, style("rule", "boundary"),
                     {{"x", capacity}, {"tooltip", tooltip({{"capacity_label", ""}})}}),
               layer("levels", end, style("text", "boundary-label"),
                     {{"x", capacity}, {"y", constant(4)}, {"text", like("capacity_label")}}),
               layer("levels", plateau, style("rect", "level-interval"),
                     {{"x", from}, {"x2", like("to")}, {"y", of_field(y, "rate_low")}, {"y2", like("rate_high")}}),
               layer("levels", plateau, style("rule", "level"),
                     {{"x", from}, {"x2", like("to")}, {"y", y}, {"tooltip", label_tooltip}}),
               layer("levels", plateau, label_style("left", 4, -9), {{"x", from}, {"y", y}, {"text", like("label")}}),
               layer("ladder", of_device, dotted_line(26),
                     {{"x", x}, {"y", y}, {"tooltip", tooltip({{"working_set_text", ""}, {"rate_text", ""}})}})});
}

Json latency() {
  const auto x = binary_axis("working_set", "working set", bytes_label);
  auto y = decimal_axis("y", "seconds", "latency of one access", si_label("s"));
  y["scale"]["padding"] = label_room;
  const auto points_tooltip = tooltip({{"working_set_text", ""}, {"time_text", ""}, {"cycles_text", ""}});
  return spec(320,
              {layer("latency_levels", of_device, style("rule", "boundary"), {{"y", y}, {"tooltip", label_tooltip}}),
               layer("latency_levels", of_device, label_style("right", -6, -7),
                     {{"x", {{"value", "width"}}}, {"y", y}, {"text", like("label")}}),
               layer("latencies", of_device, dotted_line(26), {{"x", x}, {"y", y}, {"tooltip", points_tooltip}})});
}

Json intensity() {
  const auto x = binary_axis("intensity", "arithmetic intensity, FLOP/byte", "format(datum.value, '.3~g')");
  auto y = decimal_axis("y", "rate", "speed", si_label("FLOP/s"));
  y["scale"]["padding"] = label_room;
  const Json roof = {{"field", "roof"}, {"type", "nominal"}};
  const auto points_tooltip =
      tooltip({{"intensity_text", ""}, {"rate_text", ""}, {"bandwidth_text", ""}, {"clock_text", ""}});
  return spec(320,
              {layer("intensity_roofs", of_device, style("line", "roof"),
                     {{"x", x}, {"y", y}, {"detail", roof}, {"tooltip", label_tooltip}}),
               layer("intensity_roofs", both(of_device, "datum.labelled"), label_style("right", -6, -8),
                     {{"x", x}, {"y", y}, {"text", like("label")}}),
               layer("intensities", of_device, dotted_line(34), {{"x", x}, {"y", y}, {"tooltip", points_tooltip}})});
}

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
