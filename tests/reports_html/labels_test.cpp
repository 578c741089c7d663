// SPDX-License-Identifier: Apache-2.0
// Where labels of pictures go: in plots that are made up here, with what lies in their way.
#include "reports/charts/labels.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "reports/charts/short_form.h"

namespace gpubench::reports::charts {
namespace {

Json text_spec() {
  return written_out(Json::parse(R"({"params": [{"name": "candidates", "value": 1}], "layer": [
    {"data": "points", "filter": "true", "mark": "point measured", "encoding": {"x": "@.x", "y": "@.y"}},
    {"data": "points", "filter": "true", "mark": "point anchor", "label": ["x", "line", "line"],
     "encoding": {"x": "@.x", "y": "@.y"}}]})"),
                     Json::object());
}

Json symbol_at(double x, double y, const std::string& group = "") {
  Json item = {{"x", x}, {"y", y}, {"size", 60}};
  if (!group.empty()) item["description"] = group + "\n" + group;
  return item;
}

/// A plot of 200 by 100 pixels.
Json scene_of(const std::vector<Json>& anchors, const std::vector<Json>& further = {}) {
  auto marks = Json::array({{{"marktype", "symbol"}, {"name", "direct_0_marks"}, {"items", anchors}}});
  for (const auto& mark : further) marks.push_back(mark);
  return {{"scenegraph",
           {{"marktype", "group"}, {"items", Json::array({{{"width", 200}, {"height", 100}, {"items", marks}}})}}}};
}

struct Shift {
  std::string anchors;  ///< the numbers of those that carry a label
  std::string dx, dy;
};

Shift placed_in(const Json& scene) {
  auto spec = text_spec();
  EXPECT_TRUE(name_anchors(spec));
  place_labels(spec, scene);
  const auto& layer = spec["layer"][1];
  const auto filter = layer["transform"].back()["filter"].get<std::string>();
  const auto list = [](const std::string& text) { return text.substr(0, text.find("[datum")); };
  return {filter.substr(8, filter.find(']') - 7), list(layer["mark"]["dx"]["expr"].get<std::string>()),
          list(layer["mark"]["dy"]["expr"].get<std::string>())};
}

double first_of(const std::string& list) { return Json::parse(list)[0].get<double>(); }

TEST(Labels, StandRightOfTheirPointWhereThereIsRoom) {
  const auto place = placed_in(scene_of({symbol_at(50, 50, "copy")}));
  EXPECT_EQ(place.anchors, "[1]");
  EXPECT_GT(first_of(place.dx), 3.8);
  EXPECT_LT(first_of(place.dx), 8.0);
  EXPECT_EQ(first_of(place.dy), 0.0);
}

TEST(Labels, StandLeftAtTheRightEdgeAndAreLeftOutWherePlotsAreTooSmall) {
  const auto place = placed_in(scene_of({symbol_at(195, 50, "copy")}));
  EXPECT_LT(first_of(place.dx), -text_width("copy", 11.0));
  EXPECT_EQ(placed_in(scene_of({symbol_at(100, 50, std::string(60, 'x'))})).anchors, "[]");
}

TEST(Labels, KeepOffPointsAndTexts) {
  const Json points = {{"marktype", "symbol"}, {"name", "a"}, {"items", Json::array({symbol_at(70, 50)})}};
  const Json text = {{"marktype", "text"},
                     {"name", "b"},
                     {"items", Json::array({{{"x", 60}, {"y", 54}, {"fontSize", 11}, {"text", "roof"}}})}};
  for (const auto& mark : {points, text})
    EXPECT_LT(first_of(placed_in(scene_of({symbol_at(50, 50, "copy")}, {mark})).dx), 0.0) << mark.dump();
  auto unseen = text;
  unseen["items"][0]["fillOpacity"] = 0.0;
  EXPECT_GT(first_of(placed_in(scene_of({symbol_at(50, 50, "copy")}, {unseen})).dx), 0.0);
}

TEST(Labels, KeepOffPointsOfTheirOwnOperationToo) {
  const Json points = {
      {"marktype", "symbol"}, {"name", "a"}, {"items", Json::array({symbol_at(50, 50), symbol_at(70, 50)})}};
  const auto place = placed_in(scene_of({symbol_at(70, 50, "copy"), symbol_at(50, 50, "copy")}, {points}));
  EXPECT_EQ(place.anchors, "[2]");
  EXPECT_LT(Json::parse(place.dx)[1].get<double>(), 0.0);
}

TEST(Labels, KeepOutOfTheBoxAroundATurnedText) {
  // From (20, 80) up to the right.
  Json text = {{"x", 20}, {"y", 80}, {"fontSize", 11}, {"text", "DRAM 4.62 TB/s of a long name"}, {"angle", -45}};
  const Json mark = {{"marktype", "text"}, {"name", "b"}, {"items", Json::array({text})}};
  EXPECT_EQ(placed_in(scene_of({symbol_at(75, 55, "copy")}, {mark})).anchors, "[]");
  EXPECT_EQ(placed_in(scene_of({symbol_at(170, 90, "ab")}, {mark})).anchors, "[1]");
}

TEST(Labels, EachGroupHasOneAtItsLastPointOrAtAnotherThatIsFree) {
  EXPECT_EQ(placed_in(scene_of({symbol_at(20, 50, "copy"), symbol_at(100, 50, "copy")})).anchors, "[2]");
  std::vector<Json> wall;
  for (double x = 80; x <= 160; x += 6)
    for (double y = 20; y <= 80; y += 6)
      if (x != 100 || y != 50) wall.push_back(symbol_at(x, y));
  const Json marks = {{"marktype", "symbol"}, {"name", "a"}, {"items", wall}};
  EXPECT_EQ(placed_in(scene_of({symbol_at(20, 50, "copy"), symbol_at(100, 50, "copy")}, {marks})).anchors, "[1]");
}

TEST(Labels, OfPointsSideBySideStandAwayFromTheOther) {
  // Between the two the names would fit, and could be of either.
  const Json points = {
      {"marktype", "symbol"}, {"name", "a"}, {"items", Json::array({symbol_at(80, 50), symbol_at(106, 50)})}};
  const auto place = placed_in(scene_of({symbol_at(80, 50, "ab"), symbol_at(106, 50, "cd")}, {points}));
  const auto dx = Json::parse(place.dx);
  EXPECT_LT(dx[0].get<double>(), 0.0);
  EXPECT_GT(dx[1].get<double>(), 0.0);
}

TEST(Labels, WidthsOfTextAreAtLeastArials) {
  // By the metrics of Helvetica, in thousandths of the size.
  for (const auto& [text, units] :
       std::vector<std::pair<std::string, double>>{{"gemm_bf16", 556 + 556 + 833 + 833 + 556 + 556 + 278 + 556 + 556},
                                                   {"WAVE", 944 + 667 + 667 + 667},
                                                   {"AB", 1334}}) {
    EXPECT_GE(text_width(text, 10.0), units / 100.0) << text;
    EXPECT_LE(text_width(text, 10.0), units / 100.0 * 1.6) << text;
  }
  EXPECT_GE(text_width("\u6838", 10.0), 10.0);
}

}  // namespace
}  // namespace gpubench::reports::charts
