// SPDX-License-Identifier: Apache-2.0
// What many durations, lengths or rates look like together.
#pragma once

#include <cstdint>
#include <vector>

namespace gpubench::timeline {

/// Quantiles by linear interpolation between neighbours (type 7 of Hyndman and Fan 1996), as numpy and pandas take
/// them; the standard deviation is that of a sample. All 0 for none.
struct Distribution {
  std::int64_t count = 0;
  double sum = 0.0, mean = 0.0, deviation = 0.0;
  double min = 0.0, p25 = 0.0, p50 = 0.0, p75 = 0.0, p95 = 0.0, p99 = 0.0, max = 0.0;
  friend bool operator==(const Distribution&, const Distribution&) = default;
};
Distribution distribution_of(std::vector<double> values);
Distribution distribution_of(const std::vector<std::int64_t>& values);

}  // namespace gpubench::timeline
