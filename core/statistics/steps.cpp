// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
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

constexpr double smallest_change = 0.01;  // of the median

/// Ranks from 1, those of equal values their mean.
std::vector<double> ranks_in_time(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i) ranks[order[i]] = 0.5 * static_cast<double>(first + last + 1);
  }
  return ranks;
}

/// A step or a drift, whichever explains more of the ranks; steady where chance could have made either.
Steadiness change_in_time(std::span<const double> samples) {
  constexpr double chance = 0.001;
  const auto count = static_cast<double>(samples.size());
  const std::vector<double> ranks = ranks_in_time(samples);
  double sum = 0.0, sum_at_change = 0.0, largest = 0.0, product = 0.0, squares = 0.0;
  std::size_t change = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const double time = static_cast<double>(i) - 0.5 * (count - 1.0);
    const double rank = ranks[i] - 0.5 * (count + 1.0);
    product += time * rank;
    squares += rank * rank;
    sum += rank;
    if (2.0 * std::abs(sum) <= largest) continue;
    largest = 2.0 * std::abs(sum);
    sum_at_change = sum;
    change = i + 1;
  }
  if (2.0 * std::exp(-6.0 * largest * largest / (count * count * (count + 1.0))) >= chance) return {};
  const double by_drift = product * product / (count * (count * count - 1.0) / 12.0);
  const auto before = static_cast<double>(change);
  const double by_step = sum_at_change * sum_at_change * count / (before * (count - before));
  if (!(squares > 0.0)) return {};
  const bool steps = by_step >= by_drift;
  const std::size_t ends = samples.size() / 5;
  return {steps ? Course::step : Course::drift, median(samples.first(steps ? change : ends)),
          median(samples.last(steps ? samples.size() - change : ends))};
}

/// The most of the first samples that all lie to one side of the others, as far as chance does not make as many.
Steadiness beyond_the_others(std::span<const double> samples) {
  constexpr double chance = 0.0005;
  const std::size_t count = samples.size();
  Steadiness found;
  double ways = 1.0;  // to choose so many
  for (std::size_t first = 1; first <= count / 5; ++first) {
    ways *= static_cast<double>(count - first + 1) / static_cast<double>(first);
    const auto [min, max] = std::ranges::minmax(samples.first(first));
    const auto [other_min, other_max] = std::ranges::minmax(samples.subspan(first));
    if ((min > other_max || max < other_min) && 2.0 / ways <= chance)
      found = {Course::cold_start, median(samples.first(first)), median(samples.subspan(first))};
  }
  return found;
}

/// The split of the sorted samples with the least squares about both means, a fifth of them on each side at least.
Steadiness levels_to_and_fro(std::span<const double> samples) {
  constexpr double apart = 6.0;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const Costs cost(sorted, std::vector<double>(sorted.size(), 1.0));
  std::size_t split = sorted.size() / 5;
  for (std::size_t i = split; i <= sorted.size() - sorted.size() / 5; ++i)
    if (cost(0, i) + cost(i, sorted.size()) < cost(0, split) + cost(split, sorted.size())) split = i;
  const std::span all(sorted);
  const Steadiness levels{Course::two_levels, median(all.first(split)), median(all.subspan(split))};
  const double within =
      std::sqrt(std::max(cost(0, split) + cost(split, sorted.size()), 0.0) / static_cast<double>(sorted.size() - 2));
  return levels.to - levels.from > apart * within ? levels : Steadiness{};
}

}  // namespace

Steadiness steadiness_of(std::span<const double> samples) {
  constexpr std::size_t enough = 16;
  constexpr std::size_t enough_for_levels = 40;
  if (samples.size() < enough) return {};
  Steadiness found = change_in_time(samples);
  const double least = smallest_change * std::abs(median(samples));
  const auto is_large = [&](const Steadiness& it) { return std::abs(it.to - it.from) > least; };
  if (found.course != Course::steady && is_large(found)) return found;
  found = beyond_the_others(samples);
  if (found.course != Course::steady && is_large(found)) return found;
  if (samples.size() < enough_for_levels) return {};
  found = levels_to_and_fro(samples);
  return found.course != Course::steady && is_large(found) ? found : Steadiness{};
}

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
