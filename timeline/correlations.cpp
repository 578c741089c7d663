// SPDX-License-Identifier: Apache-2.0
// What started what: calls of the host and work of the GPU, and the ranges around the calls.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "timeline/analyses/parts.h"

namespace gpubench::timeline {
namespace {

std::uint64_t joined_key(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }

std::uint32_t place_of(std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t>& known,
                       std::pair<std::uint32_t, std::int64_t> key,
                       std::vector<std::pair<std::uint32_t, std::int64_t>>& list) {
  const auto [place, added] = known.emplace(key, static_cast<std::uint32_t>(list.size()));
  if (added) list.push_back(key);
  return place->second;
}

void check(const Timeline& timeline) {
  const auto fail = [](const char* what) { throw std::invalid_argument(what); };
  if (timeline.slices.size() >= none) fail("a timeline of over four thousand million slices");
  for (const Track& track : timeline.tracks)
    if (track.process >= timeline.processes.size()) fail("a track of a process that the timeline does not have");
  std::int64_t before = std::numeric_limits<std::int64_t>::min();
  for (const Slice& slice : timeline.slices) {
    if (slice.track >= timeline.tracks.size()) fail("a slice on a track that the timeline does not have");
    if (slice.start_ns < before) fail("a timeline whose slices are not sorted");
    before = slice.start_ns;
  }
}

/// Names of calls that may wait for the copy they start, and of copies that make an asynchronous call wait.
struct WaitingNames {
  std::vector<bool> synchronous, pageable;
  explicit WaitingNames(const StringPool& names) : synchronous(names.size()), pageable(names.size()) {
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      synchronous[i] = names.text(i).find("Async") == std::string::npos;
      pageable[i] = names.text(i).find("Pageable") != std::string::npos;
    }
  }
};

/// Calls of one process by their correlation.
class CallsByKey {
 public:
  void add(std::uint32_t correlation, std::uint32_t call) { calls_.emplace_back(correlation, call); }
  void sort() {
    if (!std::ranges::is_sorted(calls_)) std::ranges::sort(calls_);
  }
  /// The first that has it; `none` where none has. Work mostly comes in the order of its calls, which is tried before.
  std::uint32_t at(std::uint32_t correlation) {
    const auto first_at = [&](std::size_t place) {
      return place < calls_.size() && calls_[place].first == correlation &&
             (place == 0 || calls_[place - 1].first != correlation);
    };
    if (first_at(last_ + 1)) {
      ++last_;
    } else if (!first_at(last_)) {
      const auto place = std::ranges::lower_bound(calls_, correlation, {}, &Entry::first);
      if (place == calls_.end() || place->first != correlation) return none;
      last_ = static_cast<std::size_t>(place - calls_.begin());
    }
    return calls_[last_].second;
  }

 private:
  using Entry = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<Entry> calls_;
  std::size_t last_ = 0;
};

void tie_works(const Timeline& timeline, Correlations& links) {
  std::vector<CallsByKey> of_process(timeline.processes.size());
  for (std::uint32_t i = 0; i < links.calls.size(); ++i) {
    const Slice& slice = timeline.slices[links.calls[i].slice];
    if (slice.correlation != 0) of_process[timeline.tracks[slice.track].process].add(slice.correlation, i);
  }
  for (CallsByKey& calls : of_process) calls.sort();
  const WaitingNames names(timeline.names);
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    if (!occupies_gpu(work.kind) || work.correlation == 0) continue;
    const std::uint32_t place = of_process[timeline.tracks[work.track].process].at(work.correlation);
    if (place == none) continue;
    links.call_of.add(i, place);
    Call& call = links.calls[place];
    if (const std::uint32_t gpu = links.gpu_of_track[work.track]; call.gpu == Call::no_gpu && gpu != none)
      call.gpu = gpu & Call::no_gpu;
    const Slice& started = timeline.slices[call.slice];
    if (work.kind == SliceKind::copy && started.kind == SliceKind::transfer && started.end_ns() >= work.end_ns() &&
        (names.synchronous[started.name] || names.pageable[work.name]))
      call.waits = 1;
  }
}

/// Calls that wait: by their name, as a copy that was done when it returned, or by the record of a wait within.
void find_host_waits(const Timeline& timeline, Correlations& links) {
  links.host_waits.assign(timeline.slices.size(), false);
  std::unordered_set<std::uint64_t> recorded;
  for (const Slice& slice : timeline.slices)
    if (slice.kind == SliceKind::synchronization && slice.correlation != 0 && slice.duration_ns > 0 &&
        links.thread_of_track[slice.track] == none)
      recorded.insert(joined_key(timeline.tracks[slice.track].process, slice.correlation));
  for (const Call& call : links.calls)
    if (call.waits == 1) links.host_waits[call.slice] = true;
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (links.thread_of_track[slice.track] == none) continue;
    const bool is_call = slice.kind == SliceKind::call || slice.kind == SliceKind::transfer;
    if (slice.kind == SliceKind::synchronization ||
        (is_call && !recorded.empty() &&
         recorded.contains(joined_key(timeline.tracks[slice.track].process, slice.correlation))))
      links.host_waits[i] = true;
  }
}

