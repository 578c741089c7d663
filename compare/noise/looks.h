// SPDX-License-Identifier: Apache-2.0
// When pairs of processes are looked at while more are to come: seldom, for each look costs certainty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numbers>

namespace gpubench::compare {

/// With fewer pairs the differences' spread is hardly known.
inline constexpr std::size_t min_pairs = 4;

/// Looks count from 1 and come after 4, 6, 8, 10, 12, 14, 16, 20, 24, 30, ... pairs.
inline std::size_t pairs_due(int look) {
  std::size_t due = min_pairs;
  for (int i = 1; i < look; ++i) due += std::max<std::size_t>(2, due / 8 * 2);
  return due;
}

/// Of the significance, 6 / (pi look)^2: in all 1, so that looking often makes no false alarms.
inline double share_of_look(int look) { return 6.0 / (std::numbers::pi * std::numbers::pi * look * look); }

}  // namespace gpubench::compare
