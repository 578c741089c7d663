// SPDX-License-Identifier: Apache-2.0
// Where random accesses and pointer chases go, on a GPU and on the host.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define GPUBENCH_BOTH_SIDES __host__ __device__
#else
#define GPUBENCH_BOTH_SIDES
#endif

namespace gpubench::probes {

/// What L2 sends at least.
inline constexpr std::uint32_t sector_bytes = 32;

/// A bijection of the 32-bit numbers: the finaliser of MurmurHash3.
GPUBENCH_BOTH_SIDES constexpr std::uint32_t scattered(std::uint32_t i) {
  i ^= i >> 16;
  i *= 0x85EBCA6BU;
  i ^= i >> 13;
  i *= 0xC2B2AE35U;
  return i ^ (i >> 16);
}

/// The sector of access number i. All 2^32 of them together go to each of the sectors equally often, within one.
GPUBENCH_BOTH_SIDES constexpr std::uint32_t random_sector(std::uint32_t i, std::uint32_t sectors) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(scattered(i)) * sectors >> 32);
}

/// Half the bits of the next larger even number of bits that count `lines`.
inline int half_bits_for(std::uint32_t lines) {
  int half_bits = 1;
  while ((std::uint64_t{1} << (2 * half_bits)) < lines) ++half_bits;
  return half_bits;
}

/// A bijection of the numbers below `lines`, different for each seed: four rounds of a Feistel network over the next
/// larger even number of bits (Luby and Rackoff, SIAM J. Computing 17, 1988), gone through again while the result is
/// too large (cycle walking; Black and Rogaway, CT-RSA 2002). `half_bits` is half_bits_for(lines).
GPUBENCH_BOTH_SIDES inline std::uint32_t shuffled(std::uint32_t i, std::uint32_t lines, int half_bits,
                                                  std::uint64_t seed) {
  const std::uint32_t mask = (1U << half_bits) - 1U;
  do {
    std::uint32_t left = i >> half_bits;
    std::uint32_t right = i & mask;
    for (std::uint32_t round = 0; round < 4; ++round) {
      const std::uint32_t h =
          scattered(right ^ static_cast<std::uint32_t>(seed >> (8 * round)) ^ (round * 0x9E3779B9U));
      const std::uint32_t next = left ^ (h & mask);
      left = right;
      right = next;
    }
    i = (left << half_bits) | right;
  } while (i >= lines);
  return i;
}

}  // namespace gpubench::probes
