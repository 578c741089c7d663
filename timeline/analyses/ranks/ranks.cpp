// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/ranks/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "timeline/analysis.h"
#include "timeline/names.h"

namespace gpubench::timeline {

Stragglers stragglers(const Timeline& timeline) {
  Stragglers result;
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::uint32_t>>> by_name;  // then by process
  std::vector<std::uint32_t> processes;
  std::vector<std::uint32_t> place(timeline.processes.size(), none);
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    const Track& track = timeline.tracks.at(slice.track);
    if (slice.kind != SliceKind::communication || track.kind != TrackKind::stream) continue;
    if (place[track.process] == none) {
      place[track.process] = 0;
      processes.push_back(track.process);
    }
    by_name[slice.name][track.process].push_back(i);
  }
  if (processes.empty()) result.reason = "there is no communication between GPUs";
  if (processes.size() == 1) result.reason = "the traces are of one rank: give those of all";
  if (processes.size() < 2) return result;
  std::ranges::sort(processes);
  for (std::uint32_t i = 0; i < processes.size(); ++i) {
    place[processes[i]] = i;
    result.ranks.push_back({.process = processes[i]});
  }
  std::vector<std::vector<std::uint32_t>> together;  // of each collective its slices by rank
  for (const auto& [name, of_process] : by_name) {
    std::size_t count = of_process.size() == processes.size() ? std::numeric_limits<std::size_t>::max() : 0, all = 0;
    for (const auto& [process, slices] : of_process) {
      count = std::min(count, slices.size());
      all += slices.size();
    }
    // They end together. Before that a rank may have more: what was still at work when the recording began.
    result.unmatched += static_cast<std::int64_t>(all - count * of_process.size());
    for (std::size_t k = count; k > 0; --k) {
      auto& slices = together.emplace_back();
      for (const auto& [process, of_rank] : of_process) slices.push_back(of_rank[of_rank.size() - k]);
    }
  }
  const auto slice_of = [&](std::uint32_t i) -> const Slice& { return timeline.slices[i]; };
  for (std::size_t rank = 1; rank < processes.size() && !together.empty(); ++rank) {
    std::vector<std::int64_t> differences;
    differences.reserve(together.size());
    for (const auto& slices : together)
      differences.push_back(slice_of(slices[rank]).end_ns() - slice_of(slices[0]).end_ns());
    const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
    std::ranges::nth_element(differences, middle);
    if (std::abs(*middle) > Stragglers::same_clock_ns) result.ranks[rank].clock_ns = *middle;
  }
  for (auto& slices : together) {
    Collective one;
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = std::numeric_limits<std::int64_t>::min();
    std::int64_t first_end = first;
    for (std::uint32_t rank = 0; rank < slices.size(); ++rank) {
      const std::int64_t start = slice_of(slices[rank]).start_ns - result.ranks[rank].clock_ns;
      first = std::min(first, start);
      first_end = std::min(first_end, slice_of(slices[rank]).end_ns() - result.ranks[rank].clock_ns);
      if (start > last) one.last = rank;
      last = std::max(last, start);
    }
    // Partners run at the same time for a while; what does not was of other groups, or one of them is not recorded.
    if (last > first_end) {
      result.unmatched += static_cast<std::int64_t>(slices.size());
      continue;
    }
    one.waited_ns = last - first;
    ++result.ranks[one.last].last;
    for (std::uint32_t rank = 0; rank < slices.size(); ++rank) {
      const std::int64_t waited = last - (slice_of(slices[rank]).start_ns - result.ranks[rank].clock_ns);
      result.ranks[rank].waited_ns += waited;
      result.ranks[one.last].kept_waiting_ns += waited;
    }
    one.slices = std::move(slices);
    result.collectives.push_back(std::move(one));
  }
  std::ranges::sort(result.collectives, {}, [&](const Collective& one) { return one.slices.front(); });
  if (result.collectives.empty()) result.reason = "no collective has a partner in every rank";
  return result;
}

namespace {

std::vector<ResultTable> rank_tables(const Linked& linked, std::string_view /*by*/) {
  const Stragglers all = stragglers(linked.timeline);
  ResultTable table{
      "ranks",
      columns_of("process=rank; collectives:count=collectives; entered_last:count=entered last; waited_seconds=waited; "
                 "kept_others_waiting_seconds=kept others waiting; clock_ahead_seconds")};
  table.title = "Collectives: who waits for whom";
  if (!all.reason.empty()) table.none = fmt::format("Nothing is known of ranks: {}.", all.reason);
  const auto labels = process_labels(linked.timeline);
  for (const RankWait& rank : all.ranks)
    if (all.reason.empty())
      table.add({labels[rank.process], static_cast<std::int64_t>(all.collectives.size()), rank.last,
                 seconds_of(rank.waited_ns), seconds_of(rank.kept_waiting_ns), seconds_of(rank.clock_ns)});
  if (std::ranges::any_of(all.ranks, [](const RankWait& rank) { return rank.clock_ns != 0; }))
    table.notes.emplace_back("The ranks' clocks differ; they are set by the ends of the collectives.");
  if (all.unmatched > 0)
    table.notes.push_back(
        fmt::format("{} found no partner in every rank and are left out.", plural(all.unmatched, "collective")));
  return {std::move(table)};
}

}  // namespace

extern const Analysis ranks_analysis{"ranks", "Say who waits for whom in collectives", rank_tables};

}  // namespace gpubench::timeline
