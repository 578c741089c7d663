// SPDX-License-Identifier: Apache-2.0
#include "kernel_trace/slices.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>

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

}  // namespace

void decode_slice(const std::byte* place, std::uint32_t slots, Part& part) {
  SliceHeader header;
  std::memcpy(&header, place, sizeof header);
  if ((header.flags & slice_opened) != 0) SliceDecoder(header, Slots(place, header, slots), part).decode();
}

}  // namespace gpubench::kernel_trace
