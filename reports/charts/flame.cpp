// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/flame.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/text.h"
#include "reports/charts/picture.h"

namespace gpubench::reports::charts {
namespace {

using timeline::SliceKind;

constexpr int row_height = 19;
constexpr double least_pixels = 0.4;  // of a frame that is drawn

std::uint32_t tone_of(SliceKind kind) {
  switch (kind) {
    case SliceKind::range: return 1;
    case SliceKind::launch:
    case SliceKind::transfer:
    case SliceKind::call:
    case SliceKind::overhead: return 2;
    case SliceKind::synchronization: return 3;
    case SliceKind::kernel: return 4;
    case SliceKind::communication: return 5;
    case SliceKind::copy:
    case SliceKind::fill: return 6;
    case SliceKind::other: return 0;
  }
  return 0;
}

/// Sums from the leaves up.
std::vector<std::int64_t> totals(const FlameTable& table, std::vector<std::int64_t> sums) {
  for (std::size_t i = sums.size(); i-- > 1;) sums[static_cast<std::size_t>(table.parents[i])] += sums[i];
  return sums;
}

/// How much room a frame needs at most.
std::vector<std::int64_t> sizes(const FlameTable& table) {
  std::vector<std::int64_t> result(table.parents.size(), 0);
  for (const auto& self : table.self) {
    const auto sums = totals(table, self);
    for (std::size_t i = 0; i < sums.size(); ++i) result[i] = std::max(result[i], sums[i]);
  }
  return result;
}

FlameTable shrunk(FlameTable table, std::size_t max_frames) {
  const auto size = sizes(table);
  std::int64_t least = 1;
  if (size.size() > max_frames) {
    auto sorted = size;
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(max_frames);
    std::nth_element(sorted.begin(), last, sorted.end(), std::greater());
    least = std::max<std::int64_t>(*last + 1, 1);
  }
  std::vector<std::size_t> place(size.size(), 0);
  std::vector<std::size_t> depth(size.size(), 0);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size.size(); ++i) {
    const std::size_t parent = i == 0 ? 0 : place[static_cast<std::size_t>(table.parents[i])];
    if (i > 0 && size[i] < least) {
      place[i] = parent;
      if (size[i] > 0) ++table.left_out;
      for (auto& self : table.self) self[parent] += self[i];
      continue;
    }
    place[i] = kept++;
    depth[place[i]] = i == 0 ? 0 : depth[parent] + 1;
    table.levels = std::max(table.levels, depth[place[i]] + 1);
    table.parents[place[i]] = i == 0 ? -1 : static_cast<std::int64_t>(parent);
    table.names[place[i]] = table.names[i];
    table.tones[place[i]] = table.tones[i];
    for (auto* columns : {&table.self, &table.counts})
      for (auto& column : *columns) column[place[i]] = column[i];
  }
  table.parents.resize(kept);
  table.names.resize(kept);
  table.tones.resize(kept);
  for (auto* columns : {&table.self, &table.counts})
    for (auto& column : *columns) column.resize(kept);
  // Names of frames that are left out have no place either.
  std::vector<std::uint32_t> number(table.texts.size(), std::numeric_limits<std::uint32_t>::max());
  std::vector<std::string> texts;
  for (std::uint32_t& name : table.names) {
    if (number[name] == std::numeric_limits<std::uint32_t>::max()) {
      number[name] = static_cast<std::uint32_t>(texts.size());
      texts.push_back(printable(table.texts[name]));
    }
    name = number[name];
  }
  table.texts = std::move(texts);
  return table;
}

template <class Graph>
FlameTable plain_table(const Graph& graph) {
  FlameTable table;
  for (const auto& node : graph.nodes) {
    table.parents.push_back(node.parent == timeline::FlameNode::no_parent ? -1
                                                                          : static_cast<std::int64_t>(node.parent));
    table.names.push_back(node.name);
    table.tones.push_back(tone_of(node.kind));
  }
  for (std::uint32_t i = 0; i < graph.names.size(); ++i) table.texts.push_back(graph.names.text(i));
  return table;
}

template <class Node>
std::vector<std::int64_t> column(const std::vector<Node>& nodes, std::int64_t Node::*member) {
  std::vector<std::int64_t> result;
  result.reserve(nodes.size());
  for (const Node& node : nodes) result.push_back(node.*member);
  return result;
}

}  // namespace

