// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/steps/iterations.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "core/base/units.h"
#include "timeline/analysis.h"
#include "timeline/names.h"
#include "timeline/structure/range_tree.h"
#include "timeline/structure/repeats.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t min_repeats = 3;
constexpr double min_cover = 0.5;  // of the time in which the process launches
constexpr double min_cover_beside_optimizer = 0.8;
constexpr double min_share_behind_setup =
    0.8;  // of the kernels' time, and of the time from the first of them to the last
constexpr std::int64_t max_weight = std::numeric_limits<std::uint32_t>::max();

/// Ranges of one stem on one thread.
struct StemRanges {
  std::vector<Iteration> all;
  std::int64_t covered = 0;
  bool overlaps = false;
};

/// Process and thread, and the stem of the names.
using Stem = std::pair<std::uint32_t, std::string_view>;

std::map<Stem, StemRanges> candidates(const Timeline& timeline, const Correlations& links) {
  std::map<Stem, StemRanges> result;
  for (const Slice& slice : timeline.slices) {
    const std::uint32_t thread = links.thread_of_track[slice.track];
    if (slice.kind != SliceKind::range || thread == none) continue;
    StemRanges& candidate = result[{thread, stem_of(timeline.names.text(slice.name))}];
    if (!candidate.all.empty() && slice.start_ns < candidate.all.back().end_ns) candidate.overlaps = true;
    candidate.all.push_back({.start_ns = slice.start_ns, .end_ns = slice.end_ns()});
    candidate.covered += slice.duration_ns;
  }
  return result;
}

/// The work of one process by start: names, and places in the timeline.
struct Sequence {
  std::vector<std::uint32_t> names, slices;
};

/// To the one of this time.
void add_work(const Slice& work, std::int64_t time_ns, Iterations& to) {
  const std::int64_t place = to.at(time_ns);
  if (place < 0) return;
  ++to.all[static_cast<std::size_t>(place)].works;
  to.all[static_cast<std::size_t>(place)].work_ns += work.duration_ns;
}

/// Kernels of several GPUs stand in another order in each turn.
Sequence of_busiest_gpu(const Timeline& timeline, const Sequence& all) {
  std::map<std::int64_t, std::int64_t> busy_ns;
  const auto device_of = [&](std::uint32_t i) { return timeline.tracks[timeline.slices[i].track].device; };
  for (const std::uint32_t i : all.slices) busy_ns[device_of(i)] += timeline.slices[i].duration_ns;
  if (busy_ns.size() < 2) return all;
  const auto busiest = std::ranges::max_element(busy_ns, {}, [](const auto& one) { return one.second; });
  Sequence result;
  for (std::size_t k = 0; k < all.slices.size(); ++k) {
    if (device_of(all.slices[k]) != busiest->first) continue;
    result.names.push_back(all.names[k]);
    result.slices.push_back(all.slices[k]);
  }
  return result;
}

Iterations by_period(const Timeline& timeline, const Sequence& of_all_gpus) {
  const Sequence sequence = of_busiest_gpu(timeline, of_all_gpus);
  Iterations result;
  // Kernels tell what repeats. Copies weigh next to nothing, as uploads at the start may take longer than all else, and
  // so does communication, which lasts until the last rank is there.
  std::vector<std::uint32_t> weights;
  for (const std::uint32_t i : sequence.slices) {
    const Slice& slice = timeline.slices[i];
    weights.push_back(slice.kind == SliceKind::kernel
                          ? static_cast<std::uint32_t>(std::clamp<std::int64_t>(slice.duration_ns, 1, max_weight))
                          : 1);
  }
  const std::vector<Repeat> turns = repeats(sequence.names, weights);
  if (turns.empty()) return result;
  std::size_t end = 0;  // of the turn before
  for (const Repeat& turn : turns) {
    Iteration iteration;
    iteration.start_ns = timeline.slices[sequence.slices[turn.first]].start_ns;
    for (std::size_t i = turn.first; i < turn.end(); ++i) {
      const Slice& slice = timeline.slices[sequence.slices[i]];
      iteration.end_ns = std::max(iteration.end_ns, slice.end_ns());
      iteration.work_ns += slice.duration_ns;
      ++iteration.works;
    }
    if (!result.all.empty() && turn.first == end) result.all.back().end_ns = iteration.start_ns;
    result.all.push_back(iteration);
    end = turn.end();
  }
  if (sequence.slices.size() < of_all_gpus.slices.size()) {
    for (Iteration& one : result.all) one.works = one.work_ns = 0;
    for (const std::uint32_t i : of_all_gpus.slices) add_work(timeline.slices[i], timeline.slices[i].start_ns, result);
  }
  const std::size_t size = turns[turns.size() / 2].size;
  result.by = size == 1 ? "a kernel that repeats" : fmt::format("{} kernels, copies and fills that repeat", size);
  result.of_work = true;
  return result;
}

