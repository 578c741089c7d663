// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/kernels.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "timeline/analyses/analyses.h"
#include "timeline/analyses/parts.h"

namespace gpubench::timeline {
namespace {

/// The time in which a slice was alone on a GPU, for the name it has: a sweep over the GPU's slices by start.
class Alone {
 public:
  /// What ran until this slice is settled: it was alone only after all others so far had ended.
  void add(const Slice& slice, std::size_t time, std::vector<KernelTime>& times) {
    settle(slice.start_ns, times);
    settled_ = slice.start_ns;
    if (slice.end_ns() >= last_end_) {
      other_end_ = last_end_;
      last_end_ = slice.end_ns();
      last_ = time;
    } else {
      other_end_ = std::max(other_end_, slice.end_ns());
    }
  }
  void settle(std::int64_t until, std::vector<KernelTime>& times) const {
    const std::int64_t begin = std::max(settled_, other_end_), end = std::min(until, last_end_);
    if (end > begin) times[last_].self_ns += end - begin;
  }

 private:
  std::int64_t last_end_ = never, other_end_ = never;  // of all so far, and of all but the one that ends last
  std::int64_t settled_ = never;
  std::size_t last_ = 0;  // in the table
};

}  // namespace

std::vector<KernelTime> kernel_times(const Timeline& timeline, const Correlations& links, KernelsBy by, StringPool* paths) {
  std::vector<Alone> alone(links.gpus.size());
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
    times[place->second].total_ns += slice.duration_ns;
    alone[links.gpu_of_track[slice.track]].add(slice, place->second, times);
    durations[place->second].push_back(slice.duration_ns);
  }
  for (const Alone& gpu : alone) gpu.settle(std::numeric_limits<std::int64_t>::max(), times);
  for (std::size_t i = 0; i < times.size(); ++i) times[i].durations_ns = distribution_of(std::move(durations[i]));
  std::ranges::stable_sort(times, std::ranges::greater(), &KernelTime::total_ns);
  return times;
}

std::vector<KernelTime> kernel_times(const Timeline& timeline, KernelsBy by, StringPool* paths) {
  return kernel_times(timeline, link(timeline), by, paths);
}

}  // namespace gpubench::timeline
