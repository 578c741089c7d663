// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/statistics/statistics.h"

namespace gpubench::statistics {
namespace {

/// Weighted sums from the start, so that the cost of any stretch is a difference.
class Costs {
 public:
  Costs(std::span<const double> values, std::span<const double> variance) : sums_(values.size() + 1) {
    const double origin = values.empty() ? 0.0 : values.front();  // keeps the digits of small differences
    Sums sums, *next = sums_.data();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double weight = 1.0 / variance[i];
      const double value = values[i] - origin;
      sums.weights += weight;
      sums.values += weight * value;
      sums.squares += weight * value * value;
      *++next = sums;
    }
  }
  /// Of values first ... last - 1 about their mean.
  [[nodiscard]] double operator()(std::size_t first, std::size_t last) const {
    return between(sums_[first], sums_[last]);
  }

  struct Sums {
    double weights = 0.0, values = 0.0, squares = 0.0;
  };
  [[gnu::always_inline]] static double between(const Sums& first, const Sums& last) {
    const double sum = last.values - first.values;
    return last.squares - first.squares - sum * sum / (last.weights - first.weights);
  }
  [[nodiscard]] const Sums* sums() const { return sums_.data(); }

 private:
  std::vector<Sums> sums_;
};

constexpr std::size_t shortest_level = 2;

/// The best levels up to each end, and where the last of them begins.
class Segmentation {
 public:
  Segmentation(const Costs& cost, std::size_t count, double penalty)
      : sums_(cost.sums()), penalty_(penalty), best_(count + 1), begins_(count + 1) {
    best_[0] = -penalty;  // the first level is no step
    for (std::size_t end = 1; end <= count; ++end) {
      // A level between two others has two values, so it begins two before the end; the newest may have one.
      const std::size_t shortest = end == count ? 1 : shortest_level;
      find_best(end, end > shortest ? end - shortest + 1 : 1);
    }
  }

  [[nodiscard]] std::vector<std::size_t> steps() const {
    std::vector<std::size_t> steps;
    for (std::size_t end = begins_.size() - 1; end > 0 && begins_[end] > 0; end = begins_[end])
      steps.push_back(begins_[end]);
    std::ranges::reverse(steps);
    return steps;
  }

 private:
  static constexpr std::size_t block = 32;  ///< beginnings that are left out together
  static constexpr double rounding = 1e-9;  ///< more than what it makes of sums, as part of their squares

  /// Of the last level's beginnings below `beginnings` the first of the best.
  void find_best(std::size_t end, std::size_t beginnings) {
    const Costs::Sums *const sums = sums_, last = sums[end];
    const double *const best = best_.data(), penalty = penalty_;
    double least = std::numeric_limits<double>::infinity();
    std::size_t place = 0;
    // The beginning that was the best so far is mostly the best again.
    const std::size_t likely = begins_[end - 1];
    const double usual = best[likely] + penalty + Costs::between(sums[likely], last) + rounding * last.squares;
    for (std::size_t first = 0; first < beginnings; first += block) {
      const std::size_t behind = first + block;
      if (behind <= beginnings) {
        if (first / block == floors_.size()) floors_.push_back(floor_of(first));
        // Levels cost no less in one than in two, so no beginning of this block makes less than this.
        if (floors_[first / block] + penalty + Costs::between(sums[behind], last) > usual) continue;
      }
      for (std::size_t i = first, until = std::min(behind, beginnings); i < until; ++i) {
        const double total = best[i] + penalty + Costs::between(sums[i], last);
        if (!(total < least)) continue;
        least = total;
        place = i;
      }
    }
    best_[end] = least;
    begins_[end] = place;
  }

  /// What the best of a block costs up to its end.
  [[nodiscard]] double floor_of(std::size_t first) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = first; i < first + block; ++i)
      least = std::min(least, best_[i] + Costs::between(sums_[i], sums_[first + block]));
    return least;
  }

  const Costs::Sums* sums_;
  double penalty_;
  std::vector<double> best_;
  std::vector<std::size_t> begins_;
  std::vector<double> floors_;
};

constexpr double smallest_change = 0.01;  // of the median

/// Ranks from 1, those of equal values their mean.
std::vector<double> ranks_in_time(std::span<const double> values) {
  const auto order = places_by(values.size(), [&](std::size_t i) { return values[i]; });
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
  const Costs cost(values, variance);
  return Segmentation(cost, values.size(), penalty).steps();
}

double step_penalty(std::size_t length, double significance, double degrees) {
  const double places = std::max(1.0, static_cast<double>(length) - 1.0);
  const double t = student_quantile(0.5 * significance / places, degrees);
  return t * t;
}

std::vector<std::size_t> find_steps_and_noise(std::span<const double> values, std::span<const double> min_variance,
                                              double significance) {
  constexpr int max_rounds = 10;
  const Costs cost(values, min_variance);
  std::vector<double> variance(min_variance.begin(), min_variance.end());
  std::vector<std::size_t> steps = find_steps(values, variance, step_penalty(values.size(), significance));
  for (int round = 0; round < max_rounds && !steps.empty(); ++round) {
    // What is left about the levels, in units of the least variance.
    double squares = 0.0;
    for (std::size_t level = 0; level <= steps.size(); ++level) {
      const std::size_t first = level == 0 ? 0 : steps[level - 1];
      const std::size_t last = level == steps.size() ? values.size() : steps[level];
      squares += cost(first, last);
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
