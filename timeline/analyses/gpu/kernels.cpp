// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/gpu/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/units.h"
#include "timeline/analysis.h"
#include "timeline/names.h"
#include "timeline/structure/range_tree.h"

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

std::vector<KernelTime> kernel_times(const Linked& linked, KernelsBy by, StringPool* paths) {
  const Timeline& timeline = linked.timeline;
  std::vector<Alone> alone(linked.links.gpus.size());
  std::vector<std::uint32_t> path_of;
  if (by == KernelsBy::range) path_of = range_paths(linked, *paths);
  std::unordered_map<std::uint64_t, std::size_t> places;  // by name and place
  std::vector<KernelTime> times;
  std::vector<std::vector<std::int64_t>> durations;
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    const std::uint32_t gpu = linked.gpu_of(slice);
    if (gpu == none) continue;
    const std::uint32_t at = by == KernelsBy::stream ? slice.track : by == KernelsBy::range ? path_of[i] : 0;
    const auto [place, added] = places.emplace(joined_key(slice.name, at), times.size());
    if (added) {
      times.push_back({.name = slice.name, .place = at, .kind = slice.kind, .durations_ns = {}});
      durations.emplace_back();
    }
    times[place->second].total_ns += slice.duration_ns;
    alone[gpu].add(slice, place->second, times);
    durations[place->second].push_back(slice.duration_ns);
  }
  for (const Alone& one : alone) one.settle(std::numeric_limits<std::int64_t>::max(), times);
  for (std::size_t i = 0; i < times.size(); ++i) times[i].durations_ns = distribution_of(durations[i]);
  std::ranges::stable_sort(times, std::ranges::greater(), &KernelTime::total_ns);
  return times;
}

ResultTable kernel_table(const Timeline& timeline, const std::vector<KernelTime>& kernels, KernelsBy by,
                         const StringPool& paths) {
  const bool by_stream = by == KernelsBy::stream, by_range = by == KernelsBy::range;
  ResultTable table{
      "kernels", columns_of(fmt::format(
                     "name:kernel=kernel, copy or fill|(none); kind; {}count=calls; total_seconds=total; share=share; "
                     "self_seconds=self~2; mean_seconds; min_seconds; p50_seconds=p50~4; p95_seconds=p95~3; "
                     "p99_seconds=p99~1; max_seconds",
                     by_range    ? "range=range|(none); "
                     : by_stream ? "gpu; stream; =stream; "
                                 : ""))};
  std::int64_t all = 0;
  for (const KernelTime& kernel : kernels) all += kernel.total_ns;
  for (const KernelTime& kernel : kernels) {
    std::vector<Value> row = {timeline.names.text(kernel.name), std::string(name_of(kernel.kind))};
    if (by_range) row.emplace_back(paths.text(kernel.place));
    if (by_stream) {
      const Track& track = timeline.tracks[kernel.place];
      const std::string gpu = gpu_name(timeline, track.process, track.device);
      row.insert(row.end(),
                 {gpu, track.id,
                  fmt::format("{} {}", gpu, track.name.empty() ? fmt::format("stream {}", track.id) : track.name)});
    }
    const Distribution& took = kernel.durations_ns;
    row.insert(row.end(),
               {took.count, seconds_of(kernel.total_ns),
                all > 0 ? Value(static_cast<double>(kernel.total_ns) / static_cast<double>(all)) : Absent{"no time"},
                seconds_of(kernel.self_ns), took.mean / 1e9, took.min / 1e9, took.p50 / 1e9, took.p95 / 1e9,
                took.p99 / 1e9, took.max / 1e9});
    table.rows.push_back(std::move(row));
  }
  return table;
}

namespace {

std::vector<ResultTable> kernel_tables(const Linked& linked, std::string_view by) {
  if (by == "operator") return tables_of(linked, "operators");
  const KernelsBy how = by == "stream" ? KernelsBy::stream : by == "range" ? KernelsBy::range : KernelsBy::name;
  StringPool paths;
  const auto kernels = kernel_times(linked, how, &paths);
  return {kernel_table(linked.timeline, kernels, how, paths)};
}

}  // namespace

extern const Analysis kernels_analysis{
    "kernels",
    "List kernels, copies and fills by their time",
    kernel_tables,
    "name|stream|range|operator",
    "What to sum up by: the name of the kernel; that on each stream, or in each range; or "
    "the framework's operator that launched it.",
    true};

}  // namespace gpubench::timeline
