// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
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

  [[nodiscard]] double weight(std::size_t end) const { return weights_[end]; }
  [[nodiscard]] double sum(std::size_t end) const { return sums_[end]; }
  [[nodiscard]] double square(std::size_t end) const { return squares_[end]; }

 private:
  std::vector<double> weights_{0.0}, sums_{0.0}, squares_{0.0};
};

constexpr std::size_t shortest_level = 2;

/// Where the last level may begin: columns, so that the costs of all beginnings are one vectorised loop.
class Beginnings {
 public:
  explicit Beginnings(std::size_t count) : totals_(count + 2) {}

  void add(std::size_t place, double best, const Costs& cost) {
    places_.push_back(place);
    best_.push_back(best);
    weights_.push_back(cost.weight(place));
    sums_.push_back(cost.sum(place));
    squares_.push_back(cost.square(place));
  }

  /// The first of the best, and what all levels up to `end` cost with it.
  std::pair<std::size_t, double> best_for(std::size_t end, double penalty, const Costs& cost) {
    const double weight = cost.weight(end), sum = cost.sum(end), square = cost.square(end);
    const std::size_t count = places_.size();
    double* const totals = totals_.data();
    const double *const best = best_.data(), *const weights = weights_.data(), *const sums = sums_.data(),
                        *const squares = squares_.data();
    for (std::size_t i = 0; i < count; ++i) {
      const double part = sum - sums[i];
      totals[i] = best[i] + penalty + (square - squares[i] - part * part / (weight - weights[i]));
    }
    // Lanes, so that each minimum does not wait for the one before.
    std::array<double, 8> lanes;
    lanes.fill(totals[0]);
    std::size_t next = 0;
    for (; next + lanes.size() <= count; next += lanes.size())
      for (std::size_t lane = 0; lane < lanes.size(); ++lane)
        lanes[lane] = totals[next + lane] < lanes[lane] ? totals[next + lane] : lanes[lane];
    double least = std::ranges::min(lanes);
    for (; next < count; ++next) least = std::min(least, totals[next]);
    penalty_ = penalty;
    const auto place = static_cast<std::size_t>(std::find(totals, totals + count, least) - totals);
    return {places_[place], least};
  }

  /// Those that are dearer up to here than the best levels that end here are dearer for each later end, too, since a
  /// level may begin here (PELT). But not one that ends at once: it would be too short, so they go one end later.
  void mark(double best) {
    marked_ = 0;
    keep_.assign(places_.size(), true);
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (totals_[i] - penalty_ >= best) keep_[i] = false, ++marked_;
  }
  void remove_marked() {
    if (marked_ == 0) return;
    keep_.resize(places_.size(), true);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (!keep_[i]) continue;
      places_[kept] = places_[i];
      for (auto* const column : {&best_, &weights_, &sums_, &squares_}) (*column)[kept] = (*column)[i];
      ++kept;
    }
    places_.resize(kept);
    for (auto* const column : {&best_, &weights_, &sums_, &squares_}) column->resize(kept);
    marked_ = 0;
  }

 private:
  std::vector<std::size_t> places_;
  std::vector<double> best_, weights_, sums_, squares_, totals_;
  std::vector<bool> keep_;
  std::size_t marked_ = 0;
  double penalty_ = 0.0;
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
  constexpr std::size_t between_prunings = 16;
  const std::size_t count = values.size();
  const Costs cost(values, variance);
  std::vector<double> best(count + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> begins(count + 1, 0);
  best[0] = -penalty;  // the first level is no step
  Beginnings beginnings(count);
  beginnings.add(0, best[0], cost);
  for (std::size_t end = 1; end <= count; ++end) {
    // A level between two others has two values, so it begins two before the end; the newest may have one.
    if (end > shortest_level) beginnings.add(end - shortest_level, best[end - shortest_level], cost);
    if (end == count && end > 1) beginnings.add(end - 1, best[end - 1], cost);
    std::tie(begins[end], best[end]) = beginnings.best_for(end, penalty, cost);
    if (end % between_prunings == 0) beginnings.mark(best[end]);
    if (end % between_prunings == 1) beginnings.remove_marked();
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
