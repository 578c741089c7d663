// SPDX-License-Identifier: Apache-2.0
#include "timeline/views/flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "timeline/names.h"
#include "timeline/operators/operators.h"
#include "timeline/structure/range_tree.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t max_nodes = 200'000;  // of a graph: beyond, no viewer helps
constexpr std::size_t max_stack = 512;      // slices of a thread that are open at once

/// A sum that stays at the most where a hostile trace would go beyond.
void add_time(std::int64_t& sum, std::int64_t time) {
  if (__builtin_add_overflow(sum, time, &sum)) sum = std::numeric_limits<std::int64_t>::max();
}

class FlameBuilder {
 public:
  FlameBuilder(const Linked& linked, const FlameOptions& options)
      : linked_(linked),
        timeline_(linked.timeline),
        options_(options),
        links_(linked.links),
        numbers_(timeline_.names.size(), none) {
    for (const auto& [number, shown] : names_in_paths(timeline_, graph_.names)) range_names_[number] = shown;
    graph_.nodes.push_back({.name = graph_.names.number("all")});
  }

  FlameGraph build() {
    sweep();
    join_kernels();
    for (std::size_t i = graph_.nodes.size(); i-- > 1;) {
      FlameNode& node = graph_.nodes[i];
      add_time(node.host_total_ns, node.host_self_ns);
      add_time(node.gpu_total_ns, node.gpu_self_ns);
      add_time(graph_.nodes[node.parent].host_total_ns, node.host_total_ns);
      add_time(graph_.nodes[node.parent].gpu_total_ns, node.gpu_total_ns);
    }
    return std::move(graph_);
  }

 private:
  struct Open {
    std::int64_t end, first_end;  // the latter of all up to this one
    std::uint32_t node, name;
    SliceKind kind;
  };
  struct Thread {
    std::vector<Open> open;
    std::int64_t now = 0;
    std::uint32_t root = none;
  };

  std::uint32_t name_of_slice(const Slice& slice) {
    if (slice.kind == SliceKind::range) return range_names_.at(slice.name);
    std::uint32_t& number = numbers_[slice.name];
    if (number == none) {
      const std::string& text = timeline_.names.text(slice.name);
      number = graph_.names.number(text.empty() ? "(no name)" : text);
    }
    return number;
  }

  std::uint32_t child(std::uint32_t parent, std::uint32_t name, SliceKind kind) {
    const auto known = children_.find(joined_key(parent, name));
    if (known != children_.end()) return known->second;
    if (graph_.nodes.size() >= max_nodes) {
      ++graph_.left_out;
      return parent;
    }
    const auto place = static_cast<std::uint32_t>(graph_.nodes.size());
    children_.emplace(joined_key(parent, name), place);
    graph_.nodes.push_back({.parent = parent, .name = name, .depth = graph_.nodes[parent].depth + 1, .kind = kind});
    return place;
  }

  /// The frame of a process and of a track below it.
  std::uint32_t root_of(std::uint32_t track, const std::string& name) {
    if (!options_.by_thread) return 0;
    if (labels_.empty()) labels_ = process_labels(timeline_);
    const std::string& label = labels_[timeline_.tracks[track].process];
    return child(0, graph_.names.number(label.empty() ? name : label + " " + name), SliceKind::other);
  }

  /// Charges the time up to `now` to the stacks that were open.
  void advance(Thread& thread, std::int64_t now) {
    auto& open = thread.open;
    while (!open.empty()) {
      const std::int64_t until = std::min(now, open.back().first_end);
      add_time(graph_.nodes[open.back().node].host_self_ns, std::max<std::int64_t>(until - thread.now, 0));
      thread.now = std::max(thread.now, until);
      if (open.back().first_end > now) return;
      // What ended leaves; what was open within it and lasts longer moves up.
      auto ended = std::ranges::find_if(open, [&](const Open& one) { return one.end <= until; });
      std::vector<Open> left(ended, open.end());
      open.erase(ended, open.end());
      for (const Open& one : left)
        if (one.end > until) push(thread, one.end, one.name, one.kind);
    }
    thread.now = now;
  }

  std::uint32_t push(Thread& thread, std::int64_t end, std::uint32_t name, SliceKind kind) {
    auto& open = thread.open;
    const std::uint32_t parent = open.empty() ? thread.root : open.back().node;
    if (open.size() >= std::min(options_.max_depth, max_stack)) return parent;
    const std::uint32_t node = child(parent, name, kind);
    open.push_back({end, open.empty() ? end : std::min(end, open.back().first_end), node, name, kind});
    return node;
  }

