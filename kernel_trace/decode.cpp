// SPDX-License-Identifier: Apache-2.0
#include "kernel_trace/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>

#include "core/base/parallel.h"
#include "core/base/units.h"

namespace gpubench::kernel_trace {
namespace {

struct Slot {
  std::uint32_t first, word;
  [[nodiscard]] Kind kind() const { return static_cast<Kind>(word & 15U); }
  [[nodiscard]] std::uint16_t id() const {
    return static_cast<std::uint16_t>(kind() == Kind::scope ? (word >> 4 & 0xFFU) | word >> 28 << 8
                                                            : word >> 4 & max_ids);
  }
  [[nodiscard]] std::uint16_t payload() const { return static_cast<std::uint16_t>(word >> 16); }
};
static_assert(sizeof(Slot) == 8);

/// What two warps may share: an end of an asynchronous range or of a flow.
struct FlowEndpoint {
  std::int64_t time_ns = 0;
  std::uint32_t warp = 0;
  Kind kind = Kind::flow_out;
  std::uint16_t id = 0, token = 0;
};

/// What has a tick, and no time yet.
template <class What>
struct Ticked {
  Tick tick;
  What what;
};
struct TickedSpan {
  Tick start, end;
  std::uint32_t warp = 0, events = 1;
  std::uint16_t id = 0, payload = 0;
  bool unended = false, scope = false;
};
struct TickedWarp {
  Tick open, close;
  std::int64_t opened_ns = 0;  // by the timer
  WarpRecord record;
};

/// Of a few slices what they held.
struct Part {
  std::vector<TickedWarp> warps;
  std::vector<TickedSpan> spans;
  std::vector<Ticked<Instant>> instants;
  std::vector<Ticked<Value>> values;
  std::vector<Ticked<FlowEndpoint>> endpoints;
  std::vector<std::pair<std::uint32_t, ClockPair>> pairs;  // with their warp
  std::int64_t unmatched = 0, crossing = 0, missing = 0, unplaced = 0, foreign = 0;
  bool at_least = false;  // more was dropped than is known
};

/// What a scope took, as far as its eleven bits tell: the middle of what they may mean.
std::int64_t scope_ticks(std::uint32_t word) {
  const std::uint32_t bits = (word & scope_duration_bits) >> 12;
  const std::uint32_t exponent = (bits / 2048 + 1) % 32;  // a float's is 127 more, of which there are five bits
  const std::int64_t mantissa = 2048 + bits % 2048;
  if (exponent <= 11) return mantissa >> (11 - exponent);
  return (mantissa << (exponent - 11)) + (std::int64_t{1} << (exponent - 11)) / 2;
}

/// The low half of the clock when an event was stored.
std::uint32_t stored_at(const Slot& slot) {
  return slot.kind() == Kind::scope ? slot.first + static_cast<std::uint32_t>(scope_ticks(slot.word)) : slot.first;
}

/// Slots of one slice in the order in which they were written.
class Slots {
 public:
  Slots(const std::byte* place, const SliceHeader& header, std::uint32_t slots) : place_(place + sizeof(SliceHeader)) {
    ring_ = (header.flags & slice_ring) != 0;
    capacity_ = ring_ ? ring_slots(slots) : slots;
    const bool knows_count = (header.flags & (slice_closed | slice_counted)) != 0;
    const bool full = capacity_ > 0 && at(capacity_ - 1).word != 0;
    if (full && ring_) {
      count_ = capacity_;
      first_ = knows_count ? header.count & (capacity_ - 1) : oldest();
    } else if (full && (header.flags & slice_overwrites) != 0) {
      count_ = knows_count && header.count == capacity_ ? capacity_ : capacity_ - 1;
    } else if (knows_count) {
      count_ = std::min(header.count, capacity_);
    } else {
      while (count_ < capacity_ && at(count_).word != 0) ++count_;
    }
    dropped_ = knows_count && header.count > count_ ? header.count - count_ : 0;
  }
  [[nodiscard]] std::uint32_t size() const { return count_; }
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }
  [[nodiscard]] Slot operator[](std::uint32_t index) const { return at(place_of(index)); }