const std::vector<std::string>& flame_tones() {
  static const std::vector<std::string> tones = {"host", "range", "call", "wait", "kernel", "communication", "copy"};
  return tones;
}

FlameTable table_of(const timeline::FlameGraph& graph, std::size_t max_frames) {
  using timeline::FlameNode;
  FlameTable table = plain_table(graph);
  table.self = {column(graph.nodes, &FlameNode::host_self_ns), column(graph.nodes, &FlameNode::gpu_self_ns)};
  table.counts = {column(graph.nodes, &FlameNode::count)};
  return shrunk(std::move(table), max_frames);
}

FlameTable table_of(const timeline::FlameDiff& diff, std::size_t max_frames) {
  using timeline::FlameChange;
  FlameTable table = plain_table(diff);
  table.is_diff = true;
  table.self = {column(diff.nodes, &FlameChange::base_self_ns), column(diff.nodes, &FlameChange::new_self_ns)};
  table.counts = {column(diff.nodes, &FlameChange::base_count), column(diff.nodes, &FlameChange::new_count)};
  return shrunk(std::move(table), max_frames);
}

Json flame_spec(const FlameTable& table) {
  Json spec = Json::parse(R"json({
    "$schema": "https://vega.github.io/schema/vega/v6.json", "background": null, "padding": 2,
    "autosize": {"type": "fit-x", "contains": "padding"},
    "signals": [{"name": "from", "value": 0}, {"name": "to", "value": 1}, {"name": "query", "value": ""},
                {"name": "chosen", "value": -1}, {"name": "dark", "value": false}],
    "data": [
      {"name": "tree", "values": [], "transform": [
        {"type": "stratify", "key": "id", "parentKey": "parent"},
        {"type": "partition", "field": "value", "size": [1, 1]}]},
      {"name": "shown", "source": "tree", "transform": [{"type": "filter", "expr":
        "datum.x1 > from && datum.x0 < to && (datum.x1 - datum.x0) * width > least * (to - from)"}]},
      {"name": "named", "source": "shown", "transform": [
        {"type": "formula", "as": "room", "expr": "scale('x', datum.x1) - scale('x', datum.x0) - 7"},
        {"type": "filter", "expr": "datum.room > 22"}]}],
    "scales": [{"name": "x", "domain": {"signal": "[from, to]"}, "range": "width", "zero": false, "clamp": true}],
    "marks": [
      {"type": "rect", "name": "frames", "from": {"data": "shown"}, "encode": {"update": {
        "x": {"scale": "x", "field": "x0"}, "x2": {"scale": "x", "field": "x1"},
        "y": {"signal": "datum.depth * row"}, "height": {"signal": "row"}, "cursor": {"value": "pointer"},
        "stroke": {"signal": "datum.id === chosen ? (dark ? '#fff' : '#000') : (dark ? '#171c22' : '#fff')"},
        "strokeWidth": {"signal": "datum.id === chosen ? 2 : 0.6"},
        "opacity": {"signal": "query !== '' && indexof(lower(datum.name), query) < 0 ? 0.25 : 1"}}}},
      {"type": "text", "interactive": false, "from": {"data": "named"}, "encode": {"update": {
        "x": {"signal": "scale('x', datum.x0) + 4"}, "y": {"signal": "(datum.depth + 0.5) * row"},
        "baseline": {"value": "middle"}, "limit": {"signal": "datum.room"}, "text": {"field": "name"},
        "fontSize": {"value": 11.5}, "fill": {"signal": "dark && query !== '' && indexof(lower(datum.name), query) < 0 ? '#e8ebef' : '#1b222b'"}}}}]
  })json");
  spec["height"] = row_height * static_cast<int>(table.levels);
  spec["signals"].push_back({{"name", "row"}, {"value", row_height}});
  spec["signals"].push_back({{"name", "least"}, {"value", least_pixels}});
  Json legend = Json::parse(R"json({"orient": "top", "fill": "fill", "direction": "horizontal", "encode": {
    "labels": {"update": {"fill": {"signal": "dark ? '#e8ebef' : '#1b222b'"}}},
    "title": {"update": {"fill": {"signal": "dark ? '#e8ebef' : '#1b222b'"}}}}})json");
  if (table.is_diff) {
    spec["scales"].push_back(Json::parse(R"({"name": "fill", "type": "linear", "domain": [-1, 0, 1], "clamp": true,
      "range": ["#4f97d3", "#f1f1ef", "#e8683f"]})"));
    legend.merge_patch(Json::parse(
        R"({"type": "gradient", "title": "change of the frame's time", "format": "+.0%", "gradientLength": 200,
            "titleFontWeight": "normal", "values": [-1, -0.5, 0, 0.5, 1]})"));
  } else {
    spec["scales"].push_back(
        {{"name", "fill"},
         {"type", "ordinal"},
         {"domain", flame_tones()},
         {"range", {"#f0cf94", "#b7d0ec", "#d5dae0", "#efab77", "#86d1b6", "#e3a9cb", "#94c6ea"}}});
    std::vector<bool> seen(flame_tones().size());
    for (const std::uint32_t tone : table.tones) seen[tone] = true;
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i]) legend["values"].push_back(flame_tones()[i]);
    legend["symbolType"] = "square";
    legend["columns"] = {{"signal", "width < 500 ? 3 : 0"}};
  }
  spec["legends"] = Json::array({std::move(legend)});
  spec["marks"][0]["encode"]["update"]["fill"] = {{"scale", "fill"}, {"field", table.is_diff ? "change" : "tone"}};
  return spec;
}

