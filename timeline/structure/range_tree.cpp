// SPDX-License-Identifier: Apache-2.0
#include "timeline/structure/range_tree.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "timeline/operators/captures.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t max_numbered = 16;  // names that differ in the number at their end alone and stay apart

/// Ranges that are open on a thread, the outer ones first.
class OpenRanges {
 public:
  struct Open {
    std::uint32_t node;
    std::int64_t end;
  };
  void close_until(std::int64_t now) {
    while (!stack_.empty() && stack_.back().end <= now) stack_.pop_back();
  }
  /// The innermost that still lasts at `until`.
  [[nodiscard]] std::uint32_t at(std::int64_t until, std::uint32_t root) const {
    const auto open =
        std::ranges::find_if(stack_.rbegin(), stack_.rend(), [&](const Open& one) { return one.end >= until; });
    return open == stack_.rend() ? root : open->node;
  }
  [[nodiscard]] bool empty() const { return stack_.empty(); }
  [[nodiscard]] bool full() const { return stack_.size() >= 64; }  // a nesting that no reader follows
  void push(Open open) { stack_.push_back(open); }

 private:
  std::vector<Open> stack_;
};

constexpr std::size_t max_range_nodes = 4096;        // beyond, the ranges within one range are one: "(others)"
constexpr std::size_t max_threads_with_ranges = 64;  // of a process, for a launch on a thread without

/// Whether a call of this name takes memory or gives it back.
bool is_of_memory(std::string_view name) {
  return std::ranges::any_of(std::to_array<std::string_view>({"Malloc", "Alloc", "Free", "MemCreate", "HostRegister"}),
                             [&](std::string_view part) { return contains(name, part); });
}

class TreeBuilder {
 public:
  TreeBuilder(const Timeline& timeline, const Correlations& links, const WindowsOf& windows)
      : timeline_(timeline), links_(links), windows_(windows) {
    tree_.nodes.resize(timeline.processes.size());
    for (std::uint32_t i = 0; i < tree_.nodes.size(); ++i) tree_.nodes[i].process = i;
    tree_.of_call.assign(links.calls.size(), none);
    others_ = tree_.names.number("(others)");
  }

