// SPDX-License-Identifier: Apache-2.0
#include "gpubench/check.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <limits>

namespace gpubench {
namespace {

template <class T>
Check all_close_of(std::span<const T> actual, std::span<const T> expected, double relative, double absolute) {
  if (actual.size() != expected.size())
    return {false, fmt::format("the result has {} elements, but the reference has {}", actual.size(), expected.size())};
  std::size_t worst = actual.size();
  double worst_excess = 0.0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    const double allowed = absolute + relative * std::abs(static_cast<double>(expected[i]));
    // A NaN on either side is infinitely far away; an infinity is close to itself alone.
    if (actual[i] == expected[i] || (std::isfinite(difference) && difference <= allowed)) continue;
    const double excess = std::isfinite(difference) ? difference - allowed : std::numeric_limits<double>::infinity();
    if (worst == actual.size() || excess > worst_excess) {
      worst = i;
      worst_excess = excess;
    }
  }
  if (worst == actual.size()) return true;
  return {false, fmt::format("element {} of {} is {}, but the reference has {} (tolerance: {} relative + {} absolute)",
                             worst, actual.size(), actual[worst], expected[worst], relative, absolute)};
}

}  // namespace

Check all_close(std::span<const float> actual, std::span<const float> expected, double relative, double absolute) {
  return all_close_of(actual, expected, relative, absolute);
}

Check all_close(std::span<const double> actual, std::span<const double> expected, double relative, double absolute) {
  return all_close_of(actual, expected, relative, absolute);
}

}  // namespace gpubench
