// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/ranks/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/base/units.h"
#include "core/statistics/statistics.h"
#include "timeline/analysis.h"
#include "timeline/names.h"

namespace gpubench::timeline {

namespace {

/// The collectives of one name, by rank in the order of time.
using ByRank = std::vector<std::vector<std::uint32_t>>;

/// How far each rank's clock is ahead of the first one's, if all recorded the same to the end: before it a rank may
/// have more, what was still at work when the recording began.
std::vector<std::int64_t> clocks_by_ends(const Timeline& timeline, const std::vector<ByRank>& names,
                                         std::size_t ranks) {
  std::vector<std::int64_t> clocks(ranks);
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    std::vector<std::int64_t> differences;
    for (const ByRank& slices : names)
      for (std::size_t k = 1; k <= std::min(slices[0].size(), slices[rank].size()); ++k)
        differences.push_back(timeline.slices[slices[rank][slices[rank].size() - k]].end_ns() -
                              timeline.slices[slices[0][slices[0].size() - k]].end_ns());
    const std::int64_t ahead = statistics::upper_median(std::move(differences)).value_or(0);
    if (std::abs(ahead) > Stragglers::same_clock_ns) clocks[rank] = ahead;
  }
  return clocks;
}

/// Partners run together for at least half of the shortest, that of who came last. A recording may have gaps: what ends
/// first among the next of each rank, and does not run with them, has no partner.
std::vector<Collective> together(const Timeline& timeline, const ByRank& slices,
                                 const std::vector<std::int64_t>& clocks) {
  std::vector<Collective> found;
  std::vector<std::size_t> next(slices.size());
  const auto at_end = [&](std::size_t rank) { return next[rank] == slices[rank].size(); };
  const auto any_at_end = [&] {
    for (std::size_t rank = 0; rank < slices.size(); ++rank)
      if (at_end(rank)) return true;
    return false;
  };
  while (!any_at_end()) {
    Collective one;
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    std::int64_t first = most, last = std::numeric_limits<std::int64_t>::min(), first_end = most, shortest = most;
    std::size_t ends_first = 0;
    for (std::size_t rank = 0; rank < slices.size(); ++rank) {
      const Slice& slice = timeline.slices[slices[rank][next[rank]]];
      const std::int64_t start = slice.start_ns - clocks[rank], end = slice.end_ns() - clocks[rank];
      one.slices.push_back(slices[rank][next[rank]]);
      first = std::min(first, start);
      if (start > last) one.last = static_cast<std::uint32_t>(rank);
      last = std::max(last, start);
      if (end < first_end) ends_first = rank;
      first_end = std::min(first_end, end);
      shortest = std::min(shortest, slice.duration_ns);
    }
    one.waited_ns = last - first;
    if (first_end - last < shortest / 2) {
      ++next[ends_first];
      continue;
    }
    found.push_back(std::move(one));
    for (std::size_t& each : next) ++each;
  }
  return found;
}

}  // namespace

Stragglers stragglers(const Timeline& timeline) {
  Stragglers result;
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::uint32_t>>> by_name;  // then by process
  std::set<std::uint32_t> processes;
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    const Track& track = timeline.tracks.at(slice.track);
    if (slice.kind != SliceKind::communication || track.kind != TrackKind::stream) continue;
    processes.insert(track.process);
    by_name[slice.name][track.process].push_back(i);
    ++result.unmatched;  // until it is
  }
  if (processes.empty()) result.reason = "there is no communication between GPUs";
  if (processes.size() == 1) result.reason = "the traces are of one rank: give those of all";
  if (processes.size() < 2) {
    result.unmatched = 0;
    return result;
  }
  for (const std::uint32_t process : processes) result.ranks.push_back({.process = process});
  std::vector<ByRank> names;
  for (auto& [name, of_process] : by_name) {
    if (of_process.size() < processes.size()) continue;
    ByRank& slices = names.emplace_back();
    for (auto& [process, of_rank] : of_process) slices.push_back(std::move(of_rank));
  }
  const auto by_clocks = [&](const std::vector<std::int64_t>& clocks) {
    std::vector<Collective> all;
    for (const ByRank& slices : names) std::ranges::move(together(timeline, slices, clocks), std::back_inserter(all));
    return all;
  };
  // Ranks of one host have one clock.
  std::vector<std::int64_t> clocks(processes.size());
  result.collectives = by_clocks(clocks);
  const std::vector<std::int64_t> others = clocks_by_ends(timeline, names, processes.size());
  if (others != clocks)
    if (auto found = by_clocks(others); found.size() > result.collectives.size()) {
      result.collectives = std::move(found);
      clocks = others;
    }
  for (std::size_t rank = 0; rank < clocks.size(); ++rank) result.ranks[rank].clock_ns = clocks[rank];
  for (const Collective& one : result.collectives) {
    const auto start_of = [&](std::uint32_t rank) { return timeline.slices[one.slices[rank]].start_ns - clocks[rank]; };
    result.unmatched -= static_cast<std::int64_t>(one.slices.size());
    ++result.ranks[one.last].last;
    for (std::uint32_t rank = 0; rank < one.slices.size(); ++rank) {
      const std::int64_t waited = start_of(one.last) - start_of(rank);
      result.ranks[rank].waited_ns += waited;
      result.ranks[one.last].kept_waiting_ns += waited;
    }
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