Json flame_picture(const FlameTable& table, std::size_t self, const std::string& title, const std::string& subtitle) {
  Json spec = flame_spec(table);
  const auto before = totals(table, table.self.front()), after = totals(table, table.self.back());
  const auto& drawn = table.is_diff ? sizes(table) : self == 0 ? before : after;
  Json rows = Json::array();
  std::vector<std::size_t> depth(table.parents.size(), 0);
  std::size_t levels = 1;
  for (std::size_t i = 0; i < table.parents.size(); ++i) {
    if (i > 0 && drawn[i] <= 0) continue;
    if (i > 0) depth[i] = depth[static_cast<std::size_t>(table.parents[i])] + 1;
    levels = std::max(levels, depth[i] + 1);
    Json row = {{"id", i}, {"parent", nullptr}, {"name", table.texts[table.names[i]]}};
    if (i > 0) row["parent"] = table.parents[i];
    row["value"] = table.is_diff ? std::max(table.self[0][i], table.self[1][i]) : table.self[self][i];
    if (table.is_diff)
      row["change"] = before[i] > 0
                          ? std::clamp(static_cast<double>(after[i]) / static_cast<double>(before[i]) - 1.0, -1.0, 1.0)
                      : after[i] > 0 ? 1.0
                                     : 0.0;
    else
      row["tone"] = flame_tones()[table.tones[i]];
    rows.push_back(std::move(row));
  }
  spec["data"][0]["values"] = std::move(rows);
  spec["width"] = 1000;
  spec["height"] = row_height * static_cast<int>(levels);
  spec["background"] = "white";
  spec["padding"] = 14;
  spec["config"] = {{"text", {{"font", "Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif"}}}};
  spec["title"] = {{"text", title}, {"subtitle", subtitle}, {"anchor", "start"}, {"offset", 10}};
  return spec;
}

}  // namespace gpubench::reports::charts
