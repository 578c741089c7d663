// SPDX-License-Identifier: Apache-2.0
// Steps in a series.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace gpubench::statistics {

/// Where the level of a series changes: the index of the first value of each new level, ascending.
///
/// The partition into constant levels that has the least sum of squared deviations over `variance` plus `penalty` for
/// each step, found exactly by dynamic programming (Jackson and others, IEEE Signal Processing Letters 12, 2005; the
/// pruning of PELT, Killick, Fearnhead and Eckley, JASA 107, 2012, is not needed for a few thousand values).
///
/// Why not E-divisive (Matteson and James, JASA 109, 2014), which other gates use: it knows nothing of the noise and
/// has to find it in the series itself by permutations, so that the least p-value with one value after the step is
/// 1 / n. A store of process runs knows its noise: two values after a step of four deviations are enough. And it
/// finds steps one by one, where a later one can hide an earlier; this finds the best set of them.
///
/// A level between two others holds at least two values: a single value that stands out is no change of level, yet a
/// step in the newest run is what a gate is there to see, and one after the very first is a step as well. `variance` is
/// that of each value, positive, of equal length.
std::vector<std::size_t> find_steps(std::span<const double> values, std::span<const double> variance, double penalty);

/// The penalty with which a series without steps gets one with a chance of at most about `significance`: a step can
/// begin at n - 1 places, and each is the square of a Student's t with the degrees of freedom that the variance is
/// known from (Bonferroni's bound).
double step_penalty(std::size_t length, double significance, double degrees = std::numeric_limits<double>::infinity());

/// The same as find_steps, with a variance that is only known to be no less than `min_variance`: what values differ
/// from their levels by, in excess of that, is added, and the penalty allows for how well it is known.
std::vector<std::size_t> find_steps_and_noise(std::span<const double> values, std::span<const double> min_variance,
                                              double significance);

}  // namespace gpubench::statistics
