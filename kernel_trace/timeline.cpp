// SPDX-License-Identifier: Apache-2.0
#include "kernel_trace/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "core/base/parallel.h"

namespace gpubench::kernel_trace {
namespace {

/// "block 3", of grids with more dimensions "block (1,2,0)".
std::string block_name(const WarpRecord& warp) {
  const std::uint32_t x = warp.block % warp.grid_x, rest = warp.block / warp.grid_x;
  if (rest == 0 && warp.grid_y == 1) return fmt::format("block {}", warp.block);
  return fmt::format("block ({},{},{})", x, rest % warp.grid_y, rest / warp.grid_y);
}

/// Pieces sorted apart, then merged in pairs.
void sort_slices(std::vector<timeline::Slice>& slices) {
  const auto before = [](const timeline::Slice& a, const timeline::Slice& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  };
  constexpr std::size_t pieces = 16;
  const auto at = [&](std::size_t piece) {
    return slices.begin() + static_cast<std::ptrdiff_t>(slices.size() * piece / pieces);
  };
  for_each_in_parallel(pieces, 1, [&](std::size_t i) { std::stable_sort(at(i), at(i + 1), before); });
  for (std::size_t width = 1; width < pieces; width *= 2)
    for_each_in_parallel(pieces / width / 2, 1, [&](std::size_t i) {
      std::inplace_merge(at(2 * i * width), at((2 * i + 1) * width), at((2 * i + 2) * width), before);
    });
}

}  // namespace

timeline::Timeline timeline_of(const Recording& recording) {
  timeline::Timeline timeline;
  timeline.base_ns = recording.base_ns;
  timeline.dropped = recording.dropped;
  timeline.warnings = recording.warnings;
  std::vector<std::uint32_t> names(max_ids + 1);
  std::vector<bool> known(max_ids + 1, false);
  const auto name = [&](std::uint16_t id) {
    if (!known[id]) {
      known[id] = true;
      names[id] = timeline.names.number(recording.name_of(id));
    }
    return names[id];
  };

  // SMs, then their warps, each in ascending order.
  std::set<std::uint32_t> sms;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> threads;
  for (const WarpRecord& warp : recording.warps) {
    sms.insert(warp.sm);
    threads.emplace(std::tuple(warp.sm, warp.block, warp.warp), 0);
  }
  const auto process = [&](std::uint32_t sm) {
    return static_cast<std::uint32_t>(std::distance(sms.begin(), sms.find(sm))) + 1;
  };
  timeline.processes.push_back({.id = 1'000'000, .rank = {}, .local_rank = {}, .name = "Launches"});
  for (const std::uint32_t sm : sms)
    timeline.processes.push_back(
        {.id = 1'000'001 + std::int64_t{sm}, .rank = {}, .local_rank = {}, .name = fmt::format("SM {}", sm)});
  timeline.tracks.push_back(
      {.kind = timeline::TrackKind::other, .process = 0, .device = -1, .id = 0, .name = "launches of traced kernels"});
  std::vector<std::uint32_t> track_of(recording.warps.size());
  for (std::size_t i = 0; i < recording.warps.size(); ++i) {
    const WarpRecord& warp = recording.warps[i];
    std::uint32_t& track = threads[{warp.sm, warp.block, warp.warp}];
    if (track == 0) {
      track = static_cast<std::uint32_t>(timeline.tracks.size());
      timeline.tracks.push_back({.kind = timeline::TrackKind::thread,
                                 .process = process(warp.sm),
                                 .device = -1,
                                 .id = std::int64_t{warp.block} * 64 + warp.warp + 1,
                                 .name = fmt::format("{} warp {}", block_name(warp), warp.warp)});
    }
    track_of[i] = track;
  }

  const std::size_t spans = recording.spans.size();
  timeline.slices.resize(spans);
  for (const Span& span : recording.spans) (void)name(span.id);
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>, std::uint32_t> asynchronous;
  for (const Span& span : recording.spans) {
    if (!span.asynchronous) continue;
    const WarpRecord& warp = recording.warps[span.warp];
    const auto [place, added] = asynchronous.emplace(std::tuple(warp.sm, warp.block, span.id), timeline.tracks.size());
    if (added)
      timeline.tracks.push_back({.kind = timeline::TrackKind::other,
                                 .process = process(warp.sm),
                                 .device = -1,
                                 .id = 0,
                                 .name = fmt::format("{} {}", block_name(warp), recording.name_of(span.id))});
  }
  constexpr std::size_t at_once = 1 << 16;
  for_each_in_parallel((spans + at_once - 1) / at_once, 1, [&](std::size_t piece) {
    for (std::size_t i = piece * at_once; i < std::min(spans, (piece + 1) * at_once); ++i) {
      const Span& span = recording.spans[i];
      const WarpRecord& warp = recording.warps[span.warp];
      timeline::Slice& slice = timeline.slices[i];
      slice.start_ns = span.start_ns;
      slice.duration_ns = span.duration_ns;
      slice.name = names[span.id];
      slice.track = span.asynchronous ? asynchronous.at({warp.sm, warp.block, span.id}) : track_of[span.warp];
      slice.kind = timeline::SliceKind::range;
      slice.open = span.unended;
    }
  });
  for (const LaunchRecord& launch : recording.launches)
    timeline.slices.push_back({.start_ns = launch.open_ns,
                               .name = timeline.names.number(launch.kernel),
                               .track = 0,
                               .duration_ns = launch.close_ns - launch.open_ns,
                               .kind = timeline::SliceKind::other});
  for (const Instant& one : recording.instants)
    timeline.marks.push_back({.time_ns = one.time_ns, .name = name(one.id), .track = track_of[one.warp]});
  for (const Flow& flow : recording.flows) {
    const auto end_of = [&](std::int64_t time, std::uint32_t warp) {
      timeline.slices.push_back(
          {.start_ns = time, .name = name(flow.id), .track = track_of[warp], .kind = timeline::SliceKind::other});
      return static_cast<std::uint32_t>(timeline.slices.size() - 1);
    };
    const std::uint32_t from = end_of(flow.from_ns, flow.from_warp);
    timeline.flows.push_back({.from = from, .to = end_of(flow.to_ns, flow.to_warp), .name = name(flow.id)});
  }
  if (timeline.flows.empty()) sort_slices(timeline.slices);

  std::map<std::pair<std::uint32_t, std::uint16_t>, std::size_t> counters;
  for (const Value& value : recording.values) {
    const WarpRecord& warp = recording.warps[value.warp];
    const auto [place, added] = counters.emplace(std::pair(track_of[value.warp], value.id), timeline.counters.size());
    if (added)
      timeline.counters.push_back(
          {.process = process(warp.sm),
           .name = fmt::format("{}, {} warp {}", recording.name_of(value.id), block_name(warp), warp.warp),
           .unit = "",
           .samples = {}});
    timeline.counters[place->second].samples.push_back({value.time_ns, value.value});
  }
  timeline::sort(timeline);
  return timeline;
}

}  // namespace gpubench::kernel_trace
