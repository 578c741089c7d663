// SPDX-License-Identifier: Apache-2.0
#include "gpu/metric_source.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace gpubench::bench {

static constexpr std::string_view durations_begin = "gpu__time_";

bool is_over_elapsed_time(std::string_view counter) {
  // Not ".avg.per_second": elapsed cycles per second are a clock, which the range cannot bend.
  constexpr std::array<std::string_view, 3> endings = {".pct_of_peak_sustained_elapsed", ".per_cycle_elapsed",
                                                       ".sum.per_second"};
  return counter.starts_with(durations_begin) ||
         std::ranges::any_of(endings, [&](std::string_view ending) { return counter.ends_with(ending); });
}

double over_kernels(std::string_view counter, std::span<const double> values, std::span<const double> durations) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  if (counter.starts_with(durations_begin) || counter.ends_with(".sum")) return sum;
  return std::inner_product(values.begin(), values.end(), durations.begin(), 0.0) /
         std::accumulate(durations.begin(), durations.end(), 0.0);
}

}  // namespace gpubench::bench
