// SPDX-License-Identifier: Apache-2.0
#include "gpu/profiling/sm_notes.h"

#include <vector>

#include "core/statistics/statistics.h"

namespace gpubench::bench {

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

}  // namespace gpubench::bench
