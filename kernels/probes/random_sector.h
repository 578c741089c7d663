// SPDX-License-Identifier: Apache-2.0
// Where random accesses go, on a GPU and on the host.
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

}  // namespace gpubench::probes
