// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/storage/document.h"

namespace gpubench::reports::charts {
namespace {

constexpr double label_size = 11.0;
constexpr double label_limit = 220.0;
constexpr double gap = 3.0;  ///< around a label
constexpr int most_candidates = 24;

/// Upright, by its middle and half of its sides, in pixels.
struct Box {
  double x, y, half_x, half_y;
};

bool apart(const Box& a, const Box& b) {
  return std::abs(a.x - b.x) >= a.half_x + b.half_x || std::abs(a.y - b.y) >= a.half_y + b.half_y;
}

/// Vega writes null for what is no number.
double number(const Json& item, const char* field, double otherwise = 0.0) {
  const auto found = item.find(field);
  return found != item.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::string word(const Json& item, const char* field) {
  const auto found = item.find(field);
  return found != item.end() && found->is_string() ? found->get<std::string>() : "";
}

Box box_of_symbol(const Json& item) {
  const double half = std::sqrt(number(item, "size", 60.0)) / 2.0;
  return {number(item, "x"), number(item, "y"), half, half};
}

/// Around the text, which Vega turns around its place and shifts along its own lines.
Box box_of_text(const Json& item) {
  const double size = number(item, "fontSize", label_size);
  const double width = std::min(text_width(word(item, "text"), size), number(item, "limit", label_limit));
  const auto align = word(item, "align"), baseline = word(item, "baseline");
  const double right = number(item, "dx") + (align == "center" ? 0.0 : align == "right" ? -width / 2 : width / 2);
  const double down = number(item, "dy") + (baseline == "middle" ? 0.0 : baseline == "top" ? size / 2 : -size / 3);
  const double angle = number(item, "angle") * std::numbers::pi / 180.0;
  const double along = std::cos(angle), across = std::sin(angle);
  return {number(item, "x") + right * along - down * across, number(item, "y") + right * across + down * along,
          (width * std::abs(along) + size * std::abs(across)) / 2,
          (width * std::abs(across) + size * std::abs(along)) / 2};
}

/// Points and texts that a plot draws, without its anchors.
void add_marks(const Json& group, const Json& anchors, std::vector<Box>& boxes) {
  for (const auto& mark : group.at("items")) {
    if (!mark.contains("name") || mark["name"] == anchors.at("name")) continue;
    const auto type = word(mark, "marktype");
    for (const auto& item : mark.at("items")) {
      const bool seen = number(item, "opacity", 1.0) * number(item, "fillOpacity", 1.0) > 0.1;
      if (type == "group" && item.contains("items")) add_marks(item, anchors, boxes);
      if (type == "symbol" && seen) boxes.push_back(box_of_symbol(item));
      if (type == "text" && seen) boxes.push_back(box_of_text(item));
    }
  }
}

/// Where the labels of a layer go: the anchors' numbers from 1 on, and for each anchor how far from it.
struct Placed {
  Json numbers = Json::array(), dx = Json::array(), dy = Json::array();
};

Placed placed(const Json& marks, const Json& plot) {
  std::vector<Box> taken;
  add_marks(plot, marks, taken);
  const double width = number(plot, "width"), height = number(plot, "height");
  const auto& anchors = marks.at("items");
  Placed result;
  result.dx = result.dy = Json(std::vector<double>(anchors.size()));
  std::map<std::string, std::vector<std::size_t>> labels;  // the anchors of each, the last first: those of large sizes
  for (std::size_t i = anchors.size(); i-- > 0;) labels[word(anchors[i], "description")].push_back(i);
  /// Right, left, above or below, as Vega is asked to try them in the page.
  const auto put = [&](const std::string& text, std::size_t anchor) {
    const Box own = box_of_symbol(anchors[anchor]);
    const Box half = {0.0, 0.0, std::min(text_width(text, label_size), label_limit) / 2, label_size / 2};
    for (const auto& [right, down] : {std::pair{1, 0}, {-1, 0}, {0, -1}, {0, 1}}) {
      const double x = right * (own.half_x + gap + half.half_x), y = down * (own.half_y + gap + half.half_y);
      const Box box = {own.x + x, own.y + y, half.half_x, half.half_y};
      const Box around = {box.x, box.y, box.half_x + gap - 0.1, box.half_y + gap - 0.1};
      if (box.x < box.half_x || box.x + box.half_x > width || box.y < box.half_y || box.y + box.half_y > height ||
          !std::ranges::all_of(taken, [&](const Box& other) { return apart(around, other); }))
        continue;
      result.numbers.push_back(anchor + 1);
      result.dx[anchor] = x - half.half_x;
      result.dy[anchor] = y;
      taken.push_back(box);
      return true;
    }
    return false;
  };
  for (const auto& [text, own] : labels)
    std::ranges::any_of(own, [&, last = text.substr(text.rfind('\n') + 1)](auto anchor) { return put(last, anchor); });
  return result;
}

bool is_anchor(const Json& layer) { return layer.contains("mark") && layer["mark"].value("style", "") == "anchor"; }

template <typename Visit>
void each_layer(Json& spec, const Visit& visit) {
  for (const auto* key : {"layer", "concat"})
    if (spec.contains(key))
      for (auto& part : spec[key]) {
        if (part.contains("mark")) visit(part);
        each_layer(part, visit);
      }
}

/// The plot that holds the marks of a name, and these.
std::pair<const Json*, const Json*> find_marks(const Json& plot, const std::string& name) {
  for (const auto& mark : plot.at("items")) {
    if (word(mark, "name") == name) return {&plot, &mark};
    if (word(mark, "marktype") != "group") continue;
    for (const auto& inner : mark.at("items"))
      if (inner.contains("items"))
        if (const auto found = find_marks(inner, name); found.first != nullptr) return found;
  }
  return {};
}

}  // namespace

double text_width(std::string_view text, double font_size) {
  constexpr std::string_view wide = "%&@GMOQWmw+<=>~";
  double width = 0.0;
  for (const char c : text) width += contains(wide, c) ? 0.95 : c >= 'A' && c <= 'Z' ? 0.74 : 0.57;
  return font_size * width;
}

bool name_anchors(Json& spec) {
  int number = 0;
  each_layer(spec, [&](Json& layer) {
    if (!is_anchor(layer)) return;
    layer["name"] = fmt::format("direct_{}", number++);
    layer["mark"].erase("aria");  // which would leave out the description
    layer["encoding"]["description"] = {{"field", "anchor"}};
  });
  if (number > 0)
    for (auto& param : spec["params"])
      if (param["name"] == "candidates") param["value"] = most_candidates;
  return number > 0;
}

void place_labels(Json& spec, const Json& scene) {
  each_layer(spec, [&](Json& layer) {
    if (!is_anchor(layer)) return;
    Placed places;
    for (const auto& root : scene.at("scenegraph").at("items"))
      if (const auto [plot, marks] = find_marks(root, layer["name"].get<std::string>() + "_marks"); plot != nullptr)
        places = placed(*marks, *plot);
    const auto of_label = [](const Json& list) { return storage::json_text(list) + "[datum.label - 1]"; };
    layer["mark"] = {{"type", "text"}, {"style", "direct-label"}, {"align", "left"}, {"aria", false}};
    layer["mark"]["dx"] = {{"expr", of_label(places.dx)}};
    layer["mark"]["dy"] = {{"expr", of_label(places.dy)}};
    layer["encoding"].erase("description");
    layer["encoding"]["text"] = {{"field", "direct"}};
    layer["transform"].push_back(
        {{"filter", fmt::format("indexof({}, datum.label) >= 0", storage::json_text(places.numbers))}});
  });
}

}  // namespace gpubench::reports::charts
