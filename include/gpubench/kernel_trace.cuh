// SPDX-License-Identifier: Apache-2.0
// Events inside a kernel, recorded by its warps. The host's side is gpubench/kernel_trace.h. Link
// gpubench::kernel_trace.
//
//   namespace kt = gpubench::kernel_trace;
//   constexpr std::uint32_t load = 0, compute = 1;
//
//   __global__ void kernel(kt::View view) {
//     kt::Warp trace(view);                  // once, where all of the warp is; closes where it goes out of scope
//     for (int tile = 0; tile < tiles; ++tile) {
//       trace.begin(load);
//       ...
//       trace.swap(load, compute);           // one time stamp ends the one and begins the other
//       ...
//       trace.end(compute);
//     }
//   }
//
// The lane that was the first active one at the opening records: an event in a branch that this lane does not take is
// none. For each half of a warp that goes its own way, open another context there.
// With GPUBENCH_KERNEL_TRACE=0 defined, or with kt::NoWarp, no call leaves an instruction behind.
#pragma once

#include <cstdint>

#include "gpubench/kernel_trace.h"

#ifndef GPUBENCH_KERNEL_TRACE
#define GPUBENCH_KERNEL_TRACE 1
#endif

namespace gpubench::kernel_trace {

/// What a full slice does.
enum class When { first, latest };

namespace detail {

__device__ __forceinline__ std::uint32_t lane_id() {
  std::uint32_t lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__device__ __forceinline__ std::uint32_t sm_id() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}
__device__ __forceinline__ std::uint64_t global_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}
/// The low half of %clock64.
__device__ __forceinline__ std::uint32_t clock_low() {
  std::uint32_t now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}
/// In the block, whatever its dimensions.
__device__ __forceinline__ std::uint32_t warp_in_block() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32;
}
__device__ __forceinline__ std::uint64_t block_in_grid() {
  return blockIdx.x + std::uint64_t{gridDim.x} * (blockIdx.y + gridDim.y * blockIdx.z);  // of y and z below 2^32
}

struct ClockPair {
  std::uint64_t ns, clock;
};
/// The clock in the middle of the reads around %globaltimer.
__device__ __forceinline__ ClockPair read_clocks() {
  unsigned long long before, ns;
  std::uint32_t after;
  asm volatile("mov.u64 %0, %%clock64;\n\tmov.u64 %1, %%globaltimer;\n\tmov.u32 %2, %%clock;"
               : "=l"(before), "=l"(ns), "=r"(after)::"memory");
  // The bound lets the compiler read the clock the fast way.
  return {ns, before + ::min(after - static_cast<std::uint32_t>(before), 0x7FFFFFFFU) / 2};
}

__device__ __forceinline__ void write_open(SliceHeader* header, std::uint32_t block, std::uint32_t warp,
                                           std::uint32_t launch, std::uint32_t flags) {
  header->block = block;
  header->launch = launch;
  header->warp_and_sm = warp | sm_id() << 16;
  header->flags = flags | slice_opened;
  // Read again, so that they take no registers until here.
  std::uint32_t grid_x, grid_y;
  asm volatile("mov.u32 %0, %%nctaid.x;\n\tmov.u32 %1, %%nctaid.y;" : "=r"(grid_x), "=r"(grid_y));
  header->grid_x = grid_x;
  header->grid_y = grid_y;
  const ClockPair now = read_clocks();
  header->open_ns = now.ns;
  header->open_clock = now.clock;
}

/// Whether `by` divides the number, which is divided then. The inverse is (2^32 - 1) / by: a division would take more
/// registers than all else here.
__device__ __forceinline__ bool divide(std::uint32_t& number, std::uint32_t by, std::uint32_t inverse) {
  std::uint32_t quotient = __umulhi(number, inverse);  // or one more
  const std::uint32_t rest = number - quotient * by;
  if (rest == by) ++quotient;
  number = quotient;
  return rest == by || rest == 0;
}

