// SPDX-License-Identifier: Apache-2.0
// Buffers written by hand, as kernels write them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "gpubench/detail/kernel_trace_layout.h"

namespace gpubench {

namespace kt = kernel_trace;

/// The GPU's clock ticks at 2 GHz from `clock0` on when its timer, which steps by 32 ns, shows `timer0`.
class SyntheticBuffer {
 public:
  static constexpr std::int64_t timer0 = 1'790'857'026'000'000'000, clock0 = (std::int64_t{5} << 32) - 1000;

  SyntheticBuffer(std::uint32_t blocks, std::uint32_t warps, std::uint32_t slots, std::uint32_t launches = 1)
      : stride_(kt::slice_bytes(slots)), places_(std::uint64_t{blocks} * warps), slots_(slots) {
    header_ = {.magic = kt::buffer_magic,
               .version = kt::buffer_version,
               .blocks = blocks,
               .warps = warps,
               .slots = slots,
               .launches = launches,
               .enabled = 1,
               .slice_offset = static_cast<std::uint32_t>(sizeof(kt::BufferHeader) + kt::claim_bytes(blocks, warps)),
               .refused = 0,
               .bytes = 0,
               .reserved = {}};
    memory_.resize(header_.slice_offset + launches * places_ * stride_);
    header_.bytes = memory_.size();
  }

  /// What one warp writes. `ns` counts from the timer's start.
  class Warp {
   public:
    Warp(SyntheticBuffer& buffer, std::byte* place, std::uint32_t sm, std::uint32_t capacity, bool ring)
        : buffer_(&buffer), place_(place), sm_(sm), capacity_(capacity), ring_(ring) {}
    Warp& event(std::int64_t ns, kt::Kind kind, std::uint32_t id, std::uint32_t payload = 0) {
      return slot(static_cast<std::uint32_t>(buffer_->clock(ns, sm_)), kt::event_word(kind, id, payload));
    }
    Warp& begin(std::int64_t ns, std::uint32_t id) { return event(ns, kt::Kind::begin, id); }
    Warp& end(std::int64_t ns, std::uint32_t id) { return event(ns, kt::Kind::end, id); }
    Warp& scope(std::int64_t from, std::int64_t to, std::uint32_t id) {
      const auto start = static_cast<std::uint32_t>(buffer_->clock(from, sm_));
      const auto end = static_cast<std::uint32_t>(buffer_->clock(to, sm_));
      const double clocks = end - start;  // its upper bits, cut off as the GPU does
      std::uint64_t bits = 0;
      std::memcpy(&bits, &clocks, sizeof bits);
      return slot(start,
                  (static_cast<std::uint32_t>((bits >> 29) - (std::uint64_t{896} << 23)) & kt::scope_duration_bits) |
                      kt::scope_word(id));
    }
    Warp& more(std::uint32_t content) { return slot(content, kt::event_word(kt::Kind::more, 0)); }
    void close(std::int64_t ns) {
      kt::SliceHeader header;
      std::memcpy(&header, place_, sizeof header);
      header.close_ns = timer(ns);
      header.close_clock = static_cast<std::uint64_t>(buffer_->clock(ns, sm_));
      header.flags |= kt::slice_closed;
      header.count = count_;
      std::memcpy(place_, &header, sizeof header);
    }

   private:
    Warp& slot(std::uint32_t first, std::uint32_t word) {
      const std::uint32_t number = ring_ ? count_ & (capacity_ - 1) : std::min(count_, capacity_ - 1);
      std::byte* const at = place_ + sizeof(kt::SliceHeader) + std::size_t{number} * 8;
      std::memcpy(at, &first, 4);
      std::memcpy(at + 4, &word, 4);
      ++count_;
      return *this;
    }
    SyntheticBuffer* buffer_;
    std::byte* place_;
    std::uint32_t sm_, capacity_, count_ = 0;
    bool ring_;
  };

  Warp open(std::int64_t ns, std::uint32_t block, std::uint32_t warp, std::uint32_t sm, std::uint32_t number = 0,
            bool ring = false, std::uint32_t launch = 0) {
    const kt::SliceHeader header = {.open_ns = timer(ns),
                                    .open_clock = static_cast<std::uint64_t>(clock(ns, sm)),
                                    .close_ns = 0,
                                    .close_clock = 0,
                                    .block = block,
                                    .launch = launch,
                                    .warp_and_sm = warp | sm << 16,
                                    .flags = kt::slice_opened | (ring ? kt::slice_ring : kt::slice_overwrites),
                                    .count = 0,
                                    .grid_x = header_.blocks,
                                    .grid_y = 1,
                                    .reserved = 0};
    std::byte* const place =
        memory_.data() + header_.slice_offset + (number * places_ + block * header_.warps + warp) * stride_;
    std::memcpy(place, &header, sizeof header);
    return {*this, place, sm, ring ? kt::ring_slots(slots_) : slots_, ring};
  }

  /// Each SM's clock is off by a million ticks from the one before.
  [[nodiscard]] std::int64_t clock(std::int64_t ns, std::uint32_t sm) const {
    return clock0 + 2 * ns + std::int64_t{sm} * 1'000'000;
  }
  [[nodiscard]] static std::uint64_t timer(std::int64_t ns) {
    return static_cast<std::uint64_t>((timer0 + ns) / 32 * 32);
  }
  [[nodiscard]] std::span<const std::byte> bytes() {
    std::memcpy(memory_.data(), &header_, sizeof header_);
    return memory_;
  }
  kt::BufferHeader header_;

 private:
  std::uint64_t stride_, places_;
  std::uint32_t slots_;
  std::vector<std::byte> memory_;
};

}  // namespace gpubench
