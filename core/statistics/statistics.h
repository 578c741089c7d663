// SPDX-License-Identifier: Apache-2.0
// Pure functions over samples. No state, no I/O; each is tested on known answers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "core/model/estimate.h"
#include "core/model/measurement.h"

namespace gpubench::statistics {

inline constexpr double normal_975 = 1.959963984540054;  ///< the 0.975 quantile of the normal distribution

/// Quantile, 0 <= q <= 1, of ascending values: type 7 of Hyndman and Fan (The American Statistician 50, 1996).
double quantile(std::span<const double> sorted, double q);

/// Median of unsorted samples; throws std::invalid_argument on none.
double median(std::span<const double> samples);

/// The middle one of them, of two the upper; absent for none.
template <class Number>
std::optional<Number> upper_median(std::vector<Number> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The places 0 to `count` - 1 by what `key` makes of each; equal ones stay in their order.
template <class Key, class Before = std::ranges::less>
std::vector<std::size_t> places_by(std::size_t count, Key key, Before before = {}) {
  std::vector<std::size_t> places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, before, key);
  return places;
}

/// Mean of the middle half of ascending samples, a quarter (rounded down) off each end. Throws like `median`.
double interquartile_mean(std::span<const double> sorted);
/// Its 95 % interval: t(h-1) times the winsorised standard deviation over (h / n) sqrt(n), with h of n samples left in
/// (Tukey and McLaughlin, Sankhya A 25, 1963). One sample is its own interval. Throws likewise.
Interval interquartile_mean_ci95(std::span<const double> sorted);

/// Distribution-free 95 % interval of the median from order statistics (David and Nagaraja, Order Statistics, 3rd ed.,
/// section 7.1). Below six samples it is the whole range.
Interval median_ci95(std::span<const double> sorted);

/// 95 % interval of the median of samples taken in blocks apart in time. Two-stage percentile bootstrap over blocks and
/// samples within them (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8), widened by
/// t(K-1) / z * sqrt(K / (K-1)) for K blocks. Deterministic; of blocks of one sample each its percentiles are known
/// without a draw. `block_sizes` add up to the samples, in their order; throws std::invalid_argument otherwise. Fewer
/// than two blocks: the interval above.
Interval median_ci95(std::span<const double> samples, std::span<const std::int64_t> block_sizes);

/// All of `Summary`; throws std::invalid_argument on no samples or on one that is not finite.
Summary summarize(std::span<const double> samples);
/// The same with the interval from blocks.
Summary summarize(std::span<const double> samples, std::span<const std::int64_t> block_sizes);

/// Half-width of the median's interval over the median; infinity below six samples or when the median is 0.
double relative_half_width(const Summary& summary);

/// 95 % interval of a mean of independent repeats, by Student's t; {x, x} for one. Throws like `summarize`.
Interval mean_ci95(std::span<const double> repeats);

/// P(Z <= z) of a standard normal number.
double normal_below(double z);

/// P(T > t) of Student's t, by the incomplete beta function (Abramowitz and Stegun 26.7.1 and 26.5.8), right to about
/// 1e-10. `degrees` > 0, or infinity for the normal distribution.
double student_tail(double t, double degrees);

/// The t with P(T > t) = `tail`, 0 < tail < 1, by bisection.
double student_quantile(double tail, double degrees);

/// Adjusted p-values, in the order given: rejecting those of at most alpha keeps the chance of any false rejection at
/// alpha, whatever the dependence (Holm, Scandinavian Journal of Statistics 6, 1979).
std::vector<double> holm(std::span<const double> p_values);

double digamma(double x);           ///< x > 0
double trigamma(double x);          ///< x > 0
double inverse_trigamma(double y);  ///< x with trigamma(x) = y > 0, by bisection of the logarithm

/// Where the level of a series changes: the index of the first value of each new level, ascending. The partition into
/// constant levels with the least sum of squared deviations over `variance` plus `penalty` for each step, found exactly
/// by dynamic programming (Jackson and others, IEEE Signal Processing Letters 12, 2005). Unlike E-divisive (Matteson
/// and James, JASA 109, 2014) it uses the known noise and finds all steps at once. A level between two others holds at
/// least two values. `variance` is that of each value, positive.
std::vector<std::size_t> find_steps(std::span<const double> values, std::span<const double> variance, double penalty);

/// How samples go on in time: about one level, from one level to another, along a slope, to and fro between two, or
/// about one level but for the first few.
enum class Course { steady, step, drift, two_levels, cold_start };
struct Steadiness {
  Course course = Course::steady;
  double from = 0.0;  ///< the first level, or the lower of two between which they go to and fro
  double to = 0.0;    ///< the last level, or the upper one
  friend bool operator==(const Steadiness&, const Steadiness&) = default;
  /// The median and its interval hold.
  [[nodiscard]] bool holds_level() const { return course == Course::steady || course == Course::cold_start; }
};
/// Steps and drifts by the change-point test of Pettitt (Applied Statistics 28, 1979), which rests on ranks alone, with
/// a chance of at most 0.1 % for samples in random order; two levels where they lie six times the spread within them
/// apart. A cold start are the first few, at most a fifth, of which each lies beyond all others to one side, by a
/// chance of 0.05 %. What differs by less than 1 % of the median, or has fewer than 16 samples (40 for two levels), is
/// steady.
Steadiness steadiness_of(std::span<const double> samples);

/// The penalty with which a series without steps gets one with a chance of at most about `significance` (Bonferroni
/// over the places, Student's t with the degrees of freedom of the variance).
double step_penalty(std::size_t length, double significance, double degrees = std::numeric_limits<double>::infinity());

/// With a variance known to be at least this: what values differ from their levels by beyond that is added.
std::vector<std::size_t> find_steps_and_noise(std::span<const double> values, std::span<const double> min_variance,
                                              double significance);

}  // namespace gpubench::statistics