/// Of each call the last wait before it on its thread.
void find_waits(const Timeline& timeline, Correlations& links) {
  std::vector<std::uint32_t> last(links.threads.size(), none);
  auto call = links.calls.begin();
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const std::uint32_t thread = links.thread_of_track[timeline.slices[i].track];
    if (call != links.calls.end() && call->slice == i) {
      call->wait = last[thread];
      ++call;
    }
    if (links.host_waits[i]) last[thread] = i;
  }
}

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

class TreeBuilder {
 public:
  TreeBuilder(const Timeline& timeline, const Correlations& links) : timeline_(timeline), links_(links) {
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
                 of_memory(slice.name)) {
        const std::uint32_t thread = links_.thread_of_track[slice.track];
        memory_calls_[links_.threads[thread].first].push_back({i, node_of(thread, slice.start_ns)});
      }
    }
    place_memory();
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& slice = timeline_.slices[i];
      if ((slice.kind != SliceKind::kernel && slice.kind != SliceKind::communication) || links_.call_of[i] == none)
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
    ++tree_.nodes[node].count;
    tree_.nodes[node].host_ns += slice.duration_ns;
    open.push({node, slice.end_ns()});
    if (auto& threads = with_ranges_[process]; threads.size() <= max_threads_with_ranges) threads.insert(thread);
  }

  /// Whether calls of this name take memory or give it back.
  bool of_memory(std::uint32_t name) {
    const auto [place, fresh] = of_memory_.try_emplace(name, false);
    if (fresh) {
      const std::string_view text = timeline_.names.text(name);
      place->second =
          std::ranges::any_of(std::to_array<std::string_view>({"Malloc", "Alloc", "Free", "MemCreate", "HostRegister"}),
                              [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
    }
    return place->second;
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
  RangeTree tree_;
  std::uint32_t others_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::unordered_map<std::uint32_t, OpenRanges> open_;                      // by thread
  std::unordered_map<std::uint32_t, std::set<std::uint32_t>> with_ranges_;  // by process
  struct MemoryCall {
    std::uint32_t slice, node;
  };
  std::unordered_map<std::uint32_t, std::vector<MemoryCall>> memory_calls_;  // by process
  std::unordered_map<std::uint32_t, bool> of_memory_;                        // by name
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

Correlations link(const Timeline& timeline) {
  check(timeline);
  Correlations links;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> gpus;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> threads;
  for (const Track& track : timeline.tracks) {
    const bool has_calls = track.kind == TrackKind::thread || track.kind == TrackKind::ranges;
    links.thread_of_track.push_back(has_calls ? place_of(threads, {track.process, track.id}, links.threads) : none);
    links.gpu_of_track.push_back(
        track.kind == TrackKind::stream ? place_of(gpus, {track.process, track.device}, links.gpus) : none);
  }
  links.call_of = CallOf(timeline.slices.size());
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    const std::uint32_t thread = links.thread_of_track[slice.track];
    if ((slice.kind == SliceKind::launch || slice.kind == SliceKind::transfer) && thread != none)
      links.calls.push_back({.slice = i});
  }
  tie_works(timeline, links);
  find_host_waits(timeline, links);
  find_waits(timeline, links);
  return links;
}

RangeTree range_tree(const Timeline& timeline, const Correlations& links, bool join_numbered) {
  return TreeBuilder(timeline, links).build(join_numbered);
}

std::vector<std::uint32_t> range_paths(const Timeline& timeline, StringPool& paths) {
  const Correlations links = link(timeline);
  const RangeTree tree = range_tree(timeline, links);
  std::vector<std::uint32_t> path_of_node;
  for (const RangeTree::Node& node : tree.nodes)
    path_of_node.push_back(node.depth < 0 ? 0 : paths.number(path_of(tree, node)));
  std::vector<std::uint32_t> result(timeline.slices.size(), 0);
  for (std::size_t i = 0; i < result.size(); ++i)
    if (links.call_of[i] != none) result[i] = path_of_node[tree.of_call[links.call_of[i]]];
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
    put(children[i]);
  }
  return result;
}

}  // namespace gpubench::timeline
