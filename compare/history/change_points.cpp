// SPDX-License-Identifier: Apache-2.0
#include "compare/history/change_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

constexpr std::size_t neighbours_aside = 2;  ///< of which a value's usual place is the median, with its own
constexpr double outlier_deviations = 3.0;
constexpr double max_correlation = 0.9;

constexpr int shuffles = 199;
constexpr double max_rearranged_p = 0.02;
constexpr std::size_t min_parts = 4;         ///< of a level, that can be rearranged
constexpr std::size_t min_all_parts = 10;    ///< of both levels: fewer have too few arrangements for a rare one
constexpr std::size_t max_rearranged = 100;  ///< values of a level: those next to the change
constexpr std::size_t max_short_level = 12;  ///< longer ones are not made of outliers
constexpr std::size_t ramp_places = 24;      ///< for each end of a slope
constexpr std::size_t min_ramp = 4;          ///< entries that a drift takes, at least
constexpr std::size_t min_lone_ramp = 10;    ///< where one step would do

/// splitmix64 (Vigna): the same numbers everywhere, which std::shuffle does not promise.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t end) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<std::size_t>(((z ^ (z >> 31U)) >> 32U) * end >> 32U);
  }

 private:
  std::uint64_t state_;
};

/// The first and the last value stay, and those beside them as far as these are like them: they may be a new level.
std::vector<double> without_outliers(std::span<const double> values, std::span<const double> variance) {
  std::vector<double> result(values.begin(), values.end());
  for (std::size_t i = 1; i + 1 < values.size(); ++i) {
    const std::size_t aside = std::min({neighbours_aside, i, values.size() - 1 - i});
    std::array<double, 2 * neighbours_aside + 1> near{};
    const auto end = std::ranges::copy(values.subspan(i - aside, 2 * aside + 1), near.begin()).out;
    std::nth_element(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(aside), end);
    const double usual = near[aside];
    const double reach = outlier_deviations * std::sqrt(variance[i]);
    result[i] = std::clamp(values[i], usual - reach, usual + reach);
  }
  return result;
}

double median_distance(std::span<const double> values, std::size_t lag) {
  std::vector<double> distances;
  for (std::size_t i = lag; i < values.size(); ++i) distances.push_back(std::abs(values[i] - values[i - lag]));
  return statistics::median(distances);
}

struct Level {
  double mean = 0.0;
  double variance = 0.0;  ///< of the mean
};
Level level_of(std::span<const double> values, std::span<const double> variance, std::size_t first, std::size_t last) {
  double weight = 0.0, sum = 0.0;
  for (std::size_t i = first; i < last; ++i) {
    weight += 1.0 / variance[i];
    sum += values[i] / variance[i];
  }
  return {sum / weight, 1.0 / weight};
}

double squares_about(std::span<const double> values, std::span<const double> variance, std::size_t first,
                     std::size_t last) {
  const double mean = level_of(values, variance, first, last).mean;
  double sum = 0.0;
  for (std::size_t i = first; i < last; ++i) sum += (values[i] - mean) * (values[i] - mean) / variance[i];
  return sum;
}

/// The largest difference between the means of any two parts, in units of what chance gives a part of that size.
double largest_contrast(const std::vector<double>& parts) {
  const auto count = static_cast<double>(parts.size());
  const double mean = std::accumulate(parts.begin(), parts.end(), 0.0) / count;
  double sum = 0.0, largest = 0.0;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    sum += parts[i] - mean;
    const auto before = static_cast<double>(i + 1);
    largest = std::max(largest, sum * sum / (before * (count - before)));
  }
  return largest;
}

