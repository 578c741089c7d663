// SPDX-License-Identifier: Apache-2.0
// Who waits for whom in a program of several processes: collectives of one name that run at the same time are one. All
// ranks leave a collective at the same time, and the last to enter decides when.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "timeline/timeline.h"

namespace gpubench::timeline {

struct RankWait {
  std::uint32_t process = 0;
  std::int64_t last = 0;             ///< collectives that it entered last
  std::int64_t waited_ns = 0;        ///< of its time in collectives: before the last of the others had entered
  std::int64_t kept_waiting_ns = 0;  ///< of the others together, for this one
  std::int64_t clock_ns = 0;         ///< how far its clock is ahead of the first process's; taken off above
};

struct Collective {
  std::vector<std::uint32_t> slices;  ///< by process, in the order of Stragglers::ranks
  std::uint32_t last = 0;             ///< in Stragglers::ranks
  std::int64_t waited_ns = 0;         ///< of the first to enter
};

/// Clocks are held to differ where collectives end at times that differ by more than `same_clock_ns` in the median.
struct Stragglers {
  static constexpr std::int64_t same_clock_ns = 1'000'000;
  std::vector<RankWait> ranks;          ///< processes with collectives
  std::vector<Collective> collectives;  ///< by time
  std::int64_t unmatched = 0;           ///< collectives of some process that have no partner in each other process
  std::string reason;                   ///< why there is nothing to say; empty where there is
};
/// Throws std::invalid_argument as `analyze`.
Stragglers stragglers(const Timeline& timeline);

}  // namespace gpubench::timeline
