// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "core/base/parallel.h"
#include "core/storage/storage.h"
#include "kernel_trace/decode.h"
#include "kernel_trace/recording.h"
#include "timeline/writers.h"

namespace gpubench::kernel_trace {
namespace {

void refuse_options(const Options& options) {
  const auto refuse = [](const std::string& why) { throw std::invalid_argument("a buffer of events " + why); };
  if (options.blocks == 0 || options.warps == 0 || options.events == 0 || options.launches == 0)
    refuse("has at least one block, one warp, one event and one launch.");
  if (options.warps > 0xFFFF) refuse(fmt::format("has at most 65535 warps of a block, not {}.", options.warps));
  if (options.events >= 1U << 28) refuse(fmt::format("has below 2^28 events of a warp, not {}.", options.events));
  if (options.every_block == 0 || options.every_warp == 0) refuse("records every first block and warp, or every n-th.");
  if (options.launches >= (1ULL << 32) / (std::uint64_t{options.blocks} * options.warps))
    refuse(fmt::format("has below 2^32 warps of all launches, not {} launches of {} blocks with {} warps.",
                       options.launches, options.blocks, options.warps));
  if (std::uint64_t{options.blocks} * options.warps >= 1ULL << 29)
    refuse(fmt::format("has below 2^29 warps, not {} blocks of {}.", options.blocks, options.warps));
}

std::uint32_t slice_offset(const Options& options) {
  return static_cast<std::uint32_t>(sizeof(BufferHeader) + claim_bytes(options.blocks, options.warps));
}

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

std::uint64_t bytes(const Options& options) {
  refuse_options(options);
  const std::uint64_t slices = std::uint64_t{options.blocks} * options.warps * options.launches;
  const std::uint64_t each = slice_bytes(options.events);
  if (slices > (std::numeric_limits<std::int64_t>::max() / 2) / each)
    throw std::invalid_argument("a buffer of events of that size needs more bytes than there are.");
  return slice_offset(options) + slices * each;
}

BufferHeader header_of(const Options& options) {
  const std::uint64_t bytes = kernel_trace::bytes(options);
  return {.magic = buffer_magic,
          .version = buffer_version,
          .blocks = options.blocks,
          .warps = options.warps,
          .slots = options.events,
          .launches = options.launches,
          .enabled = options.enabled ? 1U : 0U,
          .slice_offset = slice_offset(options),
          .refused = 0,
          .bytes = bytes,
          .reserved = {}};
}

std::vector<std::byte> header_bytes(const Options& options) {
  const BufferHeader header = header_of(options);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&header);
  return {bytes, bytes + sizeof header};
}

Trace decode_bytes(std::span<const std::byte> buffer, const std::vector<std::string>& names,
                   const std::vector<std::string>& kernels) {
  return Trace(
      std::make_shared<Recording>(decode(buffer, {.names = names, .kernels = kernels, .rate = {}, .host = {}})));
}

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

Trace Trace::corrected(double event_ns, double scope_ns) const {
  if (!(event_ns >= 0.0 && scope_ns >= 0.0))
    throw std::invalid_argument("the time to take off for an event or a scope must be 0 or more.");
  auto copy = std::make_shared<Recording>(*recording_);
  copy->event_ns = event_ns;
  copy->scope_ns = scope_ns;
  return Trace(std::move(copy));
}

Statistics Trace::statistics() const { return statistics_of(*recording_); }
std::string Trace::table() const { return statistics_table(statistics()); }
std::string Trace::csv() const { return statistics_csv(statistics()); }
std::string Trace::json() const { return statistics_json(statistics()); }

void Trace::write(const std::filesystem::path& file) const {
  const std::string name = file.filename().string();
  if (name.ends_with(".stats.json"))
    storage::write_file(file, json());
  else if (name.ends_with(".csv"))
    storage::write_file(file, csv());
  else if (name.ends_with(".txt"))
    storage::write_file(file, table());
  else if (name.ends_with(".json") || name.ends_with(".perfetto-trace"))
    timeline::write(timeline_of(*recording_), file);
  else
    throw std::invalid_argument(
        name + " names no format of a trace: end it in .perfetto-trace, .json, .stats.json, .csv or .txt.");
}

}  // namespace gpubench::kernel_trace
