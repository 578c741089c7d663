// SPDX-License-Identifier: Apache-2.0
// The random numbers of every Monte Carlo computation here: the same in every process and on every platform, so that a
// verdict does not change when it is asked for again.
#pragma once

#include <cstddef>
#include <span>

namespace gpubench::classifier {

inline constexpr std::size_t draw_count = 2000;

/// `draw_count` standard normal numbers, one column for each uncertain figure. Each column holds the same stratified
/// numbers (one from each of `draw_count` equally probable strata) in an order of its own (McKay, Beckman and Conover,
/// Technometrics 21, 1979), so that a probability of one figure is off by 1 / draw_count at most; the
/// first quarter of a column is as good by itself. Columns repeat beyond 64.
std::span<const double> normal_draws(std::size_t column);

/// The standard normal number below which the probability is `p`, 0 < p < 1.
double normal_quantile(double p);

}  // namespace gpubench::classifier