 private:
  [[nodiscard]] std::uint32_t place_of(std::uint32_t index) const {
    return ring_ ? (first_ + index) & (capacity_ - 1) : index;
  }
  /// Of a full ring that was never closed: where the clock jumps back.
  [[nodiscard]] std::uint32_t oldest() const {
    std::optional<std::uint32_t> last;
    for (std::uint32_t i = 0; i < capacity_; ++i) {
      if (at(i).kind() == Kind::more) continue;
      if (last && stored_at(at(i)) - *last > 1U << 31) return i;
      last = stored_at(at(i));
    }
    return 0;
  }
  [[nodiscard]] Slot at(std::uint32_t place) const {
    Slot slot;
    std::memcpy(&slot, place_ + std::size_t{place} * sizeof slot, sizeof slot);
    return slot;
  }
  const std::byte* place_;
  std::uint32_t capacity_ = 0, first_ = 0, count_ = 0;
  std::int64_t dropped_ = 0;
  bool ring_ = false;
};

/// The full clock of a low half that is not long before or at most 2^32 ticks after a known one.
Tick unwrapped(Tick known, std::uint32_t low) {
  constexpr std::uint32_t back = 0xFF000000;  // two writers of one slice may swap places: by less than 8 ms
  const std::uint32_t step = low - static_cast<std::uint32_t>(known.count);
  return known + (step >= back ? static_cast<std::int64_t>(step) - (std::int64_t{1} << 32) : step);
}

/// Far from where sums of times overflow, whatever the bytes say.
std::int64_t bounded(std::uint64_t time) { return static_cast<std::int64_t>(std::min(time, std::uint64_t{1} << 61)); }

class SliceDecoder {
 public:
  SliceDecoder(const SliceHeader& header, const Slots& held, Part& part)
      : header_(header),
        held_(held),
        part_(part),
        warp_(static_cast<std::uint32_t>(part.warps.size())),
        first_span_(part.spans.size()) {}

  void decode() {
    open_warp();
    start_clock();
    times_.reserve(held_.size());
    for (std::uint32_t i = 0; i < held_.size(); ++i)
      if (const Slot slot = held_[i]; slot.word == 0)
        ++part_.missing;
      else if (slot.kind() != Kind::more)  // of an event that was overwritten
        decode_event(i, slot);
    close_warp();
  }

 private:
  struct Open {
    Tick start;
    std::uint32_t event;
    std::uint16_t id, payload;
  };

  TickedWarp& warp() { return part_.warps[warp_]; }
  std::span<TickedSpan> ended() { return std::span(part_.spans).subspan(first_span_); }
  void add_pair(Tick clock, std::uint64_t ns) {
    if (!warp().record.by_timer) part_.pairs.emplace_back(warp_, ClockPair{clock, bounded(ns)});
  }
  [[nodiscard]] std::optional<std::uint32_t> more(std::uint32_t place) const {
    return place < held_.size() && held_[place].kind() == Kind::more ? std::optional(held_[place].first) : std::nullopt;
  }

  void open_warp() {
    const bool by_timer = (header_.flags & slice_timer) != 0;
    TickedWarp& made = part_.warps.emplace_back();
    made.open = {bounded(by_timer ? header_.open_ns : header_.open_clock)};
    made.close = {bounded(by_timer ? header_.close_ns : header_.close_clock)};
    made.opened_ns = bounded(header_.open_ns);
    WarpRecord& record = made.record;
    record.block = header_.block;
    record.warp = header_.warp_and_sm & 0xFFFFU;
    record.sm = header_.warp_and_sm >> 16;
    record.launch = header_.launch;
    record.grid_x = std::max(header_.grid_x, 1U);
    record.grid_y = std::max(header_.grid_y, 1U);
    record.closed = (header_.flags & (slice_closed | slice_counted)) != 0;
    record.events = held_.size();
    record.dropped = held_.dropped();
    record.by_timer = by_timer;
    add_pair(made.open, header_.open_ns);
    if (header_.close_ns != 0) add_pair(made.close, header_.close_ns);
    // An event takes four clocks or more, so that the count of 32 bits may have begun anew.
    part_.at_least |= record.closed && record.dropped > 0 && made.close - made.open >= std::int64_t{1} << 34;
    cut_ = (header_.flags & slice_ring) != 0 && record.dropped > 0;
  }

  /// In a ring the gap before the first event is not known, that after the last is.
  void start_clock() {
    now_ = warp().open;
    if (!cut_ || header_.close_ns == 0 || held_.size() == 0) return;
    std::uint32_t length = 0, last = 0;
    bool any = false;
    for (std::uint32_t i = 0; i < held_.size(); ++i) {
      const Slot slot = held_[i];
      if (slot.word == 0 || slot.kind() == Kind::more) continue;
      if (any) length += stored_at(slot) - last;
      any = true;
      last = stored_at(slot);
    }
    const Tick close = warp().close;
    now_ = close + -std::int64_t{static_cast<std::uint32_t>(close.count) - last} + -std::int64_t{length} + -1;
  }

  /// What the durations of scopes leave open is settled by the next event, or by the beginning of the next scope: none
  /// that began before `time` lasts longer, unless by more than it is unsure. The latest end of those that began later,
  /// which the next scope holds.
  Tick bound_scopes(Tick time, Tick latest) {
    const auto all = ended();
    for (auto one = all.rbegin(); one != all.rend() && one->end > time; ++one) {
      if (one->start >= time)
        latest = std::max(latest, one->end);
      else if (one->end - time <= (one->end - one->start) / 2048 + 1)
        one->end = time;
    }
    return latest;
  }

