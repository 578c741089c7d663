// SPDX-License-Identifier: Apache-2.0
#include "bench/clocks/throttling.h"

#include <algorithm>

#include "core/statistics/statistics.h"

namespace gpubench::bench {

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
