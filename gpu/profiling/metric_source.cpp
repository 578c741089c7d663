// SPDX-License-Identifier: Apache-2.0
#include "gpu/profiling/metric_source.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace gpubench::bench {

static constexpr std::string_view durations_begin = "gpu__time_";

bool is_over_elapsed_time(std::string_view counter) {
  // Not ".avg.per_second": elapsed cycles per second are a clock, which the range cannot bend.
  constexpr std::array<std::string_view, 3> endings = {".pct_of_peak_sustained_elapsed", ".per_cycle_elapsed",
                                                       ".sum.per_second"};
  return counter.starts_with(durations_begin) ||
         std::ranges::any_of(endings, [&](std::string_view ending) { return counter.ends_with(ending); });
}

std::optional<double> over_all_kernels(std::string_view counter, std::span<const std::optional<double>> values,
                                       std::span<const std::optional<double>> durations) {
  if (values.empty() || values.size() != durations.size()) return std::nullopt;
  double sum = 0.0;
  double weighted = 0.0;
  double weights = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i] || !durations[i]) return std::nullopt;
    sum += *values[i];
    weighted += *values[i] * *durations[i];
    weights += *durations[i];
  }
  const double result = counter.starts_with(durations_begin) ? sum : weighted / weights;
  return std::isfinite(result) ? std::optional(result) : std::nullopt;
}

}  // namespace gpubench::bench