/// The warp's own slice of this launch; null where it has none.
__device__ __forceinline__ SliceHeader* open_slice(const View& view, std::uint32_t flags) {
  auto* const header = static_cast<BufferHeader*>(view.memory);
  const std::uint64_t grid_block = block_in_grid();
  auto block = static_cast<std::uint32_t>(grid_block);
  std::uint32_t warp = warp_in_block();
  if (view.sampled) {
    if (const std::uint32_t sm = sm_id(); sm < view.first_sm || sm > view.last_sm) return nullptr;
    if (!divide(block, view.every_block, view.block_inverse)) return nullptr;
    if (!divide(warp, view.every_warp, view.warp_inverse)) return nullptr;
  }
  if (block < view.blocks && warp < view.warps && grid_block >> 32 == 0) {
    const std::uint32_t place = block * view.warps + warp;
    auto* const claim = reinterpret_cast<std::uint32_t*>(header + 1) + place;
    const std::uint32_t number = atomicAdd(claim, 1U);
    if (number < view.launches) {
      // Slices and their bytes are below 2^32 each.
      const std::uint32_t slice = number * (view.blocks * view.warps) + place, bytes = view.slots * 8 + 127 & ~63U;
      auto* const result = reinterpret_cast<SliceHeader*>(static_cast<char*>(view.memory) + view.slice_offset +
                                                          std::uint64_t{slice} * bytes);
      // Events count on the low half of the address alone. A slice over or near a border of 4 GiB is left out.
      const auto low = static_cast<std::uint32_t>(reinterpret_cast<unsigned long long>(result));
      if (low < 0xFFFFFF00U - bytes) {
        write_open(result, static_cast<std::uint32_t>(grid_block), warp_in_block(), view.launch, flags);
        return result;
      }
    }
    atomicSub(claim, 1U);  // so that it never wraps
  }
  atomicAdd(reinterpret_cast<unsigned long long*>(&header->refused), 1ULL);
  return nullptr;
}

/// An event where only the buffer's address is known: the slot comes from a counter in memory, so that any lanes may
/// record. Slower than a context in registers by far.
__device__ __forceinline__ void record_counted(void* memory, std::uint32_t word) {
  auto* const header = static_cast<BufferHeader*>(memory);
  if (header == nullptr || header->magic != buffer_magic || header->enabled == 0) return;
  ClockPair now = read_clocks();
  const std::uint64_t block = block_in_grid();
  const std::uint32_t warp = warp_in_block(), slots = header->slots;
  if (block >= header->blocks || warp >= header->warps) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&header->refused), 1ULL);
    return;
  }
  auto* const slice = reinterpret_cast<SliceHeader*>(static_cast<char*>(memory) + header->slice_offset +
                                                     (block * header->warps + warp) * slice_bytes(slots));
  const std::uint32_t number = atomicAdd(&slice->count, 1U);
  if (number == 0) write_open(slice, static_cast<std::uint32_t>(block), warp, 0, slice_counted);
  if ((word & 15U) == static_cast<std::uint32_t>(Kind::begin)) now = read_clocks();  // so that the range is without it
  *reinterpret_cast<ulonglong2*>(&slice->close_ns) = make_ulonglong2(now.ns, now.clock);
  if (number < slots)
    reinterpret_cast<uint2*>(slice + 1)[number] = make_uint2(static_cast<std::uint32_t>(now.clock), word);
}

}  // namespace detail

/// What one warp records, in registers: pass it by reference to functions that are inlined.
template <bool on, When when = When::first>
class BasicWarp;