/// What rearrangements of the values about a change are as extreme. Values that go together stay together, in parts.
std::optional<double> rearranged_p(std::span<const double> values, std::size_t first, std::size_t change,
                                   std::size_t last, std::size_t part) {
  first = std::max(first, change - std::min(change, max_rearranged));
  last = std::min(last, change + max_rearranged);
  const std::size_t before = (change - first) / part, after = (last - change) / part;
  if (std::min(before, after) < min_parts || before + after < min_all_parts) return std::nullopt;
  std::vector<double> parts;
  for (std::size_t i = first + (change - first) % part; i + part <= last; i += part)
    parts.push_back(std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(i),
                                    values.begin() + static_cast<std::ptrdiff_t>(i + part), 0.0));
  const double found = largest_contrast(parts) * (1.0 - 1e-12);
  Numbers numbers(change);
  int as_extreme = 0;
  for (int round = 0; round < shuffles; ++round) {
    for (std::size_t i = parts.size() - 1; i > 0; --i) std::swap(parts[i], parts[numbers.below(i + 1)]);
    as_extreme += largest_contrast(parts) >= found ? 1 : 0;
    if (as_extreme > max_rearranged_p * (shuffles + 1)) break;  // decided
  }
  return (1.0 + as_extreme) / (1.0 + shuffles);
}

/// A level, a slope and a level, by least squares.
struct Ramp {
  std::size_t first = 0, last = 0;
  double before = 0.0, after = 0.0;
  double squares = std::numeric_limits<double>::infinity();
};

/// Sums from the start, so that each slope costs as little as the other.
class Ramps {
 public:
  Ramps(std::span<const double> values, std::span<const double> variance, std::size_t begin, std::size_t end)
      : begin_(begin), origin_(values[begin]), sums_{Sums()} {
    for (std::size_t i = begin; i < end; ++i) {
      const double weight = 1.0 / variance[i], value = values[i] - origin_, place = static_cast<double>(i - begin);
      Sums sums = sums_.back();
      const std::array<double, sums_of> more = {weight,         weight * place,         weight * place * place,
                                                weight * value, weight * place * value, weight * value * value};
      for (std::size_t k = 0; k < sums_of; ++k) sums[k] += more[k];
      sums_.push_back(sums);
    }
  }

  [[nodiscard]] Ramp best(std::size_t min_length) const {
    Ramp best;
    const std::size_t count = sums_.size() - 1;
    const std::size_t stride = std::max<std::size_t>(1, count / ramp_places);
    for (std::size_t first = 1; first + min_length < count; first += stride)
      for (std::size_t last = first + min_length - 1; last < count; last += stride)
        if (const Ramp ramp = between(first, last); ramp.squares < best.squares) best = ramp;
    return best;
  }

 private:
  static constexpr std::size_t sums_of = 6;
  using Sums = std::array<double, sums_of>;  ///< of weights w, w i, w i i, w v, w i v, w v v

  /// The slope begins with `first` and has arrived at `last`.
  [[nodiscard]] Ramp between(std::size_t first, std::size_t last) const {
    const Sums &low = sums_[first], &high = sums_[last], &all = sums_.back();
    const double length = static_cast<double>(last - first + 1), offset = 1.0 - static_cast<double>(first);
    Sums on{};  // the slope's own
    for (std::size_t k = 0; k < sums_of; ++k) on[k] = high[k] - low[k];
    // Of x, which is (i + offset) / length on the slope, 0 before and 1 from `last` on.
    const double behind = all[0] - high[0];
    const double x = (on[1] + offset * on[0]) / length + behind;
    const double xx = (on[2] + 2.0 * offset * on[1] + offset * offset * on[0]) / (length * length) + behind;
    const double xv = (on[4] + offset * on[3]) / length + all[3] - high[3];
    const double spread = xx - x * x / all[0], slope = (xv - x * all[3] / all[0]) / spread;
    if (!(spread > 0.0)) return {};
    const double before = origin_ + (all[3] - slope * x) / all[0];
    return {begin_ + first, begin_ + last, before, before + slope,
            std::max(all[5] - all[3] * all[3] / all[0] - slope * (xv - x * all[3] / all[0]), 0.0)};
  }

  std::size_t begin_;
  double origin_;
  std::vector<Sums> sums_;
};

