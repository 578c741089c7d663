// SPDX-License-Identifier: Apache-2.0
// Ratio of two medians with its 95 % interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "gpubench/estimate.h"

namespace gpubench::reports {

/// Below six samples no interval of a median covers 95 % (2 / 2^5 lies outside the range of five).
inline constexpr std::int64_t fewest_samples = 6;

/// Where the median of a bootstrap resample falls: the probability of each order statistic of n samples. Resampling n
/// of n, P(r-th of the resample <= k-th of the samples) = P(Binomial(n, k/n) >= r), so nothing needs to be drawn
/// (Efron, Annals of Statistics 7, 1979, section 3; Maritz and Jarrett, JASA 73, 1978). With an even n the median lies
/// between two middle order statistics; each stands for it half of the time.
struct MedianWeights {
  std::size_t first = 0;        ///< rank, from 0, of the first weight: those before and after the list are below 1e-12
  std::vector<double> weights;  ///< adding up to 1
};
MedianWeights median_weights(std::size_t n);

/// Computes ratios, keeping the weights of sample counts it has met.
class MedianRatio {
 public:
  /// New over base, each sorted and not empty, with the 2.5 % and 97.5 % points of its bootstrap distribution: the
  /// exact limit of infinitely many resamples, so the same samples give the same interval. Absent when a sample that
  /// matters is not positive.
  std::optional<Estimate> operator()(const std::vector<double>& base, const std::vector<double>& next);

 private:
  const MedianWeights& weights(std::size_t n);
  std::map<std::size_t, MedianWeights> known_;
};

/// New over base from two estimates with 95 % intervals, on the scale of logarithms, where the interval of a difference
/// comes from those of its terms (MOVER: Zou and Donner, Statistics in Medicine 27, 2008). Absent when an end is not
/// positive.
std::optional<Estimate> ratio_of(const Estimate& base, const Estimate& next);

}  // namespace gpubench::reports