  void sweep() {
    std::vector<Thread> threads(links_.threads.size());
    std::vector<std::string> thread_names(threads.size());
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) {
      const Track& track = timeline_.tracks[i];
      if (track.kind == TrackKind::thread && links_.thread_of_track[i] != none)
        thread_names[links_.thread_of_track[i]] = track.name;
    }
    call_nodes_.assign(links_.calls.size(), none);
    auto call = links_.calls.begin();
    for (std::uint32_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& slice = timeline_.slices[i];
      const std::uint32_t place = links_.thread_of_track[slice.track];
      if (place == none) continue;
      Thread& thread = threads[place];
      if (thread.root == none) {
        const std::string number = fmt::format("thread {}", links_.threads[place].second);
        const std::string& name = thread_names[place];
        thread.root = root_of(slice.track, name.empty() || name == number ? number : name);
      }
      if (thread.open.empty())
        thread.now = slice.start_ns;
      else
        advance(thread, slice.start_ns);
      const std::size_t depth = thread.open.size();
      const std::uint32_t node = push(thread, slice.end_ns(), name_of_slice(slice), slice.kind);
      if (thread.open.size() > depth) ++graph_.nodes[node].count;
      if (call != links_.calls.end() && call->slice == i) {
        call_nodes_[static_cast<std::size_t>(call - links_.calls.begin())] = node;
        ++call;
      }
    }
    for (Thread& thread : threads) advance(thread, std::numeric_limits<std::int64_t>::max());
  }

  /// Below a graph's launch the operators of its capture, where they are known.
  std::uint32_t below(std::uint32_t caller, const Operators& captured, std::uint32_t work) {
    const auto found = captured.of_captured.find(work);
    if (found == captured.of_captured.end()) return caller;
    std::vector<std::uint32_t> chain;
    for (std::uint32_t at = found->second; at != none; at = captured.all[at].parent) chain.push_back(at);
    for (; !chain.empty() && graph_.nodes[caller].depth < options_.max_depth; chain.pop_back())
      caller = child(caller, name_of_slice(timeline_.slices[captured.all[chain.back()].slice]), SliceKind::other);
    return caller;
  }

  void join_kernels() {
    const bool has_captures = contains(timeline_.tracks, TrackKind::operators, &Track::kind);
    const Operators captured = has_captures ? operators(linked_) : Operators();
    for (std::uint32_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& slice = timeline_.slices[i];
      if (!occupies_gpu(slice.kind)) continue;
      const std::uint32_t call = links_.call_of[i];
      const std::uint32_t caller = call != none ? below(call_nodes_[call], captured, i)
                                                : root_of(slice.track, track_name(timeline_.tracks[slice.track]));
      FlameNode& node = graph_.nodes[child(caller, name_of_slice(slice), slice.kind)];
      add_time(node.gpu_self_ns, slice.duration_ns);
      ++node.count;
    }
  }

  const Linked& linked_;
  const Timeline& timeline_;
  const FlameOptions& options_;
  const Correlations& links_;
  FlameGraph graph_;
  std::vector<std::string> labels_;
  std::vector<std::uint32_t> numbers_;  // of the timeline's names in the graph's
  std::unordered_map<std::uint32_t, std::uint32_t> range_names_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::vector<std::uint32_t> call_nodes_;
};

/// The graph without the nodes that `into` gives another place for: they are added to that.
FlameGraph merged(FlameGraph graph, const std::vector<std::uint32_t>& into) {
  std::vector<std::uint32_t> place(graph.nodes.size());
  FlameGraph result;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    FlameNode node = graph.nodes[i];
    if (into[i] != i) {
      FlameNode& other = result.nodes[place[i] = place[into[i]]];
      const bool upwards = into[i] == node.parent;  // whose totals have it already
      add_time(other.host_self_ns, node.host_self_ns);
      add_time(other.gpu_self_ns, node.gpu_self_ns);
      if (!upwards) {
        add_time(other.gpu_total_ns, node.gpu_total_ns);
        other.count += node.count;
      }
      continue;
    }
    place[i] = static_cast<std::uint32_t>(result.nodes.size());
    if (i > 0) node.parent = place[node.parent];
    result.nodes.push_back(node);
  }
  result.names = std::move(graph.names);
  result.left_out = graph.left_out;
  return result;
}