  void end(std::uint16_t id) {
    const auto found = std::find_if(stack_.rbegin(), stack_.rend(), [&](const Open& one) { return one.id == id; });
    if (found == stack_.rend()) {
      if (!cut_) ++part_.unmatched;
      return;
    }
    if (found != stack_.rbegin()) ++part_.crossing;
    part_.spans.push_back({.start = found->start,
                           .end = now_,
                           .warp = warp_,
                           .events = event_ - found->event,
                           .id = id,
                           .payload = found->payload});
    stack_.erase(std::next(found).base());
  }

  void scope(const Slot& slot, std::uint32_t place) {
    const Tick start = now_ + -scope_ticks(slot.word);
    now_ = std::max(now_, bound_scopes(start, now_));
    std::fill_n(times_.rbegin(), 2, now_);
    // Its own store comes after its end, and takes no time of it.
    const auto within = times_.end() - std::ranges::lower_bound(times_, start) - 2;
    part_.spans.push_back({.start = start,
                           .end = now_,
                           .warp = warp_,
                           .events = static_cast<std::uint32_t>(within),
                           .id = slot.id(),
                           .payload = static_cast<std::uint16_t>(more(place + 1).value_or(0)),
                           .scope = true});
  }

  void value(const Slot& slot, std::uint32_t content) {
    const auto type = static_cast<ValueType>(slot.payload());
    const double number = type == ValueType::floating         ? static_cast<double>(std::bit_cast<float>(content))
                          : type == ValueType::signed_integer ? static_cast<double>(static_cast<std::int32_t>(content))
                                                              : static_cast<double>(content);
    part_.values.push_back({now_, {.value = number, .warp = warp_, .id = slot.id()}});
  }

  void decode_event(std::uint32_t i, const Slot& slot) {
    now_ = unwrapped(now_, stored_at(slot));
    if (slot.kind() != Kind::scope) {
      bound_scopes(now_, now_);
      for (auto time = times_.rbegin(); time != times_.rend() && *time > now_; ++time) *time = now_;
    }
    const std::uint32_t ends = slot.kind() == Kind::scope ? 2 : 1;
    event_ += ends;
    times_.insert(times_.end(), ends, now_);
    if (slot.id() == max_ids && slot.kind() != Kind::end) ++part_.foreign;
    switch (slot.kind()) {
      case Kind::begin: stack_.push_back({now_, event_, slot.id(), slot.payload()}); break;
      case Kind::end: end(slot.id()); break;
      case Kind::swap:
        end(std::min<std::uint16_t>(slot.payload(), max_ids));
        stack_.push_back({now_, event_, slot.id(), 0});
        break;
      case Kind::instant:
        part_.instants.push_back({now_, {.warp = warp_, .id = slot.id(), .payload = slot.payload()}});
        break;
      case Kind::value:
        if (const auto content = more(i + 1)) value(slot, *content);
        break;
      case Kind::place:
        if (const auto low = more(i + 1), high = more(i + 2); low && high)
          add_pair(now_, std::uint64_t{*high} << 32 | *low);
        break;
      case Kind::scope: scope(slot, i); break;
      case Kind::async_begin:
      case Kind::async_end:
      case Kind::flow_out:
      case Kind::flow_in:
        part_.endpoints.push_back(
            {now_, {.warp = warp_, .kind = slot.kind(), .id = slot.id(), .token = slot.payload()}});
        break;
      default: ++part_.missing;
    }
  }

  void close_warp() {
    const Tick close = warp().close;
    const WarpRecord& record = warp().record;
    if (record.closed && record.dropped == 0 && close - now_ >= std::int64_t{1} << 32) ++part_.unplaced;
    warp().close = header_.close_ns != 0 ? std::max(close, now_) : now_;
    for (const Open& one : stack_)
      part_.spans.push_back({.start = one.start,
                             .end = warp().close,
                             .warp = warp_,
                             .events = event_ - one.event + 1,
                             .id = one.id,
                             .payload = one.payload,
                             .unended = true});
  }

  const SliceHeader& header_;
  const Slots& held_;
  Part& part_;
  std::uint32_t warp_, event_ = 0;
  std::size_t first_span_;
  bool cut_ = false;  // a ring whose oldest events are gone
  Tick now_;
  std::vector<Open> stack_;
  std::vector<Tick> times_;  // of events, so that those in a scope can be counted
};

void decode_slice(const std::byte* place, std::uint32_t slots, Part& part) {
  SliceHeader header;
  std::memcpy(&header, place, sizeof header);
  if ((header.flags & slice_opened) != 0) SliceDecoder(header, Slots(place, header, slots), part).decode();
}

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
    throw std::invalid_argument(
        fmt::format("the buffer of events has {} bytes, too few for {} launch{} of {} with {} of {}.", buffer.size(),
                    header.launches, header.launches == 1 ? "" : "es", plural(header.blocks, "block"),
                    plural(header.warps, "warp"), plural(header.slots, "event")));
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
      return (fit[warp] == nullptr ? tick.count : fit[warp]->at(tick)) - recording.base_ns;
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
      record.close_ns = ns(warp, part.warps[warp].close);
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
  recording.on_host_clock = true;
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
