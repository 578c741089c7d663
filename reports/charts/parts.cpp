// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/parts.h"

#include "core/model/verdict.h"

namespace gpubench::reports::charts {
namespace {

/// A decimal axis labels powers of ten, and the steps between only where it spans few of them.
std::string decimal_labels(std::string_view scale, std::string_view label) {
  const auto domain = "domain('" + std::string(scale) + "')";
  const auto span = domain + "[1] / " + domain + "[0]";
  const std::string step = "round(100 * datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9))) / 100";
  return "indexof(" + span + " > 300 ? [1] : " + span + " > 8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], " + step +
         ") >= 0 ? " + std::string(label) + " : ''";
}

}  // namespace

// Labels of axes. Vega's own formats know neither binary prefixes nor a micro sign that reads the same everywhere.
const char* const bytes_label =
    "datum.value >= 1099511627776 ? format(datum.value / 1099511627776, '.3~g') + ' TiB' : datum.value >= 1073741824 ? "
    "format(datum.value / 1073741824, '.3~g') + ' GiB' : datum.value >= 1048576 ? format(datum.value / 1048576, "
    "'.3~g') + "
    "' MiB' : datum.value >= 1024 ? format(datum.value / 1024, '.3~g') + ' KiB' : format(datum.value, '.3~g') + ' B'";
const char* const size_label =
    "datum.value >= 1048576 && datum.value % 1048576 == 0 ? format(datum.value / 1048576, '~g') + ' Mi' : datum.value "
    ">= "
    "16384 && datum.value % 1024 == 0 ? format(datum.value / 1024, '~g') + ' Ki' : format(datum.value, '.6~g')";
/// "10 TB/s": d3 joins the prefix to the number, and its micro sign is not in every font.
std::string si_label(std::string_view unit) {
  return "replace(replace(format(datum.value, '.3~s'), '\u00b5', 'u'), regexp('([a-zA-Z]?)$'), ' $1') + '" +
         std::string(unit) + "'";
}

const char* const roof_angle =
    "-180 / PI * atan2(height / log(domain('y')[1] / domain('y')[0]), width / log(domain('x')[1] / domain('x')[0]))";

Json log_axis(std::string_view field, std::string_view title, Json axis, int base) {
  return {{"field", field},
          {"type", "quantitative"},
          {"title", title},
          {"scale", {{"type", "log"}, {"base", base}, {"nice", false}, {"padding", 12}}},
          {"axis", std::move(axis)}};
}
Json decimal_axis(std::string_view scale, std::string_view field, std::string_view title, std::string_view label) {
  return log_axis(field, title, {{"labelOverlap", false}, {"labelExpr", decimal_labels(scale, label)}}, 10);
}
Json binary_axis(std::string_view field, std::string_view title, std::string_view label) {
  return log_axis(field, title,
                  {{"labelOverlap", true}, {"labelSeparation", 8}, {"labelFlush", true}, {"labelExpr", label}}, 2);
}

Json regime_names_list() {
  auto names = Json::array();
  for (const auto name : regime_names) names.push_back(name);
  return names;
}

Json regime_scale() { return {{"domain", regime_names_list()}}; }

namespace {
Json regime_by(std::string_view range) {
  auto scale = regime_scale();
  scale["range"] = range;
  return {
      {"field", "regime"}, {"type", "nominal"}, {"scale", scale}, {"legend", {{"title", nullptr}, {"orient", "top"}}}};
}
}  // namespace

Json regime_color() { return regime_by("category"); }
Json regime_shape() { return regime_by("symbol"); }

Json tooltip(std::initializer_list<std::pair<const char*, const char*>> fields) {
  auto list = Json::array();
  for (const auto& [field, format] : fields) {
    Json entry = {{"field", field}};
    if (*format) entry["format"] = format, entry["type"] = "quantitative";
    list.push_back(std::move(entry));
  }
  return list;
}

Json point_tooltip() {
  return tooltip({{"name", ""},
                  {"device", ""},
                  {"regime", ""},
                  {"limiter", ""},
                  {"achieved", ".1%"},
                  {"confidence", ".0%"},
                  {"seconds", ".4~s"},
                  {"low", ".4~s"},
                  {"high", ".4~s"},
                  {"model", ".4~s"},
                  {"bytes_per_second", ".4~s"},
                  {"flops_per_second", ".4~s"},
                  {"working_set", ".4~s"},
                  {"method", ""},
                  {"evidence", ""}});
}

Json data(std::string_view name) { return {{"name", name}}; }
Json style(std::string_view mark, std::string_view name, const Json& further) {
  Json result = {{"type", mark}, {"style", name}, {"clip", true}};
  result.update(further);
  return result;
}
Json layer(std::string_view data_set, std::string_view condition, Json mark, Json encoding) {
  Json result = {{"data", data(data_set)}, {"mark", std::move(mark)}, {"encoding", std::move(encoding)}};
  if (!condition.empty()) result["transform"] = Json::array({{{"filter", condition}}});
  return result;
}
Json unit_line() {
  return {{"data", {{"values", Json::array({Json::object()})}}},
          {"mark", style("rule", "boundary")},
          {"encoding", {{"y", {{"datum", 1}, {"type", "quantitative"}}}}}};
}
Json of_field(Json axis, std::string_view field) {
  axis["field"] = field;
  return axis;
}
Json like(std::string_view field) { return {{"field", field}}; }
Json quantity(std::string_view field) { return {{"field", field}, {"type", "quantitative"}}; }
Json constant(int value) { return {{"value", value}}; }

Json parameters() {
  return Json::array({{{"name", "device"}, {"value", ""}},
                      {{"name", "line"}, {"value", ""}},
                      {{"name", "regimes"}, {"value", regime_names_list()}}});
}

Json spec(int height, Json layers) {
  return {{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"},
          {"width", "container"},
          {"height", height},
          {"autosize", {{"type", "fit-x"}, {"contains", "padding"}}},
          {"params", parameters()},
          {"layer", std::move(layers)}};
}

Json row_spec(Json layers) {
  auto result = spec(0, std::move(layers));
  result["height"] = {{"step", 27}};
  return result;
}

std::string both(std::string_view a, std::string_view b) { return std::string(a) + " && " + std::string(b); }

Json point_mark() { return style("point", "measured", {{"filled", true}, {"cursor", "pointer"}}); }

Json point_layer(std::string_view condition, const Json& x, const Json& y) {
  return layer(
      "points", condition, point_mark(),
      {{"x", x}, {"y", y}, {"color", regime_color()}, {"shape", regime_shape()}, {"tooltip", point_tooltip()}});
}

const char* const regime_sign =
    "(datum.regime === 'overhead' ? '\u25a0' : datum.regime === 'latency' ? '\u25b2' : datum.regime === 'memory' ? "
    "'\u25cf' : datum.regime === 'compute' ? '\u25c6' : '?')";

Json rows_of_operations() {
  return {
      {"field", "line"}, {"type", "nominal"}, {"title", nullptr}, {"sort", nullptr}, {"axis", {{"labelLimit", 130}}}};
}

Json cell_layer(std::string_view condition, const Json& x, const char* to, const char* strength, const Json& domain,
                const Json& range) {
  const Json opacity = {{"field", "strength"},
                        {"type", "quantitative"},
                        {"scale", {{"domain", domain}, {"range", range}, {"clamp", true}}},
                        {"legend", nullptr}};
  auto result = layer("points", condition, style("rect", "cell", {{"cursor", "pointer"}}),
                      {{"x", x},
                       {"x2", like(to)},
                       {"y", rows_of_operations()},
                       {"color", regime_color()},
                       {"opacity", opacity},
                       {"tooltip", point_tooltip()}});
  result["transform"].push_back({{"calculate", strength}, {"as", "strength"}});
  return result;
}

Json cell_text(std::string_view condition, const Json& x, const Json& y, std::string_view visible,
               std::string_view expression) {
  auto result = layer("points", condition, style("text", "cell-label", {{"opacity", {{"expr", visible}}}}),
                      {{"x", x}, {"y", y}, {"text", like("cell_text")}});
  result["transform"].push_back({{"calculate", expression}, {"as", "cell_text"}});
  return result;
}

}  // namespace gpubench::reports::charts