/// Counts the work launched in each.
void add_works(const Linked& linked, const Sequence& sequence, Iterations& to) {
  for (const std::uint32_t i : sequence.slices) {
    const Slice& slice = linked.timeline.slices[i];
    const Slice* const call = linked.call_of(i);
    add_work(slice, call == nullptr ? slice.start_ns : call->start_ns, to);
  }
}

/// Whether the ranges follow one another closely and launch most of what the kernels take: the steps of a program that
/// took longer to set up.
bool launch_most(const Linked& linked, const Sequence& sequence, const StemRanges& candidate) {
  const std::int64_t from = candidate.all.front().start_ns, to = candidate.all.back().end_ns;
  if (static_cast<double>(candidate.covered) < min_share_behind_setup * static_cast<double>(to - from)) return false;
  Iterations ranges;
  ranges.all = candidate.all;
  std::int64_t within = 0, whole = 0;
  for (const std::uint32_t i : sequence.slices) {
    const Slice& slice = linked.timeline.slices[i];
    if (slice.kind != SliceKind::kernel) continue;
    const Slice* const call = linked.call_of(i);
    whole += slice.duration_ns;
    if (ranges.at(call == nullptr ? slice.start_ns : call->start_ns) >= 0) within += slice.duration_ns;
  }
  return whole > 0 && static_cast<double>(within) >= min_share_behind_setup * static_cast<double>(whole);
}

/// Of several that take turns, such as those of two optimizers, each round as one.
void join_rounds(Iterations& iterations) {
  constexpr std::size_t most_in_turn = 4;
  const auto& all = iterations.all;
  const auto alike = [&](std::size_t apart) {
    std::size_t count = 0;
    for (std::size_t k = apart; k < all.size(); ++k) {
      const auto [fewer, more] = std::minmax(all[k].works, all[k - apart].works);
      if (static_cast<double>(fewer) >= 0.95 * static_cast<double>(more)) ++count;
    }
    return 5 * count >= 4 * (all.size() - std::min(apart, all.size()));
  };
  std::size_t round = 1;
  while (round <= most_in_turn && !alike(round)) ++round;
  if (round == 1 || round > most_in_turn || all.size() / round < min_repeats) return;
  std::vector<Iteration> joined;
  for (std::size_t k = all.size() % round; k < all.size(); k += round) {
    Iteration one = all[k];
    for (std::size_t i = k + 1; i < k + round; ++i) {
      one.end_ns = all[i].end_ns;
      one.works += all[i].works;
      one.work_ns += all[i].work_ns;
    }
    joined.push_back(one);
  }
  iterations.all = std::move(joined);
}

/// From the end of an optimizer's step to the end of the next: the same on each rank, whatever its kernels wait for.
/// `name` as `gpubench profile --torch` and PyTorch's profiler have it: "AdamW.step", "Optimizer.step#AdamW.step".
Iterations by_optimizer(const Linked& linked, const Sequence& sequence, std::string_view name,
                        const StemRanges& steps) {
  Iterations result;
  result.by = fmt::format("range {}, from end to end", name);
  for (std::size_t k = 1; k < steps.all.size(); ++k)
    result.all.push_back({.start_ns = steps.all[k - 1].end_ns, .end_ns = steps.all[k].end_ns});
  add_works(linked, sequence, result);
  join_rounds(result);
  return result;
}

}  // namespace

std::int64_t Iterations::slow() const {
  return std::ranges::count_if(all, [&](const Iteration& one) {
    return static_cast<double>(one.end_ns - one.start_ns) > slow_factor * duration_ns.p50;
  });
}

std::int64_t Iterations::at(std::int64_t time_ns) const {
  const auto next = std::ranges::upper_bound(all, time_ns, {}, &Iteration::start_ns);
  if (next == all.begin() || (next - 1)->end_ns <= time_ns) return -1;
  return next - 1 - all.begin();
}