template <When when>
class BasicWarp<true, when> {
 public:
  __device__ __forceinline__ explicit BasicWarp(const View& view) : slots_(view.slots) {
    const SliceHeader* slice = nullptr;
    if (view.memory != nullptr &&
        detail::lane_id() == static_cast<std::uint32_t>(__ffs(static_cast<int>(__activemask())) - 1))
      slice = detail::open_slice(view, flags);
    // After the opening, so that only its result takes registers in it.
    asm volatile("" : "+l"(slice));
    slots_at_ = reinterpret_cast<unsigned long long>(slice + 1);
    if constexpr (when == When::first) {
      low_ = static_cast<std::uint32_t>(slots_at_);
      last_ = slice == nullptr ? 0 : low_ + slots_ * 8 - 8;
      low_ -= 8;
      asm volatile("{\n\t.reg .b32 low;\n\tmov.b64 {low, %0}, %1;\n\t}" : "=r"(high_) : "l"(slots_at_));
      high_of_ends_ = high_ + (slots_ >> 31);
    } else {
      slots_at_ += ring_slots(slots_) * 8;
      last_ = slice == nullptr ? 0 : 0U - ring_slots(slots_) * 8;
      low_ = last_;
    }
    on_ = slice != nullptr && slots_ != 0;
  }
  __device__ __forceinline__ ~BasicWarp() { close(); }
  BasicWarp& operator=(BasicWarp&&) = delete;  ///< not copied, not moved

  /// Ids are below 4095, payloads below 65536.
  __device__ __forceinline__ void begin(std::uint32_t id, std::uint32_t payload = 0) {
    record(event_word(Kind::begin, id, payload));
  }
  /// Ends the newest open range of this id.
  __device__ __forceinline__ void end(std::uint32_t id) { record(event_word(Kind::end, id)); }
  /// Ends the one and begins the other with one time stamp.
  __device__ __forceinline__ void swap(std::uint32_t from, std::uint32_t to) {
    record(event_word(Kind::swap, to, from < max_ids ? from : max_ids));
  }
  __device__ __forceinline__ void instant(std::uint32_t id, std::uint32_t payload = 0) {
    record(event_word(Kind::instant, id, payload));
  }

  __device__ __forceinline__ void value(std::uint32_t id, std::uint32_t value) {
    record(event_word(Kind::value, id, static_cast<std::uint32_t>(ValueType::unsigned_integer)), value);
  }
  __device__ __forceinline__ void value(std::uint32_t id, std::int32_t value) {
    record(event_word(Kind::value, id, static_cast<std::uint32_t>(ValueType::signed_integer)),
           static_cast<std::uint32_t>(value));
  }
  __device__ __forceinline__ void value(std::uint32_t id, float value) {
    record(event_word(Kind::value, id, static_cast<std::uint32_t>(ValueType::floating)), __float_as_uint(value));
  }

  /// A range that another warp of the block may end, or that overlaps others of its id. What begins it and what ends
  /// it give the same token, of 16 bits: the number of the tile, say.
  __device__ __forceinline__ void begin_async(std::uint32_t id, std::uint32_t token) {
    record(event_word(Kind::async_begin, id, token));
  }
  __device__ __forceinline__ void end_async(std::uint32_t id, std::uint32_t token) {
    record(event_word(Kind::async_end, id, token));
  }
  /// An arrow from the warp that calls flow_out to those of its block that call flow_in with the same id and token.
  __device__ __forceinline__ void flow_out(std::uint32_t id, std::uint32_t token) {
    record(event_word(Kind::flow_out, id, token));
  }
  __device__ __forceinline__ void flow_in(std::uint32_t id, std::uint32_t token) {
    record(event_word(Kind::flow_in, id, token));
  }
  /// __syncthreads() as a range. Its end waits for the barrier: an event right behind a plain __syncthreads() may read
  /// the clock too early, because the barrier holds memory operations back and not the clock.
  __device__ __forceinline__ void sync_block(std::uint32_t id) {
    begin(id);
    __syncthreads();
    after_barrier();
    end(id);
  }
  /// Between a barrier of another kind and an event, to the same end.
  __device__ __forceinline__ void after_barrier() {
    if (on_ && (when == When::latest || count_ < slots_)) hold();
  }
  /// Ties the SM's clock to the global timer once more, for kernels that run for many milliseconds while the GPU
  /// changes its clock. Three slots.
  __device__ __forceinline__ void place() {
    const std::uint64_t ns = detail::global_ns();
    record(event_word(Kind::place, 0), static_cast<std::uint32_t>(ns), static_cast<std::uint32_t>(ns >> 32));
  }

