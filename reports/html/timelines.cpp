// SPDX-License-Identifier: Apache-2.0
// Pages of timelines: bars over time, flame graphs, the difference of two, and pictures of the latter.
#include "reports/timelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <unordered_map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/document.h"
#include "reports/html/markup.h"
#include "reports/html/page.h"
#include "reports/result_table.h"
#include "timeline/views/rows.h"

namespace gpubench::reports {
namespace {

using Json = nlohmann::json;
using markup::plural;

/// Whole numbers in groups of seven bits, the lowest first; the last group has no eighth bit.
class Numbers {
 public:
  void put(std::uint64_t number) {
    for (; number >= 128; number >>= 7) bytes_ += static_cast<char>(number | 128);
    bytes_ += static_cast<char>(number);
  }
  void put_signed(std::int64_t number) {
    put(number < 0 ? 2 * static_cast<std::uint64_t>(-(number + 1)) + 1 : 2 * static_cast<std::uint64_t>(number));
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

using Page = page::LookPage;

std::string page_of(const AboutTrace& about, Page page) {
  return page::look_page({about.title, about.version, about.warnings}, std::move(page));
}

std::string seconds_text(std::int64_t nanoseconds) { return format_seconds(static_cast<double>(nanoseconds) / 1e9); }

/// A frame of a flame graph: its times on the host and on the GPU, of a diff before and after.
struct Frame {
  std::uint32_t parent, name;
  timeline::SliceKind kind;
  std::array<std::int64_t, 2> self, total, counts;
};
Frame frame_of(const timeline::FlameNode& node) {
  return {node.parent,
          node.name,
          node.kind,
          {node.host_self_ns, node.gpu_self_ns},
          {node.host_total_ns, node.gpu_total_ns},
          {node.count, node.count}};
}
Frame frame_of(const timeline::FlameChange& node) {
  return {node.parent,
          node.name,
          node.kind,
          {node.base_self_ns, node.new_self_ns},
          {node.base_total_ns, node.new_total_ns},
          {node.base_count, node.new_count}};
}

/// By kind; the legend has the same names (charts.json).
constexpr std::array<std::string_view, timeline::slice_kind_names.size()> tones = {
    "kernel", "communication", "copy", "copy", "call", "call", "wait", "call", "range", "call", "host"};

template <class Graph>
constexpr bool is_diff = std::is_same_v<Graph, timeline::FlameDiff>;

struct Frames {
  std::vector<Frame> kept;
  std::size_t left_out = 0;
};

/// Those with the most time. The others' time is their parents'.
template <class Graph>
Frames largest_frames(const Graph& graph, std::ptrdiff_t max_frames) {
  std::vector<std::int64_t> sizes;
  for (const auto& node : graph.nodes) sizes.push_back(std::ranges::max(frame_of(node).total));
  std::int64_t least = 1;
  if (std::ssize(sizes) > max_frames) {
    auto sorted = sizes;
    const auto last = sorted.begin() + max_frames;
    std::ranges::nth_element(sorted, last, std::greater());
    least = std::max<std::int64_t>(*last + 1, 1);
  }
  std::vector<std::size_t> places;
  auto [kept, left_out] = Frames{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Frame frame = frame_of(graph.nodes[i]);
    if (i > 0 && sizes[i] < least) {
      if (sizes[i] > 0) ++left_out;
      places.push_back(places[frame.parent]);
      for (std::size_t k = 0; k < 2; ++k) kept[places.back()].self[k] += frame.self[k];
      continue;
    }
    if (i > 0) frame.parent = static_cast<std::uint32_t>(places[frame.parent]);
    places.push_back(kept.size());
    kept.push_back(frame);
  }
  return {std::move(kept), left_out};
}

template <class Graph>
Json flame_spec() {
  const auto parts = storage::parsed_json(page::charts().text)["flame"];
  Json spec = parts["spec"];
  spec.update(parts[is_diff<Graph> ? "diff" : "kinds"]);
  return spec;
}

/// The frames as columns for the page.
template <class Graph>
Page flame_page(const Graph& graph, const std::array<const char*, 2>& columns) {
  const auto [kept, left_out] = largest_frames(graph, 20'000);  // beyond, Vega takes a second for each step
  Json data = {{"names", Json::array()}, {"parents", Json::array()}, {"names_of", Json::array()}};
  std::map<std::uint32_t, std::size_t> numbers;  // of names that have a frame
  std::vector<std::string> kernels;
  std::vector<std::size_t> of_kernels;  // the numbers of these names
  for (const Frame& frame : kept) {
    data["parents"].push_back(frame.parent == timeline::FlameNode::no_parent ? -1 : std::int64_t{frame.parent});
    const auto [number, is_new] = numbers.try_emplace(frame.name, numbers.size());
    if (is_new) {
      data["names"].push_back(printable(graph.names.text(frame.name)));
      if (frame.kind == timeline::SliceKind::kernel) {
        kernels.push_back(graph.names.text(frame.name));
        of_kernels.push_back(number->second);
      }
    }
    data["names_of"].push_back(number->second);
    data["tones"].push_back(tones[static_cast<std::size_t>(frame.kind)]);
    for (std::size_t k = 0; k < 2; ++k) {
      data["self"][columns[k]].push_back(frame.self[k]);
      if (k == 0 || is_diff<Graph>) data["counts"][columns[k]].push_back(frame.counts[k]);
    }
  }
  data["short"] = data["names"];
  const auto short_names = distinct_kernel_names(kernels);
  for (std::size_t i = 0; i < kernels.size(); ++i) data["short"][of_kernels[i]] = printable(short_names[i]);
  data["spec"] = flame_spec<Graph>();
  Page page;
  page.data.push_back(std::move(data));
  if (left_out > 0)
    page.notices.push_back(plural(left_out, "frame") +
                           " with the least time are left out; their time is that of their callers.");
  page.scripts = {page::script_flame()};
  page.draws_charts = true;
  return page;
}

/// What the page draws (flame.js), for paper. A frame is as wide as its time in `columns`, of two the longer.
template <class Graph>
std::string picture_of(const Graph& graph, const std::vector<std::size_t>& columns, const std::string& title,
                       const std::string& subtitle) {
  const std::vector<Frame> frames = largest_frames(graph, 4'000).kept;
  Json spec = flame_spec<Graph>(), rows = Json::array();
  std::vector<int> levels;
  int deepest = 0;
  std::set<std::string_view> seen;
  for (const Frame& frame : frames) {
    const bool is_root = levels.empty();
    const auto longest = [&](const auto& times) {
      return times[std::ranges::max(columns, {}, [&](std::size_t column) { return times[column]; })];
    };
    levels.push_back(is_root ? 1 : levels[frame.parent] + 1);
    if (!is_root && longest(frame.total) <= 0) continue;
    const auto before = static_cast<double>(frame.total[0]), after = static_cast<double>(frame.total[1]);
    const double change = before > 0.0 ? std::clamp(after / before - 1.0, -1.0, 1.0) : after > 0.0 ? 1.0 : 0.0;
    const std::string_view tone = *seen.insert(tones[static_cast<std::size_t>(frame.kind)]).first;
    rows.push_back({{"id", levels.size() - 1},
                    {"parent", is_root ? Json() : Json(frame.parent)},
                    {"name", printable(graph.names.text(frame.name))},
                    {"value", longest(frame.self)},
                    {"fill", is_diff<Graph> ? Json(change) : Json(tone)}});
    deepest = std::max(deepest, levels.back());
  }
  spec["data"][0]["values"] = std::move(rows);
  if (!is_diff<Graph>) spec["legends"][0]["values"] = seen;
  spec.update({{"width", 1000}, {"height", 19 * deepest}, {"background", "white"}, {"padding", 14}});
  spec["config"] = {{"text", {{"font", "Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif"}}}};
  spec["title"] = {{"text", title}, {"subtitle", subtitle}, {"anchor", "start"}, {"offset", 10}};
  return storage::json_text(spec);
}

/// Of the table of names; phones show the first.
Json columns_of(std::initializer_list<const char*> titles) {
  Json columns = Json::array();
  for (const char* const title : titles)
    columns.push_back({{"title", title}, {"detail", columns.empty() ? "" : " detail"}});
  return columns;
}

std::string before_and_after(const timeline::FlameDiff& diff) {
  return fmt::format("{}: {} before, {} after.", timeline::title_of(diff.weight),
                     seconds_text(diff.nodes.front().base_total_ns), seconds_text(diff.nodes.front().new_total_ns));
}

}  // namespace

std::string flame_picture(const timeline::FlameGraph& graph, timeline::FlameWeight weight, const AboutTrace& about) {
  return picture_of(
      graph, {weight == timeline::FlameWeight::host ? 0U : 1U}, about.title,
      fmt::format("{}, {} in all", timeline::title_of(weight), seconds_text(graph.nodes.front().total(weight))));
}

std::string flame_picture(const timeline::FlameDiff& diff, const AboutTrace& about) {
  return picture_of(diff, {0, 1}, about.title, before_and_after(diff));
}

std::string timeline_html(const timeline::Timeline& timeline, const AboutTrace& about,
                          const std::vector<ResultTable>& tables) {
  const timeline::Rows all = timeline::rows(timeline);
  Numbers numbers;
  Json rows = Json::array(), names = Json::array(), kinds = Json::array();
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_of;  // of each name and kind
  bool is_annotation = false;                                   // of a GPU: on a track that is no thread
  const auto number_of = [&](const timeline::Bar& bar) {
    const auto kind = is_annotation ? timeline::SliceKind::range : bar.kind;
    const auto key = std::uint64_t{bar.name} << 8 | static_cast<std::uint64_t>(kind);
    const auto [number, is_new] = numbers_of.try_emplace(key, names.size());
    if (is_new) {
      const std::string& name = timeline.names.text(bar.name);
      names.push_back(name.empty() ? "(no name)" : printable(name));
      kinds.push_back(timeline::name_of(kind));
    }
    return number->second;
  };
  std::size_t tracks = 0;
  for (const timeline::BarRow& row : all.rows) {
    const std::string name = printable(row.name);
    is_annotation =
        timeline.tracks[row.track].kind == timeline::TrackKind::other &&
        std::ranges::all_of(row.bars, [](const auto& bar) { return bar.kind == timeline::SliceKind::other; });
    const bool joined = std::ranges::any_of(row.bars, [](const timeline::Bar& bar) { return bar.count > 1; });
    const bool linked = std::ranges::any_of(row.bars, [](const timeline::Bar& bar) { return bar.correlation != 0; });
    tracks += row.level == 0 ? 1 : 0;
    std::int64_t last = all.start_ns;
    for (const timeline::Bar& bar : row.bars) {
      numbers.put(static_cast<std::uint64_t>(bar.start_ns - last));
      last = bar.start_ns;
    }
    for (const timeline::Bar& bar : row.bars) numbers.put(static_cast<std::uint64_t>(bar.end_ns - bar.start_ns));
    for (const timeline::Bar& bar : row.bars) numbers.put(number_of(bar));
    if (joined) {
      for (const timeline::Bar& bar : row.bars) numbers.put(bar.count - 1);
      for (const timeline::Bar& bar : row.bars)
        numbers.put(static_cast<std::uint64_t>(std::max<std::int64_t>(bar.end_ns - bar.start_ns - bar.busy_ns, 0)));
    }
    std::int64_t correlation = 0;
    for (const timeline::Bar& bar : row.bars) {
      if (!linked) break;
      numbers.put_signed(bar.correlation - correlation);
      correlation = bar.correlation;
    }
    rows.push_back({{"label", row.level == 0 ? name : ""},
                    {"track", row.level == 0 ? name : fmt::format("{}, level {}", name, row.level + 1)},
                    {"process", timeline.tracks[row.track].process},
                    {"level", row.level},
                    {"bars", row.bars.size()},
                    {"joined", joined},
                    {"linked", linked}});
  }
  Page page;
  if (all.step_ns > 0)
    page.notices.push_back(
        fmt::format("There are too many slices to show each: those that end within {} of each other are one bar, which "
                    "says how many it holds.",
                    seconds_text(all.step_ns)));
  if (all.left_out > 0) page.notices.push_back(plural(all.left_out, "slice") + " nested too deeply to show.");
  page.summary = fmt::format("{} on {} over {}.", plural(all.slices, "slice"), plural(tracks, "track"),
                             seconds_text(all.end_ns - all.start_ns));
  page.body = html(tables) + markup::part("timeline", {{"summary", page.summary}});
  page.data = {page::json_data({{"wall", all.end_ns - all.start_ns},
                                {"rows", std::move(rows)},
                                {"names", std::move(names)},
                                {"kinds", std::move(kinds)}}),
               page::packed_data("bars", numbers.bytes())};
  page.scripts = {page::script_timeline(), page::script_trace()};
  return page_of(about, std::move(page));
}

std::string flame_html(const timeline::FlameGraph& graph, timeline::FlameWeight weight, const AboutTrace& about) {
  using timeline::FlameWeight;
  Page page = flame_page(graph, {"host", "gpu"});
  page.data[0].update({{"weight", weight == FlameWeight::gpu ? "gpu" : "host"},
                       {"titles", {{"host", "on the host"}, {"gpu", "on the GPU"}}}});
  page.data[0] = page::json_data(std::move(page.data[0]));
  Json weights = Json::array();
  for (const auto& [one, value] : {std::pair(FlameWeight::gpu, "gpu"), std::pair(FlameWeight::host, "host")})
    weights.push_back({{"value", value}, {"selected", one == weight}, {"text", timeline::title_of(one)}});
  const timeline::FlameNode& root = graph.nodes.front();
  page.summary = fmt::format("{} of the GPU, {} of the host's threads, in {}.", seconds_text(root.gpu_total_ns),
                             seconds_text(root.host_total_ns), plural(graph.nodes.size() - 1, "frame"));
  page.body = markup::part("flame", {{"title", "Flame graph"},
                                     {"kind", "Flame graph"},
                                     {"summary", page.summary},
                                     {"weighted", true},
                                     {"weights", std::move(weights)},
                                     {"caption", "Frames by the time of their own. Click a name to find it."},
                                     {"columns", columns_of({"own time", "of all", "times"})}});
  return page_of(about, std::move(page));
}

std::string flame_html(const timeline::FlameDiff& diff, const std::vector<ResultTable>& tables,
                       const AboutTrace& about) {
  Page page = flame_page(diff, {"base", "new"});
  page.data[0].update({{"weight", "new"}, {"titles", Json::object()}});
  page.data[0] = page::json_data(std::move(page.data[0]));
  page.summary = before_and_after(diff);
  page.body = markup::part("flame", {{"title", "What changed, by stack"},
                                     {"kind", "Icicle graph of two traces"},
                                     {"summary", page.summary},
                                     {"weighted", false},
                                     {"caption", "Frames by how much the time of their own changed."},
                                     {"columns", columns_of({"change", "before", "after"})},
                                     {"tables", html(tables)}});
  return page_of(about, std::move(page));
}

std::string tables_html(const std::vector<ResultTable>& tables, const AboutTrace& about) {
  return page_of(about, {"", markup::part("results", {{"tables", html(tables)}})});
}

std::string folder_html(const std::string& folder, const std::string& version) {
  Page page{"What lies in this folder, as it changes.", markup::part("folder", Json::object())};
  page.scripts = {page::script_serve()};
  page.further_policy = "; connect-src 'self'; frame-src 'self'";
  return page_of({folder, version, {}}, std::move(page));
}

std::string text_html(const std::string& title, const std::string& lines, const std::string& version) {
  Json list = Json::array();
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) list.push_back(line);
  return page_of({title, version, {}}, {"", markup::part("lines", {{"lines", std::move(list)}})});
}

}  // namespace gpubench::reports
