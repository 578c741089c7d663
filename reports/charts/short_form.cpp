// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/short_form.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.h"

namespace gpubench::reports::charts {
namespace {

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

void write_out_layer(Json& layer) {
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
  const auto& conditions = layer["filter"];
  const auto all =
      conditions.is_array() ? conditions.get<std::vector<std::string>>() : std::vector{conditions.get<std::string>()};
  auto transform = Json::array({{{"filter", joined(all, " && ")}}});
  for (const auto& further : layer.value("transform", Json::array())) transform.push_back(further);
  if (const auto label = layer.find("label"); label != layer.end()) {
    for (auto& further : choice_of_labels(label->at(0), label->at(1), label->at(2))) transform.push_back(further);
    layer.erase("label");
  }
  layer["transform"] = std::move(transform);
  layer.erase("filter");
}

/// d3 joins the prefix to the number, and its micro sign is not in every font.
std::string si_label(const std::string& unit) {
  return fmt::format(
      "replace(replace(format(datum.value, '.3~s'), '\u00b5', 'u'), regexp('([a-zA-Z]?)$'), ' $1') + '{}'", unit);
}

Json axis(const Json& value) {
  const bool decimal = value.contains("decimal");
  Json labels = {{"labelOverlap", true}, {"labelSeparation", 8}, {"labelFlush", true}};
  auto text = value.contains("unit") ? si_label(value["unit"]) : value["label"].get<std::string>();
  if (decimal) {
    labels = {{"labelOverlap", false}, {"labelFlush", 14}};
    const auto span = fmt::format("domain('{0}')[1] / domain('{0}')[0]", value.value("scale", "y"));
    text = fmt::format(
        "{0} < 1.5 || indexof({0} > 300 ? [1] : {0} > 8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], "
        "round(100 * datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9))) / 100) >= 0 ? {1} : ''",
        span, text);
  }
  labels["labelExpr"] = text;
  return {{"field", value[decimal ? "decimal" : "binary"]},
          {"type", "quantitative"},
          {"title", value["title"]},
          {"scale",
           {{"type", "log"}, {"base", decimal ? 10 : 2}, {"nice", false}, {"padding", value.value("padding", 12)}}},
          {"axis", std::move(labels)}};
}

class Writer {
 public:
  Writer(const Json& parts, const Parts& own) : scopes_{&parts}, own_(own) {}

  Json of(const Json& value) {
    if (value.is_string()) return part(value.get<std::string>());
    if (value.is_array()) return list(value);
    if (!value.is_object()) return value;
    const auto parts = value.find("parts");
    if (parts != value.end()) scopes_.push_back(&*parts);
    auto result = Json::object();
    if (value.contains("use")) {
      result = of(value["use"]);
    } else {
      for (const auto& [key, entry] : value.items())
        if (key != "parts") result[key] = of(entry);
      if (result.contains("decimal") || result.contains("binary")) result = axis(result);
      if (result.contains("mark")) write_out_layer(result);
    }
    if (parts != value.end()) scopes_.pop_back();
    return result;
  }

 private:
  Json list(const Json& value) {
    auto result = Json::array();
    for (const auto& entry : value) {
      auto written = of(entry);
      if (entry.is_string() && written.is_array())
        result.insert(result.end(), written.begin(), written.end());
      else
        result.push_back(std::move(written));
    }
    return result;
  }

  Json part(const std::string& text) {
    if (!text.starts_with('@')) return text;
    const auto dot = text.find('.');
    auto result = named(text.substr(1, dot - 1));
    if (dot != std::string::npos) result["field"] = text.substr(dot + 1);
    return result;
  }

  Json named(const std::string& name) {
    if (name.empty()) return Json::object();
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = (*scope)->find(name); found != (*scope)->end()) return of(*found);
    return own_.at(name);
  }

  std::vector<const Json*> scopes_;
  const Parts& own_;
};

}  // namespace

Json written_out(const Json& value, const Json& parts, const Parts& own) { return Writer(parts, own).of(value); }

}  // namespace gpubench::reports::charts