/// The chance that outliers make a short level: of all other values the part that lies half as far from its own level,
/// and how likely so many of them come together as the level has, at any place that it could have (binomial).
double chance_of_outliers(std::span<const double> values, const std::vector<std::size_t>& steps, std::size_t level,
                          double beside, double size) {
  std::size_t others = 0, far = 0, length = 0, far_in_level = 0;
  for (std::size_t i = 0; i <= steps.size(); ++i) {
    const std::size_t first = i == 0 ? 0 : steps[i - 1], last = i == steps.size() ? values.size() : steps[i];
    const auto own = values.subspan(first, last - first);
    const double usual = i == level ? beside : statistics::median(own);
    const auto count = static_cast<std::size_t>(
        std::ranges::count_if(own, [&](double value) { return std::abs(value - usual) >= 0.5 * std::abs(size); }));
    (i == level ? length : others) += own.size();
    (i == level ? far_in_level : far) += count;
  }
  // One that was seen is taken for two: chance may have shown fewer than there are.
  const double part = far == 0 ? 0.0 : static_cast<double>(far + 1) / static_cast<double>(others + 1);
  double chance = 0.0, ways = 1.0;
  for (std::size_t k = 0; k <= length; ++k) {
    if (k >= far_in_level)
      chance += ways * std::pow(part, static_cast<double>(k)) * std::pow(1.0 - part, static_cast<double>(length - k));
    ways *= static_cast<double>(length - k) / static_cast<double>(k + 1);
  }
  const bool at_an_end = level == 0 || level == steps.size();
  return std::min(1.0, (at_an_end ? 1.0 : static_cast<double>(values.size())) * chance);
}

class Series {
 public:
  Series(std::span<const double> values, std::vector<double> variance, double significance, double correlation)
      : all_(values),
        values_(without_outliers(values, variance)),
        variance_(std::move(variance)),
        significance_(significance) {
    // Of the mean of many such values, over that of independent ones.
    const double inflation = (1.0 + correlation) / (1.0 - correlation);
    part_ = static_cast<std::size_t>(std::lround(inflation));
    for (double& each : variance_) each *= inflation;
  }

  std::vector<ChangePoint> changes() {
    steps_ = statistics::find_steps_and_noise(values_, variance_, significance_);
    if (steps_.empty()) return {};
    enlarge_variance();
    drop_what_chance_makes();
    return with_drifts();
  }

 private:
  [[nodiscard]] std::size_t begin_of(std::size_t step) const { return step == 0 ? 0 : steps_[step - 1]; }
  [[nodiscard]] std::size_t end_of(std::size_t step) const {
    return step + 1 == steps_.size() ? values_.size() : steps_[step + 1];
  }

  /// As find_steps_and_noise did: what is left about the levels is noise too.
  void enlarge_variance() {
    double squares = 0.0;
    for (std::size_t level = 0; level <= steps_.size(); ++level)
      squares +=
          squares_about(values_, variance_, begin_of(level), level == steps_.size() ? values_.size() : steps_[level]);
    degrees_ = static_cast<double>(values_.size() - 1 - steps_.size());
    const double excess = degrees_ >= 1.0 ? squares / degrees_ : 1.0;
    if (excess > 1.0)
      for (double& each : variance_) each *= excess;
    else
      degrees_ = std::numeric_limits<double>::infinity();
  }

