// SPDX-License-Identifier: Apache-2.0
// The specifications themselves, one function a chart.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/model/resources.h"
#include "reports/charts/charts.h"
#include "reports/charts/parts.h"

namespace gpubench::reports::charts {
namespace {

/// Bands of regimes behind a chart over the sizes of one operation, and the boundaries between them.
void put_bands(Json& layers, const Json& x) {
  const auto band_x = of_field(x, "from");
  layers.push_back(
      layer("bands", of_line, style("rect", "band"), {{"x", band_x}, {"x2", like("to")}, {"color", regime_color()}}));
  const auto interval_x = of_field(x, "low");
  layers.push_back(layer("boundaries", both(of_line, "datum.low > 0"), style("rect", "boundary-interval"),
                         {{"x", interval_x}, {"x2", like("high")}}));
  const auto at = of_field(x, "at");
  layers.push_back(layer("boundaries", of_line, style("rule", "boundary"),
                         {{"x", at}, {"tooltip", tooltip({{"label", ""}, {"at", ".4~s"}})}}));
  layers.push_back(layer("boundaries", of_line, style("text", "boundary-label"),
                         {{"x", at}, {"y", constant(4)}, {"text", like("label")}}));
}

}  // namespace

Json roofline() {
  const auto x = decimal_axis("x", "intensity", "arithmetic intensity (FLOP per byte)", "format(datum.value, '.6~g')");
  const auto y = decimal_axis("y", "rate", "speed", si_label("FLOP/s"));
  const auto point_y = of_field(y, "flops_per_second");
  const auto roof_tooltip = tooltip({{"label", ""}, {"interval", ""}, {"method", ""}});
  const Json faint = {{"condition", {{"test", "datum.used"}, {"value", 1}}}, {"value", 0.45}};
  const Json dash = {{"condition", {{"test", "datum.kind === 'memory'"}, {"value", Json::array({1, 0})}}},
                     {"value", Json::array({7, 3})}};
  const auto band_y = of_field(y, "rate_low");
  Json layers = Json::array();
  layers.push_back(layer("roofs", of_device, style("area", "roof-interval"),
                         {{"x", x}, {"y", band_y}, {"y2", like("rate_high")}, {"detail", like("roof")}}));
  layers.push_back(layer("roofs", of_device, style("line", "roof"),
                         {{"x", x},
                          {"y", y},
                          {"detail", Json::array({like("roof"), like("used"), like("kind")})},
                          {"opacity", faint},
                          {"strokeDash", dash},
                          {"tooltip", roof_tooltip}}));
  const auto memory_label = style("text", "roof-label",
                                  {{"align", "left"},
                                   {"dx", {{"expr", "width < 500 ? 8 + 68 * datum.rank : 14"}}},
                                   {"dy", -6},
                                   {"angle", {{"expr", roof_angle}}}});
  layers.push_back(layer("roofs", both(of_device, "datum.kind === 'memory' && datum.place === 'label'"), memory_label,
                         {{"x", x}, {"y", y}, {"text", like("label")}}));
  // Of roofs that lie close together those that no point uses have none, others theirs aside and below.
  const auto pipe_label =
      style("text", "roof-label",
            {{"align", "right"},
             {"dx", {{"expr", "-4 - 168 * min(datum.column, 2)"}}},
             {"dy", {{"expr", "datum.column > 0 ? 9 : -6"}}},
             {"fillOpacity", {{"expr", "datum.column > 0 && (!datum.used || width < 500) ? 0 : 1"}}}});
  layers.push_back(layer("roofs", both(of_device, "datum.kind === 'pipe' && datum.place === 'label'"), pipe_label,
                         {{"x", x}, {"y", y}, {"text", like("label")}, {"opacity", faint}}));
  const auto shown = both(shown_points, "datum.intensity > 0");
  const auto low_y = of_field(y, "rate_low");
  layers.push_back(layer("points", both(shown, "datum.rate_low > 0"), style("rule", "whisker"),
                         {{"x", x}, {"y", low_y}, {"y2", like("rate_high")}, {"color", regime_color()}}));
  layers.push_back(point_layer(shown, x, point_y));
  return spec(460, std::move(layers));
}

Json strip() {
  auto from = binary_axis("cell_from", "working set", bytes_label);
  from["scale"]["padding"] = 0;
  const auto middle = of_field(from, "working_set");
  const auto y = rows_of_operations();
  const auto shown = both(shown_points, "datum.cell_to > 0 && datum.repetition === 0");
  const Json opacity = {
      {"field", "strength"},
      {"type", "quantitative"},
      {"scale", {{"domain", Json::array({0, 1})}, {"range", Json::array({0.1, 0.68})}, {"clamp", true}}},
      {"legend", nullptr}};
  const auto number = "isValid(datum.achieved) ? format(100 * datum.achieved, '.0f')";
  Json layers = Json::array();
  const auto cell = style("rect", "cell", {{"cursor", "pointer"}});
  layers.push_back({{"data", data("points")},
                    {"transform", Json::array({{{"filter", shown}},
                                               {{"calculate", "isValid(datum.achieved) ? datum.achieved : 0.3"},
                                                {"as", "strength"}}})},
                    {"mark", cell},
                    {"encoding",
                     {{"x", from},
                      {"x2", like("cell_to")},
                      {"y", y},
                      {"color", regime_color()},
                      {"opacity", opacity},
                      {"tooltip", point_tooltip()}}}});
  const std::string wide = std::string(regime_sign) + " + (" + number + " : '')";
  const std::string narrow = std::string(number) + " : " + regime_sign;
  layers.push_back(cell_text(shown, middle, y, "width >= 700 ? 1 : 0", wide));
  layers.push_back(cell_text(shown, middle, y, "width < 700 && width >= 430 ? 1 : 0", narrow));
  layers.push_back(cell_text(shown, middle, y, "width < 430 ? 1 : 0", regime_sign));
  auto result = spec(0, std::move(layers));
  result["height"] = {{"step", 27}};
  return result;
}

Json time() {
  const auto x = binary_axis("size", "size", size_label);
  const auto y = decimal_axis("y", "seconds", "time", si_label("s"));
  const auto shown = both(shown_points, "datum.line === line && datum.size > 0");
  Json layers = Json::array();
  put_bands(layers, x);
  const auto model_y = of_field(y, "model");
  layers.push_back(layer("points", both(shown, "datum.model > 0 && datum.repetition === 0"), style("line", "model"),
                         {{"x", x}, {"y", model_y}}));
  const auto low_y = of_field(y, "low");
  layers.push_back(layer("points", both(shown, "datum.low > 0"), style("rule", "whisker"),
                         {{"x", x}, {"y", low_y}, {"y2", like("high")}, {"color", regime_color()}}));
  layers.push_back(point_layer(shown, x, y));
  return spec(320, std::move(layers));
}

Json rate() {
  const auto x = binary_axis("size", "size", size_label);
  const auto y = decimal_axis("y", "bytes_per_second", "bytes moved per second", si_label("B/s"));
  const auto shown = both(shown_points, "datum.line === line && datum.size > 0 && datum.bytes_per_second > 0");
  Json layers = Json::array();
  const auto band_x = of_field(x, "from");
  layers.push_back(
      layer("bands", of_line, style("rect", "band"), {{"x", band_x}, {"x2", like("to")}, {"color", regime_color()}}));
  const auto roof_y = of_field(y, "rate");
  layers.push_back(
      layer("ceilings", of_device, style("rule", "roof"), {{"y", roof_y}, {"tooltip", tooltip({{"label", ""}})}}));
  const auto label = style("text", "roof-label", {{"align", "left"}, {"dx", 5}, {"dy", -6}});
  layers.push_back(layer("ceilings", of_device, label, {{"x", constant(0)}, {"y", roof_y}, {"text", like("label")}}));
  layers.push_back(point_layer(shown, x, y));
  return spec(320, std::move(layers));
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
  auto layers = Json::array();
  const auto shown = std::string(of_line) + " && datum.size > 0 && datum.repetition === 0 && isArray(datum.shares)";
  layers.push_back(
      {{"data", data("points")},
       {"transform", Json::array({{{"filter", shown}},
                                  {{"flatten", Json::array({"shares"})}, {"as", Json::array({"share"})}},
                                  {{"calculate", "datum.share[0]"}, {"as", "resource"}},
                                  {{"calculate", "datum.share[1]"}, {"as", "fraction"}},
                                  {{"calculate", "indexof(resources, datum.resource)"}, {"as", "order"}}})},
       {"mark", style("bar", "share")},
       {"encoding",
        {{"x", x},
         {"y", y},
         {"color", color},
         {"order", quantity("order")},
         {"tooltip", tooltip({{"resource", ""}, {"fraction", ".1%"}})}}}});
  auto result = spec(320, std::move(layers));
  // Names out of a run are values, never part of an expression.
  result["params"].push_back({{"name", "resources"}, {"value", std::move(domain)}});
  return result;
}

Json ladder() {
  const auto x = binary_axis("working_set", "working set", bytes_label);
  const auto y = decimal_axis("y", "rate", "read bandwidth", si_label("B/s"));
  Json layers = Json::array();
  layers.push_back(layer("levels", both(of_device, "datum.capacity_low > 0"), style("rect", "boundary-interval"),
                         {{"x", of_field(x, "capacity_low")}, {"x2", like("capacity_high")}}));
  layers.push_back(layer("levels", both(of_device, "datum.capacity > 0"), style("rule", "boundary"),
                         {{"x", of_field(x, "capacity")}, {"tooltip", tooltip({{"capacity_label", ""}})}}));
  layers.push_back(layer("levels", both(of_device, "datum.capacity > 0"), style("text", "boundary-label"),
                         {{"x", of_field(x, "capacity")}, {"y", constant(4)}, {"text", like("capacity_label")}}));
  layers.push_back(layer(
      "levels", both(of_device, "datum.rate > 0"), style("rect", "level-interval"),
      {{"x", of_field(x, "from")}, {"x2", like("to")}, {"y", of_field(y, "rate_low")}, {"y2", like("rate_high")}}));
  layers.push_back(
      layer("levels", both(of_device, "datum.rate > 0"), style("rule", "level"),
            {{"x", of_field(x, "from")}, {"x2", like("to")}, {"y", y}, {"tooltip", tooltip({{"label", ""}})}}));
  const auto label = style("text", "roof-label", {{"align", "left"}, {"dx", 4}, {"dy", -9}});
  layers.push_back(layer("levels", both(of_device, "datum.rate > 0"), label,
                         {{"x", of_field(x, "from")}, {"y", y}, {"text", like("label")}}));
  const auto line = style("line", "ladder", {{"point", {{"filled", true}, {"size", 26}}}});
  layers.push_back(layer("ladder", of_device, line,
                         {{"x", x}, {"y", y}, {"tooltip", tooltip({{"working_set_text", ""}, {"rate_text", ""}})}}));
  return spec(340, std::move(layers));
}

Json latency() {
  const auto x = binary_axis("working_set", "working set", bytes_label);
  auto y = decimal_axis("y", "seconds", "latency of one access", si_label("s"));
  y["scale"]["padding"] = label_room;
  Json layers = Json::array();
  layers.push_back(
      layer("latency_levels", of_device, style("rule", "boundary"), {{"y", y}, {"tooltip", tooltip({{"label", ""}})}}));
  const auto label = style("text", "roof-label", {{"align", "right"}, {"dx", -6}, {"dy", -7}});
  layers.push_back(
      layer("latency_levels", of_device, label, {{"x", {{"value", "width"}}}, {"y", y}, {"text", like("label")}}));
  const auto line = style("line", "ladder", {{"point", {{"filled", true}, {"size", 26}}}});
  layers.push_back(layer(
      "latencies", of_device, line,
      {{"x", x}, {"y", y}, {"tooltip", tooltip({{"working_set_text", ""}, {"time_text", ""}, {"cycles_text", ""}})}}));
  return spec(320, std::move(layers));
}

Json intensity() {
  const auto x = binary_axis("intensity", "arithmetic intensity, FLOP/byte", "format(datum.value, '.3~g')");
  auto y = decimal_axis("y", "rate", "speed", si_label("FLOP/s"));
  y["scale"]["padding"] = label_room;
  Json layers = Json::array();
  auto roof = style("line", "roof");
  layers.push_back(layer("intensity_roofs", of_device, roof,
                         {{"x", x},
                          {"y", y},
                          {"detail", {{"field", "roof"}, {"type", "nominal"}}},
                          {"tooltip", tooltip({{"label", ""}})}}));
  const auto label = style("text", "roof-label", {{"align", "right"}, {"dx", -6}, {"dy", -8}});
  layers.push_back(layer("intensity_roofs", both(of_device, "datum.labelled"), label,
                         {{"x", x}, {"y", y}, {"text", like("label")}}));
  const auto line = style("line", "ladder", {{"point", {{"filled", true}, {"size", 34}}}});
  layers.push_back(layer(
      "intensities", of_device, line,
      {{"x", x},
       {"y", y},
       {"tooltip", tooltip({{"intensity_text", ""}, {"rate_text", ""}, {"bandwidth_text", ""}, {"clock_text", ""}})}}));
  return spec(320, std::move(layers));
}

}  // namespace gpubench::reports::charts
