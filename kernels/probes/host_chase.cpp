// SPDX-License-Identifier: Apache-2.0
// Always optimised: a chase through the stack would be slower than the L1 it is to measure.
#include "kernels/probes/host_chase.h"

#include <cstring>

namespace gpubench::probes {
namespace {

/// A bijection of the numbers below `lines`, different for each seed, as in cuda_latency.cu: four rounds of a Feistel
/// network over the next larger even number of bits (Luby and Rackoff, SIAM J. Computing 17, 1988), gone through again
/// while the result is too large (cycle walking; Black and Rogaway, CT-RSA 2002).
std::uint32_t shuffled(std::uint32_t i, std::uint32_t lines, int half_bits, std::uint64_t seed) {
  const std::uint32_t mask = (1U << half_bits) - 1U;
  do {
    std::uint32_t left = i >> half_bits;
    std::uint32_t right = i & mask;
    for (std::uint32_t round = 0; round < 4; ++round) {
      // The finaliser of MurmurHash3 as the round's function.
      std::uint32_t h = right ^ static_cast<std::uint32_t>(seed >> (8 * round)) ^ (round * 0x9E3779B9U);
      h ^= h >> 16;
      h *= 0x85EBCA6BU;
      h ^= h >> 13;
      h *= 0xC2B2AE35U;
      h ^= h >> 16;
      const std::uint32_t next = left ^ (h & mask);
      left = right;
      right = next;
    }
    i = (left << half_bits) | right;
  } while (i >= lines);
  return i;
}

}  // namespace

void make_host_chain(std::byte* memory, std::uint32_t lines, std::uint64_t seed) {
  int half_bits = 1;
  while ((std::uint64_t{1} << (2 * half_bits)) < lines) ++half_bits;
#pragma omp parallel for schedule(static)
  for (std::uint32_t i = 0; i < lines; ++i) {
    std::byte* const here = memory + shuffled(i, lines, half_bits, seed) * host_line_bytes;
    std::byte* const next = memory + shuffled(i + 1 == lines ? 0 : i + 1, lines, half_bits, seed) * host_line_bytes;
    std::memcpy(here, static_cast<const void*>(&next), sizeof next);
  }
}

const std::byte* chase_host_chain(const std::byte* from, std::int64_t steps) {
  const void* at = from;
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < steps; ++i) at = *static_cast<const void* const*>(at);
  return static_cast<const std::byte*>(at);
}

}  // namespace gpubench::probes