  void drop_what_chance_makes() {
    while (true) {
      rearranged_.clear();
      std::vector<double> doubt;
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        rearranged_.push_back(rearranged_p(values_, begin_of(i), steps_[i], end_of(i), part_));
        const ChangePoint step = step_at(i);
        doubt.push_back(rearranged_[i].value_or(0.0));
        const std::size_t before = steps_[i] - begin_of(i), after = end_of(i) - steps_[i];
        if (std::min(before, after) <= max_short_level)
          // Rearranging cannot show more than 1 in 200; this can, so that it is held to what was asked for.
          doubt.back() = std::max(doubt.back(), max_rearranged_p / std::min(significance_, max_rearranged_p) *
                                                    chance_of_outliers(all_, steps_, before < after ? i : i + 1,
                                                                       before < after ? step.after : step.before,
                                                                       step.after - step.before));
      }
      const auto weakest = std::ranges::max_element(doubt);
      if (weakest == doubt.end() || *weakest <= max_rearranged_p) return;
      steps_.erase(steps_.begin() + (weakest - doubt.begin()));
    }
  }

  [[nodiscard]] ChangePoint step_at(std::size_t i) const {
    const Level before = level_of(values_, variance_, begin_of(i), steps_[i]);
    const Level after = level_of(values_, variance_, steps_[i], end_of(i));
    const double t = std::abs(after.mean - before.mean) / std::sqrt(before.variance + after.variance);
    const double places = static_cast<double>(values_.size() - 1);
    return {steps_[i],
            steps_[i],
            before.mean,
            after.mean,
            std::min(1.0, 2.0 * places * statistics::student_tail(t, degrees_)),
            rearranged_[i]};
  }

  /// Steps one after the other in one direction may be a slope.
  [[nodiscard]] std::vector<ChangePoint> with_drifts() const {
    const double penalty = statistics::step_penalty(values_.size(), significance_, degrees_);
    std::vector<ChangePoint> changes;
    for (std::size_t i = 0; i < steps_.size();) {
      std::vector<ChangePoint> stairs = {step_at(i)};
      const auto rises = [](const ChangePoint& step) { return step.after > step.before; };
      for (std::size_t j = i + 1; j < steps_.size() && rises(step_at(j)) == rises(stairs.front()); ++j)
        stairs.push_back(step_at(j));
      const std::size_t begin = begin_of(i), end = end_of(i + stairs.size() - 1);
      double squares = 0.0;
      for (std::size_t j = 0; j <= stairs.size(); ++j)
        squares += squares_about(values_, variance_, j == 0 ? begin : stairs[j - 1].first,
                                 j == stairs.size() ? end : stairs[j].first);
      const Ramp ramp = Ramps(values_, variance_, begin, end).best(stairs.size() > 1 ? min_ramp : min_lone_ramp);
      // A slope has one more parameter than a step, and each further step another.
      const double saved = penalty * (static_cast<double>(stairs.size()) - 1.5);
      if (ramp.squares < squares + saved && rises(stairs.front()) == (ramp.after > ramp.before))
        changes.push_back({ramp.first, ramp.last, ramp.before, ramp.after, stairs.front().p_value, std::nullopt});
      else
        changes.insert(changes.end(), stairs.begin(), stairs.end());
      i += stairs.size();
    }
    return changes;
  }

  std::span<const double> all_;  ///< as they are
  std::vector<double> values_, variance_;
  double significance_;
  double degrees_ = std::numeric_limits<double>::infinity();
  std::size_t part_ = 1;  ///< values that go together
  std::vector<std::size_t> steps_;
  std::vector<std::optional<double>> rearranged_;
};

}  // namespace

std::optional<double> neighbour_variance(std::span<const double> values) {
  constexpr double normal_quantile_75 = 0.6744897501960817, normal_quantile_90 = 1.2815515655446004;
  if (values.size() < min_values_for_variance) return std::nullopt;
  std::vector<double> distances;
  for (std::size_t i = 1; i < values.size(); ++i) distances.push_back(std::abs(values[i] - values[i - 1]));
  std::ranges::sort(distances);
  const double deviation = std::max(statistics::quantile(distances, 0.5) / normal_quantile_75,
                                    statistics::quantile(distances, 0.8) / normal_quantile_90);
  return 0.5 * deviation * deviation;
}

std::optional<double> neighbour_correlation(std::span<const double> values) {
  if (values.size() < min_values_for_correlation) return std::nullopt;
  const double first = median_distance(values, 1), second = median_distance(values, 2);
  if (!(first > 0.0)) return std::nullopt;
  return std::clamp(second * second / (first * first) - 1.0, 0.0, max_correlation);
}

std::vector<ChangePoint> change_points(std::span<const double> values, std::span<const double> min_variance,
                                       double significance, double correlation) {
  if (values.size() < 2) return {};
  return Series(values, {min_variance.begin(), min_variance.end()}, significance,
                std::clamp(correlation, 0.0, max_correlation))
      .changes();
}

}  // namespace gpubench::compare