/// Small kernels of one caller become its first small kernel, with another name.
FlameGraph group_small(FlameGraph graph, double share) {
  const double limit = share * static_cast<double>(graph.nodes.front().gpu_total_ns);
  std::vector<std::uint32_t> into(graph.nodes.size());
  std::map<std::uint32_t, std::pair<std::uint32_t, std::size_t>> groups;  // by caller: the first, how many
  for (std::uint32_t i = 0; i < into.size(); ++i) {
    const FlameNode& node = graph.nodes[i];
    into[i] = i;
    const bool small = i > 0 && is_kernel(node.kind) && static_cast<double>(node.gpu_total_ns) < limit;
    if (!small) continue;
    const auto [group, added] = groups.emplace(node.parent, std::pair(i, 0));
    ++group->second.second;
    into[i] = group->second.first;
  }
  for (const auto& [caller, group] : groups)
    if (group.second > 1)
      graph.nodes[group.first].name = graph.names.number(fmt::format("{} other kernels", group.second));
  return merged(std::move(graph), into);
}

FlameGraph drop_short(FlameGraph graph, std::int64_t least) {
  std::vector<std::uint32_t> into(graph.nodes.size());
  for (std::uint32_t i = 0; i < into.size(); ++i) {
    const FlameNode& node = graph.nodes[i];
    const bool is_short = i > 0 && std::max(node.host_total_ns, node.gpu_total_ns) < least;
    into[i] = is_short ? node.parent : i;
  }
  return merged(std::move(graph), into);
}

/// Names from the root on, the separator between them.
std::vector<std::uint32_t> path_to(const FlameGraph& graph, std::uint32_t node) {
  std::vector<std::uint32_t> path;
  for (; node != FlameNode::no_parent; node = graph.nodes[node].parent) path.push_back(node);
  std::ranges::reverse(path);
  return path;
}

}  // namespace

FlameGraph flame(const Linked& linked, const FlameOptions& options) {
  FlameGraph graph = FlameBuilder(linked, options).build();
  if (options.small_kernel_share > 0.0) graph = group_small(std::move(graph), options.small_kernel_share);
  if (options.min_duration_ns > 0) graph = drop_short(std::move(graph), options.min_duration_ns);
  return graph;
}

FlameDiff diff(const FlameGraph& base, const FlameGraph& next, FlameWeight weight) {
  FlameDiff result;
  result.weight = weight;
  std::unordered_map<std::uint64_t, std::uint32_t> children;
  const auto add = [&](const FlameGraph& graph, auto self, auto total, auto count) {
    std::vector<std::uint32_t> place(graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const FlameNode& node = graph.nodes[i];
      const std::uint32_t parent = i == 0 ? FlameNode::no_parent : place[node.parent];
      const std::uint32_t name = result.names.number(graph.name(node));
      const auto [known, added] =
          children.emplace(joined_key(parent, name), static_cast<std::uint32_t>(result.nodes.size()));
      if (added) result.nodes.push_back({.parent = parent, .name = name, .depth = node.depth, .kind = node.kind});
      place[i] = known->second;
      FlameChange& change = result.nodes[place[i]];
      add_time(change.*self, node.self(weight));
      add_time(change.*total, node.total(weight));
      change.*count += node.count;
    }
  };
  add(base, &FlameChange::base_self_ns, &FlameChange::base_total_ns, &FlameChange::base_count);
  add(next, &FlameChange::new_self_ns, &FlameChange::new_total_ns, &FlameChange::new_count);
  return result;
}

std::string_view title_of(FlameWeight weight) {
  return weight == FlameWeight::gpu ? "GPU time by what launched it" : "host time";
}

std::string folded(const FlameGraph& graph, FlameWeight weight) {
  std::string text;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].self(weight) <= 0) continue;
    text += joined(path_to(graph, i), ";", [&](std::uint32_t node) {
      std::string name = printable(graph.name(graph.nodes[node]));
      std::ranges::replace(name, ';', ' ');
      return name;
    });
    text += fmt::format(" {}\n", graph.nodes[i].self(weight));
  }
  return text;
}

ResultTable flame_table(const FlameGraph& graph, FlameWeight weight) {
  ResultTable table{"frames", columns_of("frame; parent; name:kernel=frame; kind; count=times; self_seconds=own time; "
                                         "total_seconds=with what it called; :share=share")};
  table.title = title_of(weight);
  const auto whole = static_cast<double>(graph.nodes.front().total(weight));
  std::vector<std::int64_t> number(graph.nodes.size(), -1);  // of the frames that have time
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const FlameNode& node = graph.nodes[i];
    if (i > 0 && node.total(weight) <= 0) continue;
    number[i] = static_cast<std::int64_t>(table.rows.size());
    table.add({number[i], i == 0 ? Value(Absent{"the root"}) : number[node.parent], graph.name(node),
               std::string(name_of(node.kind)), node.count, seconds_of(node.self(weight)),
               seconds_of(node.total(weight)),
               whole > 0.0 ? Value(static_cast<double>(node.self(weight)) / whole) : Absent{"no time"}});
  }
  return table;
}

}  // namespace gpubench::timeline