  /// A range as long as the object lives, of at most 2^31 clocks. It is stored as one event, at its end; begin() and
  /// end() show a range that is never ended, too.
  template <bool with_payload>
  class BasicScope {
   public:
    __device__ __forceinline__ BasicScope(BasicWarp& warp, std::uint32_t id, std::uint32_t payload)
        : warp_(warp), word_(scope_word(id)), payload_(payload), start_(detail::clock_low()) {}
    __device__ __forceinline__ ~BasicScope() {
      // The bound lets the compiler read the clock the fast way.
      const std::uint32_t duration = __float_as_uint(__uint2float_rz(::min(detail::clock_low() - start_, 0x7FFFFFFFU)));
      std::uint32_t word;  // (duration & scope_duration_bits) | word_, in one instruction
      asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(word) : "r"(duration), "n"(scope_duration_bits), "r"(word_));
      warp_.store(start_, word);
      if constexpr (with_payload) warp_.store(payload_, event_word(Kind::more, 0));
    }
    BasicScope& operator=(BasicScope&&) = delete;  ///< not copied, not moved

   private:
    BasicWarp& warp_;
    std::uint32_t word_, payload_, start_;
  };
  using Scope = BasicScope<false>;
  [[nodiscard]] __device__ __forceinline__ Scope scope(std::uint32_t id) { return Scope(*this, id, 0); }
  /// Takes two slots.
  [[nodiscard]] __device__ __forceinline__ BasicScope<true> scope(std::uint32_t id, std::uint32_t payload) {
    return BasicScope<true>(*this, id, payload);
  }

  /// Says how much was recorded. Calls after it record nothing.
  __device__ __forceinline__ void close() {
    if (last_ == 0) return;
    const std::uint32_t first =
        when == When::first ? last_ - (slots_ - 1) * 8 : static_cast<std::uint32_t>(slots_at_) + last_;
    auto* const header = reinterpret_cast<SliceHeader*>(slots_at_ >> 32 << 32 | first) - 1;
    header->count = count_;
    header->flags = flags | slice_opened | slice_closed;
    const detail::ClockPair now = detail::read_clocks();
    header->close_ns = now.ns;
    header->close_clock = now.clock;
    last_ = 0;
    on_ = false;
  }

 private:
  static constexpr std::uint32_t flags = when == When::latest ? slice_ring : slice_overwrites;

  /// An event, and what fills the slots after it.
  template <class... Contents>
  __device__ __forceinline__ void record(std::uint32_t word, Contents... contents) {
    store(detail::clock_low(), word, (word & 15U) == static_cast<std::uint32_t>(Kind::end) ? high_of_ends_ : high_);
    (store(contents, event_word(Kind::more, 0)), ...);
  }
  /// A store where the next event goes: it waits for a barrier before it.
  __device__ __forceinline__ void hold() {
    const std::uint32_t next = when == When::first ? ::min(low_ + 8, last_) : low_;
    asm volatile("st.global.v2.b32 [%0], {%1, %1};" ::"l"(address(high_, next)), "r"(0) : "memory");
  }
  [[nodiscard]] __device__ __forceinline__ unsigned long long address(std::uint32_t high, std::uint32_t low) const {
    if constexpr (when == When::first) return static_cast<unsigned long long>(high) << 32 | low;
    return slots_at_ >> 32 << 32 | (static_cast<std::uint32_t>(slots_at_) + low);
  }
  /// To the next slot; that of a full slice is the last one. In one instruction.
  __device__ __forceinline__ void move_on() {
    if constexpr (when == When::first)
      asm volatile("{\n\tadd.u32 %0, %0, 8;\n\tmin.u32 %0, %0, %1;\n\t}" : "+r"(low_) : "r"(last_));
    else  // from below 0 to 0, which is before all of them
      asm volatile("{\n\tadd.u32 %0, %0, 8;\n\tmax.u32 %0, %0, %1;\n\t}" : "+r"(low_) : "r"(last_));
  }
  // Four instructions on sm_90 with the clock, and no branch: what does not fit goes to the last slot. How many events
  // there were is not needed meanwhile, so the compiler adds them up, or takes them out of a loop.
  __device__ __forceinline__ void store(std::uint32_t first, std::uint32_t word) { store(first, word, high_); }
  __device__ __forceinline__ void store(std::uint32_t first, std::uint32_t word, std::uint32_t high) {
    ++count_;
    if constexpr (when == When::first) move_on();
    asm volatile(
        "{\n\t.reg .pred on;\n\t"
        "setp.ne.u32 on, %3, 0;\n\t"
        "@on st.global.v2.b32 [%0], {%1, %2};\n\t}" ::"l"(address(high, low_)),
        "r"(first), "r"(word), "r"(static_cast<std::uint32_t>(on_))
        : "memory");
    if constexpr (when == When::latest) move_on();
  }
  unsigned long long slots_at_ = 0;  ///< address of the first slot; of a ring where its slots end
  /// Half of each address; not of a ring. The same number twice, and the compiler does not know that: so it keeps each
  /// beside a low half of its own, where it would else copy it for every other event.
  std::uint32_t high_ = 0, high_of_ends_ = 0;
  std::uint32_t low_ = 0;  ///< half of the address of the newest slot; of a ring from its end to the next slot, below 0
  std::uint32_t last_ = 0;   ///< low half of that of the last slot; of a ring less its bytes; 0: closed or none
  std::uint32_t count_ = 0;  ///< slots that were asked for
  bool on_ = false;
  std::uint32_t slots_;  ///< of the slice: a kernel parameter, which costs no register
};

