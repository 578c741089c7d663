// SPDX-License-Identifier: Apache-2.0
// Always optimised: a chase through the stack would be slower than the L1 it is to measure.
#include <cstring>

#include "kernels/probes/access_order.h"
#include "kernels/probes/host/probes.h"

namespace gpubench::probes {

void make_host_chain(std::byte* memory, std::uint32_t lines, std::uint64_t seed) {
  const int half_bits = half_bits_for(lines);
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
