// SPDX-License-Identifier: Apache-2.0
#include "timeline/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "timeline/analyses/steps/iterations.h"
#include "timeline/structure/range_tree.h"

namespace gpubench::timeline {
namespace {

struct Stretch {
  std::int64_t from, to;
};

/// Of each process where it is selected, by time; ranges of one name may overlap and are joined.
std::vector<std::vector<Stretch>> stretches_of(const Linked& linked, const Selection& selection) {
  const Timeline& timeline = linked.timeline;
  std::vector<std::vector<Stretch>> result(timeline.processes.size());
  if (selection.iteration && selection.range.empty()) {
    std::size_t most = 0;
    for (const Iterations& one : iterations(linked)) {
      most = std::max(most, one.all.size());
      if (*selection.iteration < 0 || *selection.iteration >= static_cast<std::int64_t>(one.all.size())) continue;
      const Iteration& of = one.all[static_cast<std::size_t>(*selection.iteration)];
      result[one.process].push_back({of.start_ns, of.end_ns});
    }
    if (std::ranges::all_of(result, [](const auto& of_process) { return of_process.empty(); }))
      throw std::invalid_argument(
          most == 0 ? "the trace has no iterations that could be told apart"
                    : fmt::format("there is no iteration {}: they are 0 to {}", *selection.iteration, most - 1));
  } else if (!selection.range.empty()) {
    std::set<std::string> others;
    std::vector<std::int64_t> number(result.size());  // of the next of this name
    const std::vector<bool> meant = ranges_named(timeline, selection.range);
    for (const Slice& slice : timeline.slices) {
      if (slice.kind != SliceKind::range) continue;
      if (!meant[slice.name]) {
        if (others.size() < 8) others.emplace(unnumbered(timeline.names.text(slice.name)));
        continue;
      }
      const std::uint32_t process = timeline.tracks[slice.track].process;
      if (const std::int64_t here = number[process]++; selection.iteration && here != *selection.iteration) continue;
      auto& of_process = result[process];
      if (!of_process.empty() && slice.start_ns <= of_process.back().to)
        of_process.back().to = std::max(of_process.back().to, slice.end_ns());
      else
        of_process.push_back({slice.start_ns, slice.end_ns()});
    }
    const std::int64_t most = number.empty() ? 0 : std::ranges::max(number);
    if (selection.iteration && most > 0 && *selection.iteration >= most)
      throw std::invalid_argument(fmt::format("there is no range '{}' number {}: they are 0 to {}", selection.range,
                                              *selection.iteration, most - 1));
    if (std::ranges::all_of(result, [](const auto& of_process) { return of_process.empty(); }))
      throw std::invalid_argument(
          others.empty() ? std::string("the trace has no ranges")
                         : fmt::format("there is no range '{}'; there are {}", selection.range,
                                       joined(others, ", ", [](const std::string& one) { return printable(one); })));
  } else {
    for (auto& of_process : result) of_process.push_back({INT64_MIN, INT64_MAX});
  }
  return result;
}

}  // namespace

Timeline selected(Timeline&& timeline, const Selection& selection) {
  if (selection.rank) {
    std::set<std::int64_t> ranks;
    for (const Process& process : timeline.processes)
      if (process.rank) ranks.insert(*process.rank);
    if (!ranks.contains(*selection.rank))
      throw std::invalid_argument(
          ranks.empty() ? std::string("the trace does not tell its rank; leave --rank out")
                        : fmt::format("there is no rank {}; there are {}", *selection.rank, fmt::join(ranks, ", ")));
  }
  const Linked linked(timeline);
  const auto stretches = stretches_of(linked, selection);
  const auto at = [](const std::optional<double>& seconds, std::int64_t otherwise) {
    return seconds ? static_cast<std::int64_t>(*seconds * 1e9) : otherwise;
  };
  const Stretch window{at(selection.from_seconds, INT64_MIN), at(selection.to_seconds, INT64_MAX)};
  const auto has_process = [&](std::uint32_t process) {
    return !selection.rank || timeline.processes[process].rank == selection.rank;
  };
  const auto stretch_at = [&](std::uint32_t process, std::int64_t time) -> const Stretch* {
    const auto& of_process = stretches[process];
    const auto next = std::ranges::upper_bound(of_process, time, {}, &Stretch::from);
    return next == of_process.begin() || (next - 1)->to <= time ? nullptr : &*(next - 1);
  };
  const auto shows = [&](std::uint32_t process, std::int64_t time) {
    return has_process(process) && time >= window.from && time < window.to && stretch_at(process, time) != nullptr;
  };
  // Operators that were captured into a graph go with its launch.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> launched;  // by process and correlation
  if (std::ranges::any_of(timeline.tracks, [](const Track& one) { return one.kind == TrackKind::operators; }))
    for (const Call& call : linked.links.calls) {
      const Slice& slice = timeline.slices[call.slice];
      launched.emplace(std::pair(timeline.tracks[slice.track].process, slice.correlation), slice.start_ns);
    }
  std::vector<Slice> all;
  std::vector<std::uint32_t> place(timeline.slices.size(), none);
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    Slice slice = timeline.slices[i];
    const std::uint32_t process = timeline.tracks[slice.track].process;
    if (!has_process(process)) continue;
    Stretch kept{slice.start_ns, slice.end_ns()};
    const bool is_captured = timeline.tracks[slice.track].kind == TrackKind::operators;
    if (occupies_gpu(slice.kind) || is_captured) {
      const Slice* const call = linked.call_of(i);
      std::int64_t launched_ns = call == nullptr ? slice.start_ns : call->start_ns;
      if (const auto launch = launched.find({process, slice.correlation}); is_captured && launch != launched.end())
        launched_ns = launch->second;
      if (stretch_at(process, launched_ns) == nullptr) continue;
    } else {
      // Of the host the first of the stretches that it reaches into.
      const auto& of_process = stretches[process];
      const auto reached =
          std::ranges::find_if(of_process, [&](const Stretch& one) { return one.to > slice.start_ns; });
      if (reached == of_process.end() || (reached->from > slice.start_ns && reached->from >= slice.end_ns())) continue;
      kept = {std::max(kept.from, reached->from), std::min(kept.to, std::max(reached->to, kept.from))};
    }
    kept = {std::max(kept.from, window.from), std::min(kept.to, window.to)};
    if (kept.to < kept.from || (kept.to == kept.from && slice.duration_ns > 0)) continue;
    slice.start_ns = kept.from;
    slice.duration_ns = kept.to - kept.from;
    place[i] = static_cast<std::uint32_t>(all.size());
    all.push_back(slice);
  }
  if (all.empty()) throw std::invalid_argument("nothing lies there");
  timeline.slices = std::move(all);
  std::erase_if(timeline.flows, [&](Flow& flow) {
    flow = {place[flow.from], place[flow.to], flow.name};
    return flow.from == none || flow.to == none;
  });
  std::erase_if(timeline.marks,
                [&](const Instant& one) { return !shows(timeline.tracks[one.track].process, one.time_ns); });
  std::erase_if(timeline.memory, [&](const MemoryEvent& one) { return !shows(one.process, one.time_ns); });
  for (CounterTrack& counter : timeline.counters)
    std::erase_if(counter.samples, [&](const CounterSample& one) { return !shows(counter.process, one.time_ns); });
  std::erase_if(timeline.counters, [](const CounterTrack& counter) { return counter.samples.empty(); });
  sort(timeline);
  return std::move(timeline);
}

}  // namespace gpubench::timeline
