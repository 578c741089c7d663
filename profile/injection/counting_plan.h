// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpubench::profile {

/// Which of a group's launches are counted. Pure.
struct CountingPlan {
  std::uint32_t first = 20;  ///< launches of each set that are counted at once

  struct Group {
    std::uint64_t launches = 0;
    std::vector<std::uint32_t> counted;  ///< by set
  };
  /// Whether the next launch of the group is due in this set: one of the first ones.
  [[nodiscard]] bool due(const Group& group, std::size_t set) const { return group.counted[set] < first; }
  /// Whether it is due again: so many launches have gone by that what was counted is a sixteenth, an eighth, ... less.
  [[nodiscard]] bool due_again(const Group& group, std::size_t set) const {
    const std::uint32_t later = group.counted[set] - first;
    return later < 32 && group.launches >= (std::uint64_t{first} * group.counted.size()) << (later + 4U);
  }
};

}  // namespace gpubench::profile
