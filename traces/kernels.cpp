// SPDX-License-Identifier: Apache-2.0
#include "traces/kernels.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "traces/analyses.h"
#include "traces/parts.h"

namespace gpubench::traces {
namespace {

/// Of each slice on a GPU the time in which no other work ran on it: a sweep over each GPU's slices by start.
std::vector<std::int64_t> time_alone(const Timeline& timeline, const Links& links) {
  std::vector<std::int64_t> alone(timeline.slices.size(), 0);
  // Of what was seen so far: the end of all, and of all but the one that ends last.
  struct Seen {
    std::int64_t last_end = std::numeric_limits<std::int64_t>::min();
    std::int64_t other_end = std::numeric_limits<std::int64_t>::min();
    std::uint32_t last = none;
  };
  std::vector<Seen> gpus(links.gpus.size());
  // From the next start on, a slice is alone only after all others so far have ended: what is alone is settled between
  // two neighbouring starts, and belongs to the one that ends last.
  const auto settle = [&](Seen& seen, std::int64_t from, std::int64_t to) {
    if (seen.last == none) return;
    const std::int64_t begin = std::max(from, seen.other_end);
    const std::int64_t end = std::min(to, seen.last_end);
    if (end > begin) alone[seen.last] += end - begin;
  };
  std::vector<std::int64_t> settled(gpus.size(), std::numeric_limits<std::int64_t>::min());
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    const std::uint32_t gpu = links.gpu_of_track[slice.track];
    if (!occupies_gpu(slice.kind) || gpu == none) continue;
    Seen& seen = gpus[gpu];
    settle(seen, settled[gpu], slice.start_ns);
    settled[gpu] = slice.start_ns;
    if (slice.end_ns() >= seen.last_end) {
      seen.other_end = seen.last_end;
      seen.last_end = slice.end_ns();
      seen.last = i;
    } else {
      seen.other_end = std::max(seen.other_end, slice.end_ns());
    }
  }
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu)
    settle(gpus[gpu], settled[gpu], std::numeric_limits<std::int64_t>::max());
  return alone;
}

}  // namespace

std::vector<KernelTime> kernel_times(const Timeline& timeline, const Links& links, KernelsBy by, Names* paths) {
  const std::vector<std::int64_t> alone = time_alone(timeline, links);
  std::vector<std::uint32_t> path_of;
  if (by == KernelsBy::range) path_of = range_paths(timeline, *paths);
  struct Key {
    std::uint32_t name, place;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>()(std::uint64_t{key.name} << 32U | key.place);
    }
  };
  std::unordered_map<Key, std::size_t, Hash> places;
  std::vector<KernelTime> times;
  std::vector<std::vector<std::int64_t>> durations;
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (!occupies_gpu(slice.kind) || links.gpu_of_track[slice.track] == none) continue;
    const std::uint32_t at = by == KernelsBy::stream ? slice.track : by == KernelsBy::range ? path_of[i] : 0;
    const auto [place, added] = places.emplace(Key{slice.name, at}, times.size());
    if (added) {
      times.push_back({.name = slice.name, .place = at, .kind = slice.kind, .durations_ns = {}});
      durations.emplace_back();
    }
    KernelTime& time = times[place->second];
    time.total_ns += slice.duration_ns;
    time.self_ns += alone[i];
    durations[place->second].push_back(slice.duration_ns);
  }
  for (std::size_t i = 0; i < times.size(); ++i) times[i].durations_ns = distribution_of(std::move(durations[i]));
  std::ranges::stable_sort(times, std::ranges::greater(), &KernelTime::total_ns);
  return times;
}

std::vector<KernelTime> kernel_times(const Timeline& timeline, KernelsBy by, Names* paths) {
  return kernel_times(timeline, link(timeline), by, paths);
}

}  // namespace gpubench::traces