std::vector<Iterations> iterations(const Linked& linked) {
  const Timeline& timeline = linked.timeline;
  const Correlations& links = linked.links;
  const auto found = candidates(timeline, links);
  std::vector<Sequence> work(timeline.processes.size());
  std::vector<std::pair<std::int64_t, std::int64_t>> spans(
      work.size(), {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()});
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (!linked.works(slice)) continue;
    const std::uint32_t process = timeline.tracks[slice.track].process;
    work[process].names.push_back(slice.name);
    work[process].slices.push_back(i);
    const Slice* const call = linked.call_of(i);
    const std::int64_t start = call == nullptr ? slice.start_ns : call->start_ns;
    spans[process].first = std::min(spans[process].first, start);
    spans[process].second = std::max(spans[process].second, start);
  }
  std::vector<Iterations> result;
  for (std::uint32_t process = 0; process < work.size(); ++process) {
    const double span =
        work[process].names.empty() ? 0.0 : static_cast<double>(spans[process].second - spans[process].first);
    const StemRanges *best = nullptr, *optimizer = nullptr;
    bool best_launches_most = false;
    std::string by;
    std::string_view optimizer_name;
    for (const auto& [stem, candidate] : found) {
      if (links.threads[stem.first].first != process || candidate.overlaps) continue;
      if (stem.second == "ProfilerStep#" && candidate.all.size() >= 2) {
        best = &candidate;
        by = "ProfilerStep";
        break;
      }
      if (stem.second.ends_with(".step") && candidate.all.size() > min_repeats &&
          (optimizer == nullptr || candidate.covered > optimizer->covered)) {
        optimizer = &candidate;
        optimizer_name = stem.second;
      }
      const auto covered = static_cast<double>(candidate.covered);
      if (candidate.all.size() < min_repeats || work[process].names.empty()) continue;
      const bool launches_most = launch_most(linked, work[process], candidate);
      if (!launches_most && (covered < min_cover * span || best_launches_most)) continue;
      // One that launches most of the work, else the one that covers most; of those within 5 % the one with fewer,
      // which are the outer ones. The first calls of a model may last longer than all steps.
      if (best != nullptr && launches_most == best_launches_most &&
          covered < 1.05 * static_cast<double>(best->covered) &&
          (covered < 0.95 * static_cast<double>(best->covered) || candidate.all.size() >= best->all.size()))
        continue;
      best = &candidate;
      best_launches_most = launches_most;
      by = fmt::format("range {}", without_separators(stem.second));
    }
    // A forward pass may have half of the time on one rank, and less on another.
    if (optimizer != nullptr && by != "ProfilerStep" && best != nullptr &&
        static_cast<double>(best->covered) < min_cover_beside_optimizer * span && !best_launches_most)
      best = nullptr;
    Iterations here;
    if (best != nullptr) {
      here.by = by;
      here.all = best->all;
      add_works(linked, work[process], here);
    } else if (optimizer != nullptr) {
      here = by_optimizer(linked, work[process], optimizer_name, *optimizer);
    } else {
      here = by_period(timeline, work[process]);
    }
    if (here.all.empty()) continue;
    here.process = process;
    std::vector<std::int64_t> durations;
    for (const Iteration& one : here.all) durations.push_back(one.end_ns - one.start_ns);
    here.duration_ns = distribution_of(durations);
    result.push_back(std::move(here));
  }
  return result;
}

namespace {

std::vector<ResultTable> iteration_tables(const Linked& linked, std::string_view /*by*/) {
  ResultTable table{"iterations",
                    columns_of(std::string(linked.timeline.processes.size() > 1 ? "process=process" : "process") +
                               "; by=iterations; count=count; median_seconds=median; min_seconds=min; "
                               "max_seconds=max; slow:count=slow")};
  table.shown = 8;
  table.none = "Nothing repeats itself often enough to be iterations.";
  ResultTable each{"each_iteration", columns_of("process; start_seconds; seconds; works; work_seconds")};
  each.shown = 0;
  add_columns(table, "duration", "seconds");
  const auto labels = process_labels(linked.timeline);
  for (const Iterations& one : iterations(linked)) {
    const Distribution& took = one.duration_ns;
    auto& row = table.add(
        {labels[one.process], one.by, took.count, took.p50 / 1e9, took.min / 1e9, took.max / 1e9, one.slow()});
    add_values(row, took, 1e9);
    for (const Iteration& of : one.all)
      each.add({labels[one.process], seconds_of(of.start_ns), seconds_of(of.end_ns - of.start_ns), of.works,
                seconds_of(of.work_ns)});
  }
  return {std::move(table), std::move(each)};
}

}  // namespace

extern const Analysis iterations_analysis{"iterations", "List what repeats itself, and how its time varies",
                                          iteration_tables};

}  // namespace gpubench::timeline