  RangeTree build(bool join_numbered) {
    const auto shown = names_in_paths(timeline_, tree_.names, join_numbered);
    auto call = links_.calls.begin();
    for (std::uint32_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& slice = timeline_.slices[i];
      if (call != links_.calls.end() && call->slice == i) {
        tree_.of_call[static_cast<std::size_t>(call - links_.calls.begin())] =
            node_of(links_.thread_of_track[slice.track], slice.start_ns);
        ++call;
      } else if (slice.kind == SliceKind::range && links_.thread_of_track[slice.track] != none) {
        add(slice, links_.thread_of_track[slice.track], shown.at(slice.name));
      } else if (slice.kind == SliceKind::call && links_.thread_of_track[slice.track] != none &&
                 of_memory_[slice.name]) {
        const std::uint32_t thread = links_.thread_of_track[slice.track];
        memory_calls_[links_.threads[thread].first].push_back({i, node_of(thread, slice.start_ns)});
      }
    }
    place_memory();
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& slice = timeline_.slices[i];
      if (!is_kernel(slice.kind) || links_.call_of[i] == none ||
          !holds(windows_, timeline_.tracks[slice.track].process, slice.start_ns))
        continue;
      RangeTree::Node& node = tree_.nodes[tree_.of_call[links_.call_of[i]]];
      node.own_kernel_ns += slice.duration_ns;
      ++node.own_launches;
    }
    return std::move(tree_);
  }

 private:
  std::uint32_t child(std::uint32_t parent, std::uint32_t name) {
    if (tree_.nodes.size() >= max_range_nodes && !children_.contains(joined_key(parent, name))) name = others_;
    const auto [place, added] = children_.emplace(joined_key(parent, name), tree_.nodes.size());
    if (added)
      tree_.nodes.push_back({.parent = parent,
                             .name = name,
                             .process = tree_.nodes[parent].process,
                             .depth = tree_.nodes[parent].depth + 1});
    return place->second;
  }

  void add(const Slice& slice, std::uint32_t thread, std::uint32_t name) {
    const std::uint32_t process = links_.threads[thread].first;
    OpenRanges& open = open_[thread];
    open.close_until(slice.start_ns);
    if (open.full()) return;
    // Beyond as many nodes below nodes, a path has no further parts.
    std::uint32_t parent = open.at(slice.end_ns(), process);
    if (tree_.nodes.size() >= 2 * max_range_nodes) return;
    if (tree_.nodes[parent].name == others_ && tree_.nodes[parent].depth >= 0) return;
    const std::uint32_t node = child(parent, name);
    const std::int64_t within =
        windows_.empty() ? slice.duration_ns : windows_[process].within(slice.start_ns, slice.end_ns());
    tree_.nodes[node].count += windows_.empty() || within > 0 ? 1 : 0;
    tree_.nodes[node].host_ns += within;
    open.push({node, slice.end_ns()});
    if (auto& threads = with_ranges_[process]; threads.size() <= max_threads_with_ranges) threads.insert(thread);
  }

  /// Memory is taken and given back within a call, so the call is the last one of its process that began before and
  /// has not ended. Calls that overlap are of several threads, and any of them may be meant.
  void place_memory() {
    tree_.of_memory.assign(timeline_.memory.size(), none);
    std::unordered_map<std::uint32_t, std::size_t> next;
    for (std::size_t i = 0; i < timeline_.memory.size(); ++i) {
      const MemoryEvent& event = timeline_.memory[i];
      const auto& calls = memory_calls_[event.process];
      std::size_t& after = next[event.process];
      while (after < calls.size() && timeline_.slices[calls[after].slice].start_ns <= event.time_ns) ++after;
      if (after > 0 && timeline_.slices[calls[after - 1].slice].end_ns() >= event.time_ns)
        tree_.of_memory[i] = calls[after - 1].node;
    }
  }

  std::uint32_t node_of(std::uint32_t thread, std::int64_t start) {
    const std::uint32_t process = links_.threads[thread].first;
    if (const auto own = open_.find(thread); own != open_.end()) {
      own->second.close_until(start);
      if (!own->second.empty()) return own->second.at(start, process);
    }
    const auto threads = with_ranges_.find(process);
    if (threads == with_ranges_.end() || threads->second.size() > max_threads_with_ranges) return process;
    const OpenRanges* only = nullptr;
    for (const std::uint32_t thread : threads->second) {
      OpenRanges& open = open_[thread];
      open.close_until(start);
      if (open.empty()) continue;
      if (only != nullptr) return process;
      only = &open;
    }
    return only == nullptr ? process : only->at(start, process);
  }

  const Timeline& timeline_;
  const Correlations& links_;
  const WindowsOf& windows_;
  RangeTree tree_;
  std::uint32_t others_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::unordered_map<std::uint32_t, OpenRanges> open_;                      // by thread
  std::unordered_map<std::uint32_t, std::set<std::uint32_t>> with_ranges_;  // by process
  struct MemoryCall {
    std::uint32_t slice, node;
  };
  std::unordered_map<std::uint32_t, std::vector<MemoryCall>> memory_calls_;  // by process
  std::vector<bool> of_memory_ = timeline_.names.where(is_of_memory);
};

std::string path_of(const RangeTree& tree, const RangeTree::Node& node) {
  const std::string& name = tree.names.text(node.name);
  return node.depth == 0 ? name : path_of(tree, tree.nodes[node.parent]) + "/" + name;
}

}  // namespace

std::string_view stem_of(std::string_view name) {
  const auto last = name.find_last_not_of("0123456789");
  return last == std::string_view::npos ? name : name.substr(0, last + 1);
}

std::string_view without_separators(std::string_view stem) { return stem.substr(0, stem.find_last_not_of("# _") + 1); }

std::string_view unnumbered(std::string_view name) {
  const std::string_view stem = stem_of(name);
  if (stem.size() == name.size()) return name;
  const std::string_view common = without_separators(stem);
  return common.empty() ? name : common;
}

std::vector<bool> ranges_named(const Timeline& timeline, std::string_view asked) {
  const std::vector<bool> exact = timeline.names.where([&](std::string_view name) { return name == asked; });
  if (std::ranges::any_of(timeline.slices,
                          [&](const Slice& slice) { return slice.kind == SliceKind::range && exact[slice.name]; }))
    return exact;
  return timeline.names.where([&](std::string_view name) {
    const std::string_view stem = stem_of(name);
    return stem.size() < name.size() &&
           (unnumbered(name) == asked || (asked.ends_with('*') && stem == asked.substr(0, asked.size() - 1)));
  });
}

