// SPDX-License-Identifier: Apache-2.0
#include "kernel_trace/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>

#include "core/base/parallel.h"
#include "core/base/units.h"
#include "kernel_trace/slices.h"

namespace gpubench::kernel_trace {
namespace {

/// From a recording's start, 36 years: what is further away is of a broken buffer. Traces hold no longer slices than
/// twice that.
constexpr std::int64_t max_distance_ns = std::int64_t{1} << 60;

/// Numbers launches by time: slices of one place and launch id follow one another.
void number_launches(std::vector<Part>& parts, const DecodeOptions& options, Recording& recording) {
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  std::vector<std::tuple<Place, std::int64_t, WarpRecord*>> all;
  for (Part& part : parts)
    for (std::size_t i = 0; i < part.warps.size(); ++i) {
      WarpRecord& record = part.warps[i].record;
      all.emplace_back(Place{record.launch, record.block, record.warp}, part.warps[i].opened_ns, &record);
    }
  std::ranges::sort(all, {}, [](const auto& one) { return std::pair(std::get<0>(one), std::get<1>(one)); });
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<WarpRecord*>> launches;
  for (std::size_t i = 0, repeat = 0; i < all.size(); ++i) {
    repeat = i > 0 && std::get<0>(all[i]) == std::get<0>(all[i - 1]) ? repeat + 1 : 0;
    WarpRecord* const record = std::get<2>(all[i]);
    launches[{record->launch, static_cast<std::uint32_t>(repeat)}].push_back(record);
  }
  for (const auto& [key, warps] : launches) {
    for (WarpRecord* warp : warps) warp->launch = static_cast<std::uint32_t>(recording.launches.size());
    recording.launches.push_back({.kernel = key.first < options.kernels.size() && !options.kernels[key.first].empty()
                                                ? options.kernels[key.first]
                                                : "kernel",
                                  .id = key.first,
                                  .repeat = key.second});
  }
}

/// Fits of each launch and SM, by SM.
using Fits = std::vector<std::map<std::uint32_t, ClockFit>>;

Fits fit_clocks(const std::vector<Part>& parts, const DecodeOptions& options, Recording& recording) {
  std::vector<std::map<std::uint32_t, std::vector<ClockPair>>> groups(recording.launches.size());
  std::vector<std::int64_t> readings;
  for (const Part& part : parts)
    for (const auto& [warp, pair] : part.pairs) {
      const WarpRecord& record = part.warps[warp].record;
      groups[record.launch][record.sm].push_back(pair);
      readings.push_back(pair.ns);
    }
  recording.step_ns = timer_step(readings);
  Fits fits(groups.size());
  bool guessed = false;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<std::vector<ClockPair>> of_sms;
    for (const auto& [sm, pairs] : groups[i]) of_sms.push_back(pairs);
    std::optional<Rate> rate = options.rate;
    if (const auto pooled = pooled_rate(of_sms, recording.step_ns);
        pooled && (!rate || pooled->error < rate->error ||
                   std::abs(pooled->ns_per_tick - rate->ns_per_tick) > 4.0 * (pooled->error + rate->error)))
      rate = pooled;
    guessed |= !rate && !groups[i].empty();
    LaunchRecord& launch = recording.launches[i];
    double sum = 0.0;
    for (auto& [sm, pairs] : groups[i]) {
      const ClockFit& fit =
          fits[i]
              .emplace(sm, fit_clock(std::move(pairs), rate.value_or(Rate{1.0, 1.0}), recording.step_ns))
              .first->second;
      launch.residual_ns = std::max(launch.residual_ns, fit.residual_ns);
      sum += fit.lines.front().ns_per_tick;
    }
    launch.ns_per_tick = groups[i].empty() ? 1.0 : sum / static_cast<double>(groups[i].size());
  }
  if (guessed)
    recording.warnings.emplace_back(
        "A launch has no two readings of the clock that are apart, and the GPU's clock was not measured: its times are "
        "clock cycles, not nanoseconds.");
  return fits;
}

/// Pairs ends with beginnings of one block, id and token, in the order of time.
void join_endpoints(std::vector<FlowEndpoint>& endpoints, Recording& recording) {
  const auto key = [&](const FlowEndpoint& one) {
    const WarpRecord& warp = recording.warps[one.warp];
    const bool flow = one.kind == Kind::flow_out || one.kind == Kind::flow_in;
    return std::tuple(warp.launch, warp.block, flow, one.id, one.token);
  };
  std::ranges::stable_sort(endpoints, [&](const FlowEndpoint& a, const FlowEndpoint& b) {
    const auto key_a = key(a), key_b = key(b);
    if (key_a != key_b) return key_a < key_b;
    // A flow may be seen to arrive before it left by what the clocks of two SMs differ.
    return a.time_ns < b.time_ns;
  });
  const auto add_span = [&](const FlowEndpoint& from, std::int64_t end_ns, bool unended) {
    recording.spans.push_back({.start_ns = from.time_ns,
                               .duration_ns = std::max<std::int64_t>(end_ns - from.time_ns, 0),
                               .warp = from.warp,
                               .events = 1,
                               .id = from.id,
                               .payload = from.token,
                               .unended = unended,
                               .asynchronous = true});
  };
  for (std::size_t first = 0; first < endpoints.size();) {
    std::size_t last = first;
    while (last < endpoints.size() && key(endpoints[last]) == key(endpoints[first])) ++last;
    std::size_t oldest = first;  // of the beginnings that have no end yet
    const FlowEndpoint* out = nullptr;
    for (std::size_t i = first; i < last; ++i) {
      const FlowEndpoint& one = endpoints[i];
      if (one.kind == Kind::flow_out) {
        out = &one;
      } else if (one.kind == Kind::flow_in) {
        if (out != nullptr)
          recording.flows.push_back({out->time_ns, one.time_ns, out->warp, one.warp, one.id});
        else
          ++recording.unmatched;
      } else if (one.kind == Kind::async_end) {
        while (oldest < i && endpoints[oldest].kind != Kind::async_begin) ++oldest;
        if (oldest == i) {
          ++recording.unmatched;
          continue;
        }
        add_span(endpoints[oldest++], one.time_ns, false);
      }
    }
    for (; oldest < last; ++oldest)
      if (const FlowEndpoint& from = endpoints[oldest]; from.kind == Kind::async_begin)
        add_span(from, recording.launches[recording.warps[from.warp].launch].close_ns, true);
    first = last;
  }
}

BufferHeader checked_header(std::span<const std::byte> buffer) {
  BufferHeader header;
  if (buffer.size() < sizeof header)
    throw std::invalid_argument(
        fmt::format("{} bytes are no buffer of events: its header takes {}.", buffer.size(), sizeof header));
  std::memcpy(&header, buffer.data(), sizeof header);
  if (header.magic != buffer_magic)
    throw std::invalid_argument("this memory is no buffer of events: it does not begin with \"GBKT\".");
  if (header.version != buffer_version)
    throw std::invalid_argument(fmt::format("the buffer of events has version {}, and this gpubench reads version {}.",
                                            header.version, buffer_version));
  const std::uint64_t places = std::uint64_t{header.blocks} * header.warps;
  if (header.slice_offset > buffer.size() || header.slice_offset < sizeof header ||
      (header.launches > 0 &&
       places > (buffer.size() - header.slice_offset) / slice_bytes(header.slots) / header.launches))
    throw std::invalid_argument(fmt::format("the buffer of events has {} bytes, too few for {} of {} with {} of {}.",
                                            buffer.size(), plural(header.launches, "launch", "launches"),
                                            plural(header.blocks, "block"), plural(header.warps, "warp"),
                                            plural(header.slots, "event")));
  return header;
}

std::vector<Part> decode_slices(std::span<const std::byte> buffer, const BufferHeader& header) {
  const std::uint64_t slices = std::uint64_t{header.blocks} * header.warps * header.launches;
  const std::uint64_t stride = slice_bytes(header.slots);
  constexpr std::uint64_t slices_of_part = 64;
  std::vector<Part> parts((slices + slices_of_part - 1) / slices_of_part);
  for_each_in_parallel(parts.size(), 4, [&](std::size_t i) {
    for (std::uint64_t slice = i * slices_of_part; slice < std::min(slices, (i + 1) * slices_of_part); ++slice)
      decode_slice(buffer.data() + header.slice_offset + slice * stride, header.slots, parts[i]);
  });
  return parts;
}

/// Nanoseconds of a warp's ticks, on the GPU's timer.
std::int64_t timer_ns(const Fits& fits, const WarpRecord& warp, Tick tick) {
  return warp.by_timer ? tick.count : fits[warp.launch].at(warp.sm).at(tick);
}

struct Counts {
  std::int64_t missing = 0, unplaced = 0, unclosed = 0, foreign = 0;
  bool at_least = false;
};

/// Puts what warps recorded on the recording's time, and one part behind the other. Returns the ends that warps share.
std::vector<FlowEndpoint> place_parts(std::vector<Part>& parts, const Fits& fits, Recording& recording) {
  std::int64_t base = std::numeric_limits<std::int64_t>::max();
  std::vector<std::size_t> first_span;
  std::vector<std::uint32_t> first_warp;
  std::size_t spans = 0;
  std::uint32_t warps = 0;
  for (const Part& part : parts) {
    for (const TickedWarp& warp : part.warps) base = std::min(base, timer_ns(fits, warp.record, warp.open));
    first_span.push_back(spans);
    first_warp.push_back(warps);
    spans += part.spans.size();
    warps += static_cast<std::uint32_t>(part.warps.size());
  }
  recording.base_ns = warps == 0 ? 0 : base;
  recording.spans.resize(spans);
  recording.warps.resize(warps);
  for_each_in_parallel(parts.size(), 4, [&](std::size_t i) {
    Part& part = parts[i];
    std::vector<const ClockFit*> fit;
    for (const TickedWarp& warp : part.warps)
      fit.push_back(warp.record.by_timer ? nullptr : &fits[warp.record.launch].at(warp.record.sm));
    const auto ns = [&](std::uint32_t warp, Tick tick) {
      const std::int64_t time = (fit[warp] == nullptr ? tick.count : fit[warp]->at(tick)) - recording.base_ns;
      return std::clamp(time, -max_distance_ns, max_distance_ns);
    };
    std::size_t place = first_span[i];
    for (const TickedSpan& span : part.spans) {
      const std::int64_t start = ns(span.warp, span.start);
      recording.spans[place++] = {.start_ns = start,
                                  .duration_ns = std::max<std::int64_t>(ns(span.warp, span.end) - start, 0),
                                  .warp = span.warp + first_warp[i],
                                  .events = span.events,
                                  .id = span.id,
                                  .payload = span.payload,
                                  .unended = span.unended,
                                  .scope = span.scope};
    }
    std::vector<TickedSpan>().swap(part.spans);
    const auto place_all = [&](auto& all) {
      for (auto& one : all) {
        one.what.time_ns = ns(one.what.warp, one.tick);
        one.what.warp += first_warp[i];
      }
    };
    place_all(part.instants);
    place_all(part.values);
    place_all(part.endpoints);
    for (std::uint32_t warp = 0; warp < part.warps.size(); ++warp) {
      WarpRecord& record = recording.warps[first_warp[i] + warp] = part.warps[warp].record;
      record.open_ns = ns(warp, part.warps[warp].open);
      // A broken buffer may have a timer that runs backwards.
      record.close_ns = std::max(ns(warp, part.warps[warp].close), record.open_ns);
    }
  });
  std::vector<FlowEndpoint> endpoints;
  const auto append = [](auto& to, const auto& from) {
    for (const auto& one : from) to.push_back(one.what);
  };
  for (const Part& part : parts) {
    append(recording.instants, part.instants);
    append(recording.values, part.values);
    append(endpoints, part.endpoints);
  }
  return endpoints;
}

Counts count_up(const std::vector<Part>& parts, Recording& recording) {
  Counts counts;
  for (const Part& part : parts) {
    recording.unmatched += part.unmatched;
    recording.crossing += part.crossing;
    counts.missing += part.missing;
    counts.at_least |= part.at_least;
    counts.unplaced += part.unplaced;
    counts.foreign += part.foreign;
  }
  for (const WarpRecord& warp : recording.warps) {
    recording.events += warp.events;
    recording.dropped += warp.dropped;
    counts.unclosed += warp.closed ? 0 : 1;
    LaunchRecord& launch = recording.launches[warp.launch];
    const bool first = launch.open_ns == launch.close_ns;
    launch.open_ns = first ? warp.open_ns : std::min(launch.open_ns, warp.open_ns);
    launch.close_ns = first ? warp.close_ns : std::max(launch.close_ns, warp.close_ns);
  }
  return counts;
}

void move_to_host_clock(std::span<const HostMoment> host, Recording& recording) {
  if (host.empty()) return;
  const HostMoment &first = host.front(), &last = host.back();
  std::int64_t off = last.host_ns - last.gpu_ns;
  const std::int64_t apart = last.gpu_ns - first.gpu_ns;
  if (apart > 1'000'000'000)
    off += static_cast<std::int64_t>(static_cast<double>(last.host_ns - first.host_ns - apart) /
                                     static_cast<double>(apart) * static_cast<double>(recording.base_ns - last.gpu_ns));
  recording.base_ns += off;
}

void add_warnings(const Counts& counts, Recording& recording) {
  const auto warn = [&](std::int64_t count, const char* what, const char* why) {
    if (count > 0) recording.warnings.push_back(fmt::format("{} {}.", plural(count, what), why));
  };
  warn(recording.dropped, "event", "did not fit: make room for more events of a warp");
  if (counts.at_least)
    recording.warnings.emplace_back(
        "Some warps may have dropped even more: they ran so long that their counters may have begun anew.");
  warn(recording.refused, "time", "a warp found no place in the buffer: give it more blocks, warps or launches");
  warn(recording.unended, "range", "without an end: shown until the warp ended");
  warn(recording.unmatched, "end", "without a beginning: left out");
  warn(recording.crossing, "range", "with an end while one that began later is open");
  warn(counts.foreign, "event", "with an id of 4095 or more: ids are below");
  warn(counts.missing, "event", "in part only: left out");
  warn(counts.unclosed, "warp", "without a close, as where a kernel is ended half-way: drops there are not known");
  warn(counts.unplaced, "warp", "with a gap of over 2^32 clocks: events before it may be as much earlier");
  for (const LaunchRecord& launch : recording.launches)
    if (launch.residual_ns > 8.0 * static_cast<double>(recording.step_ns)) {
      recording.warnings.push_back(fmt::format(
          "The clock of an SM changed during a launch of {}: times are up to {:.0f} ns off. Call place() now and then.",
          launch.kernel, launch.residual_ns));
      break;
    }
}

}  // namespace

Recording decode(std::span<const std::byte> buffer, const DecodeOptions& options) {
  const BufferHeader header = checked_header(buffer);
  Recording recording;
  recording.names = options.names;
  recording.refused = static_cast<std::int64_t>(header.refused);
  std::vector<Part> parts = decode_slices(buffer, header);
  number_launches(parts, options, recording);
  const Fits fits = fit_clocks(parts, options, recording);
  std::vector<FlowEndpoint> endpoints = place_parts(parts, fits, recording);
  const Counts counts = count_up(parts, recording);
  for (Span& span : recording.spans)
    if (span.unended && !recording.warps[span.warp].closed)
      span.duration_ns =
          std::max(recording.launches[recording.warps[span.warp].launch].close_ns - span.start_ns, span.duration_ns);
  join_endpoints(endpoints, recording);
  recording.unended = std::ranges::count_if(recording.spans, &Span::unended);
  move_to_host_clock(options.host, recording);
  add_warnings(counts, recording);
  return recording;
}

}  // namespace gpubench::kernel_trace
