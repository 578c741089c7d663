// SPDX-License-Identifier: Apache-2.0
#include "timeline/distribution.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gpubench::timeline {
namespace {

template <class Value>
Distribution of(std::vector<Value>& values) {
  Distribution result;
  if (values.empty()) return result;
  std::ranges::sort(values);
  result.count = static_cast<std::int64_t>(values.size());
  for (const Value value : values) result.sum += static_cast<double>(value);
  result.mean = result.sum / static_cast<double>(values.size());
  double squares = 0.0;
  for (const Value value : values) squares += std::pow(static_cast<double>(value) - result.mean, 2);
  if (values.size() > 1) result.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  const auto quantile = [&](double q) {
    const double place = q * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto low = static_cast<double>(values[below]);
    if (below + 1 >= values.size()) return low;
    return low + (place - static_cast<double>(below)) * (static_cast<double>(values[below + 1]) - low);
  };
  result.min = quantile(0.0);
  result.p25 = quantile(0.25);
  result.p50 = quantile(0.5);
  result.p75 = quantile(0.75);
  result.p95 = quantile(0.95);
  result.p99 = quantile(0.99);
  result.max = quantile(1.0);
  return result;
}

}  // namespace

Distribution distribution_of(std::vector<double> values) { return of(values); }
Distribution distribution_of(std::vector<std::int64_t> values) { return of(values); }

}  // namespace gpubench::timeline
