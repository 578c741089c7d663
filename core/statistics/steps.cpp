// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "core/statistics/statistics.h"

namespace gpubench::statistics {
namespace {

/// Weighted sums from the start, so that the cost of any stretch is a difference.
class Costs {
 public:
  Costs(std::span<const double> values, std::span<const double> variance) {
    const double origin = values.empty() ? 0.0 : values.front();  // keeps the digits of small differences
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double weight = 1.0 / variance[i];
      const double value = values[i] - origin;
      weights_.push_back(weights_.back() + weight);
      sums_.push_back(sums_.back() + weight * value);
      squares_.push_back(squares_.back() + weight * value * value);
    }
  }
  /// Of values first ... last - 1 about their mean.
  [[nodiscard]] double operator()(std::size_t first, std::size_t last) const {
    const double sum = sums_[last] - sums_[first];
    return squares_[last] - squares_[first] - sum * sum / (weights_[last] - weights_[first]);
  }

 private:
  std::vector<double> weights_{0.0}, sums_{0.0}, squares_{0.0};
};

}  // namespace

std::vector<std::size_t> find_steps(std::span<const double> values, std::span<const double> variance, double penalty) {
  constexpr std::size_t shortest = 2;
  const std::size_t count = values.size();
  const Costs cost(values, variance);
  std::vector<double> best(count + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> begins(count + 1, 0);
  best[0] = -penalty;  // the first level is no step
  for (std::size_t end = 1; end <= count; ++end)
    for (std::size_t first = 0; first < end; ++first) {
      if (end - first < shortest && first != 0 && end != count) continue;
      const double total = best[first] + penalty + cost(first, end);
      if (total < best[end]) {
        best[end] = total;
        begins[end] = first;
      }
    }
  std::vector<std::size_t> steps;
  for (std::size_t end = count; end > 0 && begins[end] > 0; end = begins[end]) steps.push_back(begins[end]);
  std::ranges::reverse(steps);
  return steps;
}

double step_penalty(std::size_t length, double significance, double degrees) {
  const double places = std::max(1.0, static_cast<double>(length) - 1.0);
  const double t = student_quantile(0.5 * significance / places, degrees);
  return t * t;
}

std::vector<std::size_t> find_steps_and_noise(std::span<const double> values, std::span<const double> min_variance,
                                              double significance) {
  constexpr int max_rounds = 10;
  std::vector<double> variance(min_variance.begin(), min_variance.end());
  std::vector<std::size_t> steps = find_steps(values, variance, step_penalty(values.size(), significance));
  for (int round = 0; round < max_rounds && !steps.empty(); ++round) {
    // What is left about the levels, in units of the least variance.
    double squares = 0.0;
    for (std::size_t level = 0; level <= steps.size(); ++level) {
      const std::size_t first = level == 0 ? 0 : steps[level - 1];
      const std::size_t last = level == steps.size() ? values.size() : steps[level];
      squares += Costs(values, min_variance)(first, last);
    }
    const double degrees = static_cast<double>(values.size()) - 1.0 - static_cast<double>(steps.size());
    if (degrees < 1.0) break;  // too short to tell: the least variance stands
    const double excess = squares / degrees;
    if (excess <= 1.0) break;
    for (std::size_t i = 0; i < variance.size(); ++i) variance[i] = excess * min_variance[i];
    auto fewer = find_steps(values, variance, step_penalty(values.size(), significance, degrees));
    if (fewer == steps) break;
    steps = std::move(fewer);
  }
  return steps;
}

}  // namespace gpubench::statistics
