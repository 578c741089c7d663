// SPDX-License-Identifier: Apache-2.0
// Collectives over the ranks: what they moved, how long that took once all had entered, and who came late.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

/// One collective, in all ranks of its group that are recorded: the k-th of a group in one rank is the k-th in others.
struct GroupCollective {
  Message message;                    ///< of its first rank; collective 0 where the trace does not tell
  std::vector<std::uint32_t> slices;  ///< by process
  std::int64_t latency_ns = 0;        ///< of the rank that was in it for the shortest time: that of the last to enter
  std::int64_t start_skew_ns = 0, end_skew_ns = 0;  ///< from the first rank to the last
  std::optional<std::int64_t> bytes;                ///< of the whole message
};

struct GroupCollectives {
  std::vector<GroupCollective> all;  ///< by group, then by time
  std::int64_t unmatched = 0;        ///< of some rank, without the same in each other rank of the group
};
GroupCollectives group_collectives(const Linked& linked);

/// core/model/collective.h's, by the name that a trace has. Absent for collectives that it does not know, and for those
/// in which not all ranks send alike.
std::optional<double> bus_factor(std::string_view collective, std::int64_t ranks);

}  // namespace gpubench::timeline
