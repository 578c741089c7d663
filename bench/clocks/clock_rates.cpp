// SPDX-License-Identifier: Apache-2.0
#include "bench/clocks/clock_rates.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/time.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {

std::optional<double> core_clock_hz() {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr int runs = 3;
  constexpr int rounds = 128;
  constexpr int additions = 128;
  std::uint64_t sum = 0;
  // Register plus register: recent cores drop additions of small constants at renaming.
  const std::uint64_t step = 3;
  double best = 0.0;
  for (int run = 0; run < runs; ++run) {
    const double start = steady_seconds();
    for (int round = 0; round < rounds; ++round) {
#if defined(__x86_64__)
      asm volatile(".rept 128\n\t add %1, %0\n\t .endr" : "+r"(sum) : "r"(step));
#else
      asm volatile(".rept 128\n\t add %0, %0, %1\n\t .endr" : "+r"(sum) : "r"(step));
#endif
    }
    const double seconds = steady_seconds() - start;
    if (seconds > 0.0) best = std::max(best, static_cast<double>(rounds) * additions / seconds);
  }
  if (best > 0.0) return best;
#endif
  return std::nullopt;
}

std::optional<double> clock_of_sample(std::span<const SmNotes> notes, std::uint32_t number) {
  constexpr unsigned long long min_nanoseconds = 50'000;
  std::vector<double> clocks;
  for (const SmNotes& note : notes) {
    if (note.begin_number != number || note.end_number != number) continue;
    if (note.end_cycles <= note.begin_cycles || note.end_nanoseconds <= note.begin_nanoseconds) continue;
    const auto nanoseconds = note.end_nanoseconds - note.begin_nanoseconds;
    if (nanoseconds < min_nanoseconds) continue;
    clocks.push_back(1e9 * static_cast<double>(note.end_cycles - note.begin_cycles) / static_cast<double>(nanoseconds));
  }
  if (clocks.empty()) return std::nullopt;
  return statistics::median(clocks);
}

std::vector<bool> throttled(std::span<const double> clocks_hz) {
  constexpr double min_share_of_usual = 0.95;
  std::vector<bool> marks(clocks_hz.size(), false);
  if (clocks_hz.empty()) return marks;
  std::vector<double> sorted(clocks_hz.begin(), clocks_hz.end());
  std::ranges::sort(sorted);
  const double min = min_share_of_usual * statistics::quantile(sorted, 0.75);
  const auto below = static_cast<std::size_t>(std::ranges::lower_bound(sorted, min) - sorted.begin());
  if (2 * below >= clocks_hz.size()) return marks;
  for (std::size_t i = 0; i < marks.size(); ++i) marks[i] = clocks_hz[i] < min;
  return marks;
}

}  // namespace gpubench::bench