/// Records nothing, and leaves no instruction behind.
template <When when>
class BasicWarp<false, when> {
 public:
  __device__ __forceinline__ explicit BasicWarp(const View&) {}
  BasicWarp& operator=(BasicWarp&&) = delete;  ///< not copied, not moved
  __device__ __forceinline__ void begin(std::uint32_t, std::uint32_t = 0) {}
  __device__ __forceinline__ void end(std::uint32_t) {}
  __device__ __forceinline__ void swap(std::uint32_t, std::uint32_t) {}
  __device__ __forceinline__ void instant(std::uint32_t, std::uint32_t = 0) {}
  template <class T>
  __device__ __forceinline__ void value(std::uint32_t, T) {}
  __device__ __forceinline__ void begin_async(std::uint32_t, std::uint32_t) {}
  __device__ __forceinline__ void end_async(std::uint32_t, std::uint32_t) {}
  __device__ __forceinline__ void flow_out(std::uint32_t, std::uint32_t) {}
  __device__ __forceinline__ void flow_in(std::uint32_t, std::uint32_t) {}
  __device__ __forceinline__ void sync_block(std::uint32_t) { __syncthreads(); }
  __device__ __forceinline__ void after_barrier() {}
  __device__ __forceinline__ void place() {}
  struct Scope {};
  [[nodiscard]] __device__ __forceinline__ Scope scope(std::uint32_t, std::uint32_t = 0) { return {}; }
  __device__ __forceinline__ void close() {}
};

using NoWarp = BasicWarp<false>;
/// Keeps the first events, and counts those that do not fit.
using Warp = BasicWarp<GPUBENCH_KERNEL_TRACE != 0>;
/// Keeps the latest events.
using RingWarp = BasicWarp<GPUBENCH_KERNEL_TRACE != 0, When::latest>;

}  // namespace gpubench::kernel_trace
