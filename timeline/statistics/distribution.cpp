// SPDX-License-Identifier: Apache-2.0
#include "timeline/statistics/distribution.h"

#include <algorithm>
#include <cmath>

#include "core/statistics/statistics.h"

namespace gpubench::timeline {

Distribution distribution_of(std::vector<double> values) {
  Distribution result;
  if (values.empty()) return result;
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  result.count = static_cast<std::int64_t>(values.size());
  for (const double value : values) result.sum += value;
  result.mean = result.sum / count;
  double squares = 0.0;
  for (const double value : values) squares += std::pow(value - result.mean, 2);
  if (values.size() > 1) result.deviation = std::sqrt(squares / (count - 1.0));
  result.min = values.front();
  result.p25 = statistics::quantile(values, 0.25);
  result.p50 = statistics::quantile(values, 0.5);
  result.p75 = statistics::quantile(values, 0.75);
  result.p95 = statistics::quantile(values, 0.95);
  result.p99 = statistics::quantile(values, 0.99);
  result.max = values.back();
  return result;
}

Distribution distribution_of(const std::vector<std::int64_t>& values) {
  return distribution_of(std::vector<double>(values.begin(), values.end()));
}

}  // namespace gpubench::timeline
