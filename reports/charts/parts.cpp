// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/parts.h"

#include <fmt/format.h>

#include "core/model/verdict.h"

namespace gpubench::reports::charts {
namespace {

Json tooltip(const Json& fields) {
  auto list = Json::array();
  for (const std::string text : fields) {
    const auto space = text.find(' ');
    list.push_back({{"field", text.substr(0, space)}});
    if (space != std::string::npos) list.back().update({{"format", text.substr(space + 1)}, {"type", "quantitative"}});
  }
  return list;
}

const Parts& common_parts() {
  const auto regime_by = [](std::string_view range) -> Json {
    return {{"field", "regime"},
            {"type", "nominal"},
            {"scale", {{"domain", regime_names}, {"range", range}}},
            {"legend", {{"title", nullptr}, {"orient", "top"}}}};
  };
  static const Parts parts = {
      {"schema", "https://vega.github.io/schema/vega-lite/v6.json"},
      // Conditions of rows, over the parameters below.
      {"of_device", "datum.device === device"},
      {"of_line", "datum.device === device && datum.line === line"},
      {"shown_points", "datum.device === device && datum.seconds > 0 && indexof(regimes, datum.regime) >= 0"},
      {"shown_sizes",
       "datum.device === device && datum.seconds > 0 && indexof(regimes, datum.regime) >= 0 && datum.line === line && "
       "datum.size > 0"},
      {"pointer", {{"filled", true}, {"cursor", "pointer"}}},
      // The page sets these values, and `standalone` the first device and operation of the run.
      {"parameters", Json::array({{{"name", "device"}, {"value", ""}},
                                  {{"name", "line"}, {"value", ""}},
                                  {{"name", "regimes"}, {"value", regime_names}},
                                  {{"name", "candidates"}, {"value", 1}}})},  // rows that may carry a group's label
      {"color", regime_by("category")},
      {"shape", regime_by("symbol")},
      {"point", tooltip({"name", "device", "regime", "limiter", "achieved .1%", "confidence .0%", "seconds .4~s",
                         "low .4~s", "high .4~s", "model .4~s", "bytes_per_second .4~s", "flops_per_second .4~s",
                         "working_set .4~s", "method", "evidence"})},
      {"operations",
       Json::parse(
           R"({"field": "line", "type": "nominal", "title": null, "sort": null, "axis": {"labelLimit": 130}})")},
      // The angle of a memory roof, on which its label lies: from the pixels that a decade has on each axis.
      {"roof_angle",
       "-180 / PI * atan2(height / log(domain('y')[1] / domain('y')[0]), width / log(domain('x')[1] / "
       "domain('x')[0]))"}};
  return parts;
}

Json part(const std::string& text, const Parts& own) {
  if (!text.starts_with('@')) return text;
  const auto dot = text.find('.');
  const auto name = text.substr(1, dot - 1);
  const auto known = own.find(name);
  auto result = name.empty() ? Json::object() : known != own.end() ? known->second : common_parts().at(name);
  if (dot != std::string::npos) result["field"] = text.substr(dot + 1);
  return result;
}

/// Leaves the rows that may carry a text: `direct`, with `anchor` for the group and the text, and numbers from 1 on as
/// `label`.
Json choice_of_labels(const std::string& size, const std::string& group, const std::string& text) {
  constexpr int most_groups = 40;
  const auto place = [](std::string_view by, Json sort, Json groups) {
    return Json{{"window", Json::array({{{"op", by}, {"as", "label"}}})},
                {"sort", std::move(sort)},
                {"groupby", std::move(groups)}};
  };
  const auto filter = [](std::string text) { return Json{{"filter", std::move(text)}}; };
  const auto largest = [](const std::string& field) { return Json{{"field", field}, {"order", "descending"}}; };
  return Json::array({place("row_number", Json::array({largest(size)}), Json::array({group})),
                      filter("datum.label <= candidates"),
                      {{"joinaggregate", Json::array({{{"op", "max"}, {"field", size}, {"as", "largest"}}})},
                       {"groupby", Json::array({group})}},
                      place("dense_rank", Json::array({largest("largest"), {{"field", group}}}), Json::array()),
                      filter(fmt::format("datum.label <= {}", most_groups)),
                      place("row_number", Json::array(), Json::array()),
                      {{"calculate", "datum." + text}, {"as", "direct"}},
                      {{"calculate", fmt::format("datum.{} + '\\n' + datum.{}", group, text)}, {"as", "anchor"}}});
}

void expand(Json& layer) {
  if (auto& data = layer["data"]; data.is_string()) data = Json::object({{"name", data}});
  if (auto& mark = layer["mark"]; mark.is_string()) {
    const auto words = mark.get<std::string>();
    const auto space = words.find(' ');
    mark = {{"type", words.substr(0, space)}, {"style", words.substr(space + 1)}, {"clip", true}};
    // Screen readers hear of what has a text of its own; the rest would be symbols without a name.
    if (!layer.value("encoding", Json::object()).contains("tooltip")) mark["aria"] = false;
    mark.update(layer.value("with", Json::object()));
    layer.erase("with");
  }
  if (!layer.contains("filter")) return;
  std::string condition;
  for (const auto& each : layer["filter"]) condition += (condition.empty() ? "" : " && ") + each.get<std::string>();
  auto transform = Json::array({{{"filter", condition}}});
  for (const auto& further : layer.value("transform", Json::array())) transform.push_back(further);
  if (const auto label = layer.find("label"); label != layer.end()) {
    for (auto& further : choice_of_labels(label->at(0), label->at(1), label->at(2))) transform.push_back(further);
    layer.erase("label");
  }
  layer["transform"] = std::move(transform);
  layer.erase("filter");
}

Json with_parts(Json value, const Parts& own) {
  if (value.is_string()) return part(value.get<std::string>(), own);
  if (value.is_array())
    for (auto& entry : value) entry = with_parts(std::move(entry), own);
  if (!value.is_object()) return value;
  for (auto& [key, entry] : value.items())
    entry = key == "tooltip" && entry.is_array() ? tooltip(entry) : with_parts(std::move(entry), own);
  if (value.contains("mark")) expand(value);
  return value;
}

Json log_axis(std::string_view field, std::string_view title, Json axis, int base) {
  return {{"field", field},
          {"type", "quantitative"},
          {"title", title},
          {"scale", {{"type", "log"}, {"base", base}, {"nice", false}, {"padding", 12}}},
          {"axis", std::move(axis)}};
}

}  // namespace

Json filled(std::string_view text, const Parts& own) { return with_parts(Json::parse(text), own); }

Json decimal_axis(std::string_view scale, std::string_view field, std::string_view title, std::string_view label) {
  // Labels powers of ten, and the steps between only where it spans few of them.
  const auto labels = fmt::format(
      "indexof(domain('{0}')[1] / domain('{0}')[0] > 300 ? [1] : domain('{0}')[1] / domain('{0}')[0] > 8 ? [1, 2, 5] : "
      "[1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], round(100 * datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9))) / "
      "100) >= 0 ? {1} : ''",
      scale, label);
  return log_axis(field, title, {{"labelOverlap", false}, {"labelFlush", 14}, {"labelExpr", labels}}, 10);
}

Json binary_axis(std::string_view field, std::string_view title, std::string_view label) {
  return log_axis(field, title,
                  {{"labelOverlap", true}, {"labelSeparation", 8}, {"labelFlush", true}, {"labelExpr", label}}, 2);
}

// Vega's own formats know neither binary prefixes nor a micro sign that reads the same everywhere.
const char* const bytes_label =
    "datum.value >= 1099511627776 ? format(datum.value / 1099511627776, '.3~g') + ' TiB' : datum.value >= 1073741824 ? "
    "format(datum.value / 1073741824, '.3~g') + ' GiB' : datum.value >= 1048576 ? format(datum.value / 1048576, "
    "'.3~g') + ' MiB' : datum.value >= 1024 ? format(datum.value / 1024, '.3~g') + ' KiB' : format(datum.value, "
    "'.3~g') + ' B'";
const char* const size_label =
    "datum.value >= 1048576 && datum.value % 1048576 == 0 ? format(datum.value / 1048576, '~g') + ' Mi' : datum.value "
    ">= 16384 && datum.value % 1024 == 0 ? format(datum.value / 1024, '~g') + ' Ki' : format(datum.value, '.6~g')";
/// d3 joins the prefix to the number, and its micro sign is not in every font.
std::string si_label(std::string_view unit) {
  return fmt::format(
      "replace(replace(format(datum.value, '.3~s'), '\u00b5', 'u'), regexp('([a-zA-Z]?)$'), ' $1') + '{}'", unit);
}
const char* const regime_sign =
    "(datum.regime === 'overhead' ? '\u25a0' : datum.regime === 'latency' ? '\u25b2' : datum.regime === 'memory' ? "
    "'\u25cf' : datum.regime === 'compute' ? '\u25c6' : '?')";

Json spec(int height, const Parts& own, std::string_view layers) {
  auto result = filled(R"({"$schema": "@schema", "width": "container", "params": "@parameters",
                           "autosize": {"type": "fit-x", "contains": "padding"}})");
  result["height"] = height;
  result["layer"] = filled(layers, own);
  return result;
}

}  // namespace gpubench::reports::charts
