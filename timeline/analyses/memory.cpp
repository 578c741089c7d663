// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "timeline/analyses/parts.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t max_places = 512;
constexpr std::size_t buckets = max_places / 3;  // each keeps its first, its highest and its last place

struct Place {
  std::int64_t time_ns, bytes;
};

/// Live bytes over time, thinned out as they come: of each bucket of time at most three places.
class Curve {
 public:
  Curve(std::int64_t start, std::int64_t end) : start_(start), width_((end - start) / std::int64_t{buckets} + 1) {}

  void add(Place place) {
    const std::int64_t bucket = (place.time_ns - start_) / width_;
    if (bucket != bucket_) {
      flush();
      bucket_ = bucket;
      first_ = highest_ = place;
    } else if (place.bytes > highest_->bytes) {
      highest_ = place;
    }
    last_ = place;
  }

  std::vector<Place> take() {
    flush();
    return std::move(places_);
  }

 private:
  void flush() {
    const auto same = [](const Place& a, const Place& b) { return a.time_ns == b.time_ns && a.bytes == b.bytes; };
    for (const auto& place : {first_, highest_, last_})
      if (place && (places_.empty() || !same(places_.back(), *place))) places_.push_back(*place);
    first_ = highest_ = last_ = std::nullopt;
  }

  std::int64_t start_, width_;
  std::int64_t bucket_ = -1;
  std::optional<Place> first_, highest_, last_;
  std::vector<Place> places_;
};

/// Libraries that keep the memory they take, and hand it out themselves: nothing of it is lost.
bool is_caching_allocator(std::string_view library) {
  return std::ranges::any_of(
      std::to_array<std::string_view>({"libc10", "libtorch", "libtensorflow", "xla_", "libjax", "pjrt_", "cupy"}),
      [&](std::string_view name) { return library.starts_with(name); });
}

struct Live {
  std::int64_t allocations = 0;
  std::int64_t bytes = 0;
  Place peak = {0, 0};
  Curve curve;
};

}  // namespace

void add_memory(RangeTree& tree, const Timeline& timeline) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::pair<std::uint32_t, std::int64_t>> held;
  const auto for_each_outer = [&](std::uint32_t node, const auto& change) {
    for (; node != none && tree.nodes[node].depth >= 0; node = tree.nodes[node].parent) change(tree.nodes[node]);
  };
  for (std::size_t i = 0; i < timeline.memory.size(); ++i) {
    const MemoryEvent& event = timeline.memory[i];
    const auto before = held.find({event.process, event.address});
    if (event.address != 0 && before != held.end()) {
      for_each_outer(before->second.first, [&](RangeTree::Node& node) { node.live_bytes -= before->second.second; });
      held.erase(before);
    }
    if (event.bytes <= 0 || tree.of_memory[i] == none) continue;
    for_each_outer(tree.of_memory[i], [&](RangeTree::Node& node) {
      ++node.allocations;
      node.allocated_bytes += event.bytes;
      node.live_bytes += event.bytes;
      node.peak_bytes = std::max(node.peak_bytes, node.live_bytes);
    });
    if (event.address != 0)
      held.emplace(std::pair(event.process, event.address), std::pair(tree.of_memory[i], event.bytes));
  }
}

void add_memory(const Timeline& timeline, std::int64_t start_ns, const std::vector<std::string>& labels,
                Program& program) {
  using Kind = std::pair<std::uint32_t, MemoryKind>;
  std::map<Kind, std::pair<std::int64_t, std::int64_t>> spans;
  for (const MemoryEvent& event : timeline.memory) {
    const auto place = spans.emplace(Kind{event.process, event.kind}, std::pair(event.time_ns, event.time_ns)).first;
    place->second.second = std::max(place->second.second, event.time_ns);
  }
  std::map<Kind, Live> lives;
  for (const auto& [kind, span] : spans) lives.emplace(kind, Live{.curve = Curve(span.first, span.second)});
  // What is held, by kind and address. Memory whose address is not known counts by its bytes alone.
  std::map<Kind, std::unordered_map<std::uint64_t, const MemoryEvent*>> held;
  std::map<std::tuple<std::uint32_t, MemoryKind>, NeverFreed> never_freed;  // by source and kind
  for (const MemoryEvent& event : timeline.memory) {
    const Kind kind{event.process, event.kind};
    Live& live = lives.at(kind);
    std::int64_t change = event.bytes;
    if (event.address != 0) {
      auto& held_here = held[kind];
      const auto before = held_here.find(event.address);
      // The same address again was given back in between; memory from before the recording is not known.
      const std::int64_t given_back = before == held_here.end() ? 0 : before->second->bytes;
      change = std::max<std::int64_t>(event.bytes, 0) - given_back;
      if (before != held_here.end()) held_here.erase(before);
      if (event.bytes > 0) held_here.emplace(event.address, &event);
    }
    if (event.bytes > 0) ++live.allocations;
    live.bytes = std::max<std::int64_t>(live.bytes + change, 0);
    if (live.bytes > live.peak.bytes) live.peak = {event.time_ns, live.bytes};
    live.curve.add({event.time_ns, live.bytes});
  }
  for (const auto& [kind, here] : held)
    for (const auto& [address, event] : here) {
      if (is_caching_allocator(timeline.names.text(event->source))) {
        lives.at(kind).bytes -= event->bytes;
        continue;
      }
      NeverFreed& sum = never_freed[{event->source, kind.second}];
      ++sum.allocations;
      sum.bytes += event->bytes;
    }
  for (auto& [kind, live] : lives) {
    ProgramMemory memory;
    memory.process = labels[kind.first];
    memory.kind = memory_kind_names[static_cast<std::size_t>(kind.second)];
    memory.allocations = live.allocations;
    memory.peak_bytes = live.peak.bytes;
    if (live.peak.bytes > 0) memory.peak_seconds = seconds_of(live.peak.time_ns - start_ns);
    memory.never_freed_bytes = live.bytes;
    for (const Place& place : live.curve.take()) {
      memory.curve_seconds.push_back(seconds_of(place.time_ns - start_ns));
      memory.curve_bytes.push_back(place.bytes);
    }
    program.memory.push_back(std::move(memory));
  }
  for (auto& [source, sum] : never_freed) {
    sum.source = timeline.names.text(std::get<0>(source));
    sum.kind = memory_kind_names[static_cast<std::size_t>(std::get<1>(source))];
    program.never_freed.push_back(std::move(sum));
  }
  std::ranges::stable_sort(program.never_freed, std::ranges::greater(), &NeverFreed::bytes);
}

}  // namespace gpubench::timeline
