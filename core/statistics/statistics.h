// SPDX-License-Identifier: Apache-2.0
// Pure functions over samples. No state, no I/O; each is tested on known answers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/estimate.h"
#include "core/model/measurement.h"

namespace gpubench::statistics {

inline constexpr double normal_975 = 1.959963984540054;  ///< the 0.975 quantile of the normal distribution

/// Quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan, The American Statistician 50,
/// 1996). `sorted` is ascending and not empty; 0 <= q <= 1.
double quantile(std::span<const double> sorted, double q);

/// Median of unsorted samples; throws std::invalid_argument on none.
double median(std::span<const double> samples);

/// Mean of the middle half of ascending samples: as steady as the median against a few wild ones, and finer where
/// samples go by steps. A quarter of the samples, rounded down, is left out at either end. Throws std::invalid_argument
/// without samples.
double interquartile_mean(std::span<const double> sorted);
/// Its 95 % interval, which holds it: t(h-1) times the winsorised standard deviation over (h / n) sqrt(n), h being how
/// many samples are left in (Tukey and McLaughlin, Sankhya A 25, 1963). One sample is its own interval. Throws
/// std::invalid_argument without samples.
Interval interquartile_mean_ci95(std::span<const double> sorted);

/// Distribution-free 95 % interval of the median from order statistics: the narrowest symmetric pair of ranks whose
/// binomial(n, 1/2) coverage is at least 95 % (David and Nagaraja, Order Statistics, 3rd ed., section 7.1). Below six
/// samples no pair covers 95 %: the whole range is given.
Interval median_ci95(std::span<const double> sorted);

/// 95 % interval of the median of samples that were taken in blocks apart in time: samples of one block resemble each
/// other (the same clock, the same neighbours), so blocks are the independent unit. Two-stage percentile bootstrap:
/// blocks are drawn with replacement, then as many samples within each (Davison and Hinkley, Bootstrap Methods and
/// their Application, 1997, section 3.8), widened by t(K-1) / z * sqrt(K / (K-1)) because K blocks understate how much
/// blocks differ. The same input gives the same interval. `block_sizes` are positive and add up to the samples, in
/// their order; with fewer than two blocks it is the interval above. Throws std::invalid_argument otherwise.
Interval median_ci95(std::span<const double> samples, std::span<const std::int64_t> block_sizes);

/// All of `Summary`; throws std::invalid_argument on no samples or on one that is not finite.
Summary summarize(std::span<const double> samples);
/// The same with the interval from blocks.
Summary summarize(std::span<const double> samples, std::span<const std::int64_t> block_sizes);

/// Half-width of the median's interval over the median; infinity below six samples or when the median is 0.
double relative_half_width(const Summary& summary);

/// 95 % interval of a mean from independent repeats, by Student's t; {x, x} for one repeat. Throws
/// std::invalid_argument on no repeats or on one that is not finite.
Interval mean_ci95(std::span<const double> repeats);

}  // namespace gpubench::statistics
