// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.h"

namespace gpubench::reports::charts {
namespace {

struct Vector {
  double x = 0.0;
  double y = 0.0;
};

/// A rectangle, turned by an angle of which `along` is the direction.
struct Box {
  Vector middle;
  Vector half;  ///< of its sides
  Vector along = {1.0, 0.0};
};

constexpr double label_size = 11.0;
constexpr double label_limit = 220.0;
constexpr double gap = 1.5;  ///< between an anchor, or another label, and a label
constexpr int most_candidates = 24;
constexpr auto anchor_name = "direct_";

/// Of the letters of Latin script: from the baseline of a text up to the top, and down.
constexpr double ascent = 0.75;
constexpr double descent = 0.22;

double span_of(const Box& box, const Vector& axis) {
  return box.half.x * std::abs(box.along.x * axis.x + box.along.y * axis.y) +
         box.half.y * std::abs(box.along.x * axis.y - box.along.y * axis.x);
}

/// Vega writes null for what is no number.
double number(const Json& item, const char* field, double otherwise = 0.0) {
  const auto found = item.find(field);
  return found != item.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::string word(const Json& item, const char* field, const char* otherwise = "") {
  const auto found = item.find(field);
  return found != item.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

/// By the axes of both, of which one parts them if any line does.
bool apart(const Box& a, const Box& b) {
  for (const auto& along : {a.along, b.along})
    for (const Vector axis : {along, Vector{-along.y, along.x}}) {
      const double distance = std::abs((a.middle.x - b.middle.x) * axis.x + (a.middle.y - b.middle.y) * axis.y);
      if (distance >= span_of(a, axis) + span_of(b, axis)) return true;
    }
  return false;
}

bool same_place(const Box& a, const Box& b) {
  return std::abs(a.middle.x - b.middle.x) + std::abs(a.middle.y - b.middle.y) < 0.1;
}

Box box_of_symbol(const Json& item) {
  const double half = std::sqrt(number(item, "size", 60.0)) / 2.0;
  return {{number(item, "x"), number(item, "y")}, {half, half}};
}

/// Vega turns a text around its place, and shifts it along its own lines.
Box box_of_text(const Json& item) {
  const double size = number(item, "fontSize", label_size);
  const double width = std::min(text_width(word(item, "text"), size), number(item, "limit", label_limit));
  const auto align = word(item, "align", "left");
  const auto baseline = word(item, "baseline", "alphabetic");
  const double right = align == "left" ? width / 2 : align == "right" ? -width / 2 : 0.0;
  const double down = baseline == "middle"   ? 0.0
                      : baseline == "top"    ? size / 2
                      : baseline == "bottom" ? -size / 2
                                             : (descent - ascent) / 2 * size;
  const double angle = number(item, "angle") * std::numbers::pi / 180.0;
  const Vector along = {std::cos(angle), std::sin(angle)};
  const Vector shift = {number(item, "dx") + right, number(item, "dy") + down};
  return {{number(item, "x") + shift.x * along.x - shift.y * along.y,
           number(item, "y") + shift.x * along.y + shift.y * along.x},
          {width / 2, (ascent + descent) / 2 * size},
          along};
}

bool is_seen(const Json& item) { return number(item, "opacity", 1.0) * number(item, "fillOpacity", 1.0) > 0.1; }

/// A place for a label: its box, and where its text begins, with its anchor's place for an origin.
struct LabelPlace {
  Box box;
  Vector shift;
};

/// Right, left, above, below, then the corners, as Vega is asked to try them in the page.
std::vector<LabelPlace> places_of(const Json& anchor, double width) {
  constexpr std::array<Vector, 8> sides = {{{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {1, 1}, {-1, -1}, {-1, 1}}};
  const Box own = box_of_symbol(anchor);
  const Vector half = {width / 2, (ascent + descent) / 2 * label_size};
  std::vector<LabelPlace> places;
  for (const auto& side : sides) {
    const Vector shift = {side.x * (own.half.x + gap + half.x), side.y * (own.half.y + gap + half.y)};
    places.push_back({{{own.middle.x + shift.x, own.middle.y + shift.y}, half}, {shift.x - half.x, shift.y}});
  }
  return places;
}

/// A thin box for each stretch of a line.
void add_stretches(const Json& line, std::vector<Box>& boxes) {
  const auto& items = line.at("items");
  for (std::size_t i = 1; i < items.size(); ++i) {
    const Vector from = {number(items[i - 1], "x"), number(items[i - 1], "y")};
    const Vector to = {number(items[i], "x"), number(items[i], "y")};
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    if (length > 0.0)
      boxes.push_back({{(from.x + to.x) / 2, (from.y + to.y) / 2},
                       {length / 2, 0.5},
                       {(to.x - from.x) / length, (to.y - from.y) / length}});
  }
}

/// What a plot draws: points and texts, and lines, which a label may cross where nothing else is left.
struct Drawn {
  std::vector<Box> marks;
  std::vector<Box> lines;
};

void add_marks(const Json& group, const Json& but, Drawn& drawn) {
  for (const auto& mark : group.at("items")) {
    const auto type = word(mark, "marktype");
    if (type == "line") add_stretches(mark, drawn.lines);
    if (!mark.contains("name") || mark["name"] == but.at("name")) continue;
    for (const auto& item : mark.at("items")) {
      if (type == "group" && item.contains("items")) add_marks(item, but, drawn);
      if (type == "symbol" && is_seen(item)) drawn.marks.push_back(box_of_symbol(item));
      if (type == "text" && is_seen(item)) drawn.marks.push_back(box_of_text(item));
    }
  }
}

/// The anchors of one label, the last first: those of large sizes.
struct Label {
  std::vector<std::size_t> anchors;
  double width = 0.0;
  bool placed = false;
};

std::vector<Label> labels_of(const Json& anchors) {
  std::vector<Label> labels;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = anchors.size(); i-- > 0;) {
    const auto text = word(anchors[i], "description");
    const auto [place, is_new] = known.emplace(text, labels.size());
    if (is_new)
      labels.push_back({{}, std::min(text_width(text.substr(text.rfind('\n') + 1), label_size), label_limit)});
    labels[place->second].anchors.push_back(i);
  }
  return labels;
}

/// Where the labels of a layer go: the anchors' numbers from 1 on, and for each anchor how far from it.
struct Placed {
  Json numbers = Json::array();
  Json dx = Json::array();
  Json dy = Json::array();
};

/// What a place must be like: how far other points lie from it, for else it could be theirs, and whether it may lie on
/// lines; and how many anchors are tried.
struct Standard {
  double distance;
  bool on_lines;
  std::size_t tries;
};
constexpr std::array<Standard, 5> standards = {
    {{7.0, false, 1}, {7.0, false, most_candidates}, {3.0, false, most_candidates}, {0.0, false, 4}, {0.0, true, 2}}};

Placed placed(const Json& marks, const Json& plot) {
  Drawn drawn;
  add_marks(plot, marks, drawn);
  const Box room = {{number(plot, "width") / 2, number(plot, "height") / 2},
                    {number(plot, "width") / 2, number(plot, "height") / 2}};
  const auto& anchors = marks.at("items");
  Placed result;
  result.dx = result.dy = Json(std::vector<double>(anchors.size()));
  const auto fits = [&](const Label& label, const Box& box, const Standard& standard) {
    const auto off = [&](const Box& other) { return apart(box, other); };
    const Box around = {box.middle, {box.half.x + standard.distance, box.half.y + standard.distance}};
    const auto clear = [&](const Box& other) {
      return apart(around, other) || std::ranges::any_of(label.anchors, [&](std::size_t own) {
               return same_place(other, box_of_symbol(anchors[own]));
             });
    };
    return std::abs(box.middle.x - room.middle.x) + box.half.x <= room.half.x &&
           std::abs(box.middle.y - room.middle.y) + box.half.y <= room.half.y &&
           std::ranges::all_of(drawn.marks, off) && (standard.on_lines || std::ranges::all_of(drawn.lines, off)) &&
           (standard.distance == 0.0 || std::ranges::all_of(drawn.marks, clear));
  };
  const auto put = [&](Label& label, std::size_t anchor, const Standard& standard) {
    for (const auto& [box, shift] : places_of(anchors[anchor], label.width)) {
      if (!fits(label, box, standard)) continue;
      label.placed = true;
      result.numbers.push_back(anchor + 1);
      result.dx[anchor] = shift.x;
      result.dy[anchor] = shift.y;
      drawn.marks.push_back({box.middle, {box.half.x + gap, box.half.y + gap}});
      return;
    }
  };
  auto labels = labels_of(anchors);
  for (const auto& standard : standards)
    for (auto& label : labels)
      for (std::size_t i = 0; i < std::min(standard.tries, label.anchors.size()) && !label.placed; ++i)
        put(label, label.anchors[i], standard);
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
  constexpr std::string_view narrow = " !'(),-./:;I[\\]`fijlrt|";
  constexpr std::string_view wide = "%&@GMOQWmw+<=>~";
  double width = 0.0;  // in font sizes
  std::size_t ascii = 0;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) continue;
    ++ascii;
    width += narrow.find(c) != narrow.npos ? 0.34
             : wide.find(c) != wide.npos   ? 0.95
             : c >= 'A' && c <= 'Z'        ? 0.74
                                           : 0.57;
  }
  const std::size_t all = display_width(text);
  return font_size * (width + (all > ascii ? static_cast<double>(all - ascii) : 0.0));
}

bool name_anchors(Json& spec) {
  int number = 0;
  each_layer(spec, [&](Json& layer) {
    if (!is_anchor(layer)) return;
    layer["name"] = fmt::format("{}{}", anchor_name, number++);
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
    const auto of_label = [](const Json& list) { return list.dump() + "[datum.label - 1]"; };
    layer["mark"] = {{"type", "text"}, {"style", "direct-label"}, {"align", "left"}, {"aria", false}};
    layer["mark"]["dx"] = {{"expr", of_label(places.dx)}};
    layer["mark"]["dy"] = {{"expr", of_label(places.dy)}};
    layer["encoding"].erase("description");
    layer["encoding"]["text"] = {{"field", "direct"}};
    layer["transform"].push_back({{"filter", fmt::format("indexof({}, datum.label) >= 0", places.numbers.dump())}});
  });
}

void drop_anchors(Json& spec) {
  for (const auto* key : {"layer", "concat"}) {
    if (!spec.contains(key)) continue;
    auto kept = Json::array();
    for (auto& part : spec[key]) {
      drop_anchors(part);
      if (!is_anchor(part)) kept.push_back(std::move(part));
    }
    spec[key] = std::move(kept);
  }
}

}  // namespace gpubench::reports::charts
