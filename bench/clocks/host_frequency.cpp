// SPDX-License-Identifier: Apache-2.0
#include "bench/clocks/host_frequency.h"

#include <algorithm>
#include <cstdint>

#include "core/base/time.h"

namespace gpubench::bench {

std::optional<double> core_clock_hz() {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr int runs = 3;
  constexpr int rounds = 128;
  constexpr int additions = 128;
  std::uint64_t sum = 0;
  // Register plus register: recent cores drop additions of small constants at renaming, which would read as a faster
  // clock.
  const std::uint64_t step = 3;
  double best = 0.0;
  for (int run = 0; run < runs; ++run) {
    const double start = steady_seconds();
    for (int round = 0; round < rounds; ++round) {
#if defined(__x86_64__)
      asm volatile(
          ".rept 128\n\t"
          "add %1, %0\n\t"
          ".endr"
          : "+r"(sum)
          : "r"(step));
#else
      asm volatile(
          ".rept 128\n\t"
          "add %0, %0, %1\n\t"
          ".endr"
          : "+r"(sum)
          : "r"(step));
#endif
    }
    const double seconds = steady_seconds() - start;
    if (seconds > 0.0) best = std::max(best, static_cast<double>(rounds) * additions / seconds);
  }
  if (best > 0.0) return best;
#endif
  return std::nullopt;
}

}  // namespace gpubench::bench