std::unordered_map<std::uint32_t, std::uint32_t> names_in_paths(const Timeline& timeline, StringPool& names,
                                                                bool join_numbered) {
  std::unordered_map<std::uint32_t, std::uint32_t> result;
  for (const Slice& slice : timeline.slices)
    if (slice.kind == SliceKind::range) result.emplace(slice.name, 0);
  std::unordered_map<std::string_view, std::size_t> of_stem;
  for (const auto& [number, unused] : result) ++of_stem[stem_of(timeline.names.text(number))];
  for (auto& [number, shown] : result) {
    const std::string& name = timeline.names.text(number);
    const std::string_view stem = stem_of(name);
    const bool many =
        join_numbered && stem.size() < name.size() && (of_stem[stem] > max_numbered || stem == "ProfilerStep#");
    shown = names.number(many ? std::string(stem) + "*" : name.empty() ? "(no name)" : name);
  }
  return result;
}

RangeTree range_tree(const Linked& linked, bool join_numbered, const WindowsOf& windows) {
  return TreeBuilder(linked.timeline, linked.links, windows).build(join_numbered);
}

std::vector<std::uint32_t> range_paths(const Linked& linked, StringPool& paths) {
  const RangeTree tree = range_tree(linked);
  const Correlations& links = linked.links;
  std::vector<std::uint32_t> path_of_node;
  for (const RangeTree::Node& node : tree.nodes)
    path_of_node.push_back(node.depth < 0 ? 0 : paths.number(path_of(tree, node)));
  std::vector<std::uint32_t> result(linked.timeline.slices.size(), 0);
  for (std::size_t i = 0; i < result.size(); ++i)
    if (links.call_of[i] != none) result[i] = path_of_node[tree.of_call[links.call_of[i]]];
  // Of work of a graph the ranges of the capture lie within those of the launch.
  const auto made = captured_calls(
      linked, [&](std::uint32_t one, std::uint32_t other) { return tree.of_call[one] == tree.of_call[other]; });
  for (const auto& [work, call] : made) {
    const std::uint32_t inner = path_of_node[tree.of_call[call]];
    if (inner == 0 || inner == result[work]) continue;
    const std::string launched = paths.text(result[work]);
    result[work] = paths.number(launched.empty() ? paths.text(inner) : launched + "/" + paths.text(inner));
  }
  return result;
}

std::vector<ProgramRange> ranges_of(const RangeTree& tree, const std::vector<std::string>& labels) {
  // A node stands behind its parent, so that sums go up in one pass from the back.
  std::vector<std::int64_t> kernel_ns;
  std::vector<std::int64_t> launches;
  std::vector<std::vector<std::uint32_t>> children(tree.nodes.size());
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    kernel_ns.push_back(tree.nodes[i].own_kernel_ns);
    launches.push_back(tree.nodes[i].own_launches);
    if (tree.nodes[i].depth >= 0) children[tree.nodes[i].parent].push_back(i);
  }
  for (std::size_t i = tree.nodes.size(); i-- > 0;) {
    if (tree.nodes[i].depth < 0) continue;
    kernel_ns[tree.nodes[i].parent] += kernel_ns[i];
    launches[tree.nodes[i].parent] += launches[i];
  }
  std::vector<ProgramRange> result;
  std::vector<std::uint32_t> todo;
  const auto put = [&](const std::vector<std::uint32_t>& nodes) {
    std::ranges::copy(nodes.rbegin(), nodes.rend(), std::back_inserter(todo));
  };
  for (std::size_t i = children.size(); i-- > 0;)
    if (tree.nodes[i].depth < 0) put(children[i]);
  while (!todo.empty()) {
    const std::uint32_t i = todo.back();
    const RangeTree::Node& node = tree.nodes[i];
    todo.pop_back();
    put(children[i]);
    if (node.count == 0 && launches[i] == 0) continue;
    result.push_back({.process = labels[node.process],
                      .path = path_of(tree, node),
                      .depth = node.depth,
                      .count = node.count,
                      .host_seconds = seconds_of(node.host_ns),
                      .kernel_seconds = seconds_of(kernel_ns[i]),
                      .own_kernel_seconds = seconds_of(node.own_kernel_ns),
                      .launches = launches[i],
                      .allocations = node.allocations,
                      .allocated_bytes = node.allocated_bytes,
                      .peak_bytes = node.peak_bytes});
  }
  return result;
}

}  // namespace gpubench::timeline
