// SPDX-License-Identifier: Apache-2.0
// The memory into which warps record events, byte for byte: what kernels write (CUDA, Triton) and the host decodes.
// All numbers are little-endian. docs/trace-inside-a-kernel.md says how kernels of other languages write it.
//
//   BufferHeader                              64 bytes
//   std::uint32_t claims[blocks * warps]      how often a warp opened its place; padded to 64 bytes
//   slices[launches * blocks * warps]         slice_bytes(slots) each: SliceHeader, then `slots` events of 8 bytes
//
// Slice n * blocks * warps + block * warps + warp belongs to the warp that opened its place as number n, from 0 on.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define GPUBENCH_HOST_DEVICE __host__ __device__
#else
#define GPUBENCH_HOST_DEVICE
#endif

namespace gpubench::kernel_trace {

inline constexpr std::uint32_t buffer_magic = 0x544B4247;  // "GBKT"
inline constexpr std::uint32_t buffer_version = 1;
inline constexpr std::uint32_t max_ids = 4095;  ///< ids are below; it stands for all that are not

/// An event is two words: the low half of %clock64, then this: kind in bits 0 to 3, id in bits 4 to 15, payload in
/// bits 16 to 31. A slot whose second word is 0 was never written.
enum class Kind : std::uint32_t {
  none,
  begin,
  end,
  swap,         ///< ends the range whose id is the payload, and begins its own at the same time
  instant,      ///< a point in time
  value,        ///< a counter; its value is in the next slot, its type in the payload
  more,         ///< the second slot of the event before; the first word is its content
  async_begin,  ///< payload: token
  async_end,    ///< payload: token
  flow_out,     ///< payload: token
  flow_in,      ///< payload: token
  place,        ///< the clock at a moment of %globaltimer, whose halves are in the next two slots, the low one first
  scope  ///< a whole range, stored at its end, with the clock at its beginning: scope_word. A payload is in the next
         ///< slot
};
enum class ValueType : std::uint32_t { unsigned_integer, signed_integer, floating };

GPUBENCH_HOST_DEVICE constexpr std::uint32_t event_word(Kind kind, std::uint32_t id, std::uint32_t payload = 0) {
  return static_cast<std::uint32_t>(kind) | (id < max_ids ? id : max_ids) << 4 | payload << 16;
}

/// Of a scope, the second word: the low 8 bits of the id from bit 4 on, its high 4 bits from bit 28 on, and between
/// them those bits of the duration in clocks as a float that tell 1 to 2^32 clocks apart: exact below 4096 clocks, else
/// short by up to 1/2048.
GPUBENCH_HOST_DEVICE constexpr std::uint32_t scope_word(std::uint32_t id) {
  const std::uint32_t number = id < max_ids ? id : max_ids;
  return static_cast<std::uint32_t>(Kind::scope) | (number & 0xFFU) << 4 | number >> 8 << 28;
}
inline constexpr std::uint32_t scope_duration_bits = 0x0FFFF000;

struct BufferHeader {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t blocks;  ///< places of blocks in a launch
  std::uint32_t warps;   ///< places of warps in a block
  std::uint32_t slots;   ///< of a warp in one launch
  std::uint32_t launches;
  std::uint32_t enabled;  ///< 0: nothing is recorded
  std::uint32_t slice_offset;
  std::uint64_t refused;  ///< counts warps that found no slice
  std::uint64_t bytes;    ///< of the whole buffer
  std::uint64_t reserved[2];
};
static_assert(sizeof(BufferHeader) == 64);

struct SliceHeader {
  std::uint64_t open_ns;  ///< %globaltimer
  std::uint64_t open_clock;
  std::uint64_t close_ns;  ///< 0 until closed
  std::uint64_t close_clock;
  std::uint32_t block;  ///< x + grid_x * (y + grid_y * z)
  std::uint32_t launch;
  std::uint32_t warp_and_sm;  ///< warp in the block in bits 0 to 15, SM above
  std::uint32_t flags;
  std::uint32_t count;  ///< slots that were asked for; those beyond the capacity were dropped, or overwrote old ones
  std::uint32_t grid_x;
  std::uint32_t grid_y;
  std::uint32_t reserved;
};
static_assert(sizeof(SliceHeader) == 64);
/// Flags of a slice.
inline constexpr std::uint32_t slice_opened = 1;
inline constexpr std::uint32_t slice_closed = 2;   ///< count and the readings of the clocks at the end are there
inline constexpr std::uint32_t slice_ring = 4;     ///< keeps the latest events
inline constexpr std::uint32_t slice_counted = 8;  ///< count is there all the time: events take their slots from it
inline constexpr std::uint32_t slice_timer = 16;   ///< an event's first word is the low half of %globaltimer
/// What does not fit goes to the last slot, one over the other: it counts where no more than all slots were asked for.
inline constexpr std::uint32_t slice_overwrites = 32;

GPUBENCH_HOST_DEVICE constexpr std::uint64_t slice_bytes(std::uint32_t slots) {
  return (sizeof(SliceHeader) + std::uint64_t{slots} * 8 + 63) / 64 * 64;
}
GPUBENCH_HOST_DEVICE constexpr std::uint64_t claim_bytes(std::uint64_t blocks, std::uint64_t warps) {
  return (blocks * warps * 4 + 63) / 64 * 64;
}
/// A ring's slots are a power of two.
GPUBENCH_HOST_DEVICE constexpr std::uint32_t ring_slots(std::uint32_t slots) {
  std::uint32_t result = slots;
  for (std::uint32_t shift = 1; shift < 32; shift *= 2) result |= result >> shift;
  return result - (result >> 1);
}

}  // namespace gpubench::kernel_trace
