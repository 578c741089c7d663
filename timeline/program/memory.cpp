// SPDX-License-Identifier: Apache-2.0
#include "timeline/program/memory.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

#include "core/base/units.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t max_places = 512;
constexpr std::size_t buckets = max_places / 3;  // each keeps its first, its highest and its last place

struct Place {
  std::int64_t time_ns = 0, bytes = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// Live bytes over time, thinned out as they come: of each bucket of time at most three places.
class Curve {
 public:
  Curve(std::int64_t start, std::int64_t end) : start_(start), width_((end - start) / std::int64_t{buckets} + 1) {}

  void add(Place place) {
    auto& [first, highest, last] =
        buckets_.try_emplace((place.time_ns - start_) / width_, Bucket{place, place, place}).first->second;
    if (place.bytes > highest.bytes) highest = place;
    last = place;
  }

  [[nodiscard]] std::vector<Place> places() const {
    std::vector<Place> places;
    for (const auto& [number, bucket] : buckets_)
      for (const Place& place : bucket)
        if (places.empty() || places.back() != place) places.push_back(place);
    return places;
  }

 private:
  using Bucket = std::array<Place, 3>;
  std::int64_t start_, width_;
  std::map<std::int64_t, Bucket> buckets_;
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

MemoryChanges::MemoryChanges(const Timeline& timeline) {
  std::map<std::tuple<std::uint32_t, MemoryKind, std::uint64_t>, std::uint32_t> held;
  for (std::uint32_t i = 0; i < timeline.memory.size(); ++i) {
    const MemoryEvent& event = timeline.memory[i];
    bytes.push_back(event.bytes);
    ends.push_back(none);
    if (event.address == 0) continue;
    // The same address again was given back in between; memory from before the recording is not known.
    bytes.back() = std::max<std::int64_t>(event.bytes, 0);
    const std::tuple key(event.process, event.kind, event.address);
    if (const auto before = held.find(key); before != held.end()) {
      ends.back() = before->second;
      bytes.back() -= timeline.memory[before->second].bytes;
      held.erase(before);
    }
    if (event.bytes > 0) held.emplace(key, i);
  }
  for (const auto& [key, event] : held) never_ended.push_back(event);
}

void add_memory(RangeTree& tree, const Timeline& timeline, const MemoryChanges& changes) {
  const auto for_each_outer = [&](std::uint32_t event, const auto& change) {
    if (event == none || timeline.memory[event].bytes <= 0) return;
    for (std::uint32_t node = tree.of_memory[event]; node != none && tree.nodes[node].depth >= 0;
         node = tree.nodes[node].parent)
      change(tree.nodes[node], timeline.memory[event].bytes);
  };
  for (std::uint32_t i = 0; i < timeline.memory.size(); ++i) {
    for_each_outer(changes.ends[i], [](RangeTree::Node& node, std::int64_t bytes) { node.live_bytes -= bytes; });
    for_each_outer(i, [](RangeTree::Node& node, std::int64_t bytes) {
      ++node.allocations;
      node.allocated_bytes += bytes;
      node.live_bytes += bytes;
      node.peak_bytes = std::max(node.peak_bytes, node.live_bytes);
    });
  }
}

void add_memory(const Timeline& timeline, const MemoryChanges& changes, std::int64_t start_ns,
                const std::vector<std::string>& labels, Program& program) {
  using Kind = std::pair<std::uint32_t, MemoryKind>;
  std::map<Kind, std::pair<std::int64_t, std::int64_t>> spans;
  for (const MemoryEvent& event : timeline.memory) {
    const auto place = spans.emplace(Kind{event.process, event.kind}, std::pair(event.time_ns, event.time_ns)).first;
    place->second.second = std::max(place->second.second, event.time_ns);
  }
  std::map<Kind, Live> lives;
  for (const auto& [kind, span] : spans) lives.emplace(kind, Live{.curve = Curve(span.first, span.second)});
  for (std::size_t i = 0; i < timeline.memory.size(); ++i) {
    const MemoryEvent& event = timeline.memory[i];
    Live& live = lives.at({event.process, event.kind});
    if (event.bytes > 0) ++live.allocations;
    live.bytes = std::max<std::int64_t>(live.bytes + changes.bytes[i], 0);
    if (live.bytes > live.peak.bytes) live.peak = {event.time_ns, live.bytes};
    live.curve.add({event.time_ns, live.bytes});
  }
  std::map<std::pair<std::uint32_t, MemoryKind>, NeverFreed> never_freed;  // by source and kind
  for (const std::uint32_t i : changes.never_ended) {
    const MemoryEvent& event = timeline.memory[i];
    if (is_caching_allocator(timeline.names.text(event.source))) {
      lives.at({event.process, event.kind}).bytes -= event.bytes;
      continue;
    }
    NeverFreed& sum = never_freed[{event.source, event.kind}];
    ++sum.allocations;
    sum.bytes += event.bytes;
  }
  for (auto& [kind, live] : lives) {
    ProgramMemory memory;
    memory.process = labels[kind.first];
    memory.kind = memory_kind_names[static_cast<std::size_t>(kind.second)];
    memory.allocations = live.allocations;
    memory.peak_bytes = live.peak.bytes;
    if (live.peak.bytes > 0) memory.peak_seconds = seconds_of(live.peak.time_ns - start_ns);
    memory.never_freed_bytes = live.bytes;
    for (const Place& place : live.curve.places()) {
      memory.curve_seconds.push_back(seconds_of(place.time_ns - start_ns));
      memory.curve_bytes.push_back(place.bytes);
    }
    program.memory.push_back(std::move(memory));
  }
  for (auto& [source, sum] : never_freed) {
    sum.source = timeline.names.text(source.first);
    sum.kind = memory_kind_names[static_cast<std::size_t>(source.second)];
    program.never_freed.push_back(std::move(sum));
  }
  std::ranges::stable_sort(program.never_freed, std::ranges::greater(), &NeverFreed::bytes);
}

}  // namespace gpubench::timeline
