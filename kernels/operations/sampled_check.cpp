// SPDX-License-Identifier: Apache-2.0
#include "kernels/operations/sampled_check.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace gpubench::operations {

std::vector<std::int64_t> sampled_indices(std::int64_t n, std::int64_t samples) {
  constexpr std::int64_t ends = 1024;
  std::vector<std::int64_t> indices;
  if (n <= std::max(samples, 2 * ends)) {
    for (std::int64_t i = 0; i < n; ++i) indices.push_back(i);
    return indices;
  }
  const std::int64_t stride = std::max<std::int64_t>(1, (n - 2 * ends) / samples) | 1;
  for (std::int64_t i = 0; i < ends; ++i) indices.push_back(i);
  for (std::int64_t i = ends; i < n - ends; i += stride) indices.push_back(i);
  for (std::int64_t i = n - ends; i < n; ++i) indices.push_back(i);
  return indices;
}

Check sampled_close(const std::vector<std::int64_t>& indices, const std::function<double(std::int64_t)>& actual,
                    const std::function<double(std::int64_t)>& expected, double relative, double absolute) {
  for (const std::int64_t i : indices) {
    const double is = actual(i);
    const double should = expected(i);
    // Written so that a NaN fails.
    if (!(std::abs(is - should) <= absolute + relative * std::abs(should)))
      return {false, "element " + std::to_string(i) + " is " + std::to_string(is) + ", not " + std::to_string(should)};
  }
  return true;
}

}  // namespace gpubench::operations
