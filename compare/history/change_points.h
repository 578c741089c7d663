// SPDX-License-Identifier: Apache-2.0
// Where the level of one point's times changes over the entries of a history. Pure mathematics.
//
// E-divisive, as Apache Otava has it (arXiv:2505.06758), bisects: it cannot place two changes that hide each other, and
// it must guess the noise from the very series. Here the noise between processes and between neighbours is known, so
// the best partition into levels is found exactly, all changes at once: optimal partitioning (Jackson and others, IEEE
// Signal Processing Letters 12, 2005), pruned as PELT does (Killick, Fearnhead and Eckley, JASA 107, 2012). What that
// needs of the noise is made true before, and checked after:
// 1. Outliers are moved to the edge of the noise about the median of their neighbours (Hampel's identifier): an entry
//    that came and went makes no level.
// 2. Noise that lasts from entry to entry makes means worse known than independent values do. Its correlation comes
//    from differences of second and first neighbours (Chakar and others, Bernoulli 23, 2017, section 2), which steps
//    hardly touch; the variance is enlarged to that of a mean of such values.
// 3. The penalty is Bonferroni's: a series without changes gets one with the chance that is asked for.
// 4. Each change must also be rare among the rearrangements of the values about it, whatever their distribution: the
//    largest difference between any two parts, of 199 shuffles by fixed numbers. A level of a few values must be rare
//    among outliers such as the series has. Where a level is too short to be rearranged, the known noise decides.
// 5. Where a slope between two levels explains the values better than its steps do, it is one drift.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gpubench::compare {

struct ChangePoint {
  std::size_t first = 0;  ///< the first value of the new level; of a drift the first that has left the old one
  std::size_t last = 0;   ///< the first value that has arrived at the new level; of a step `first`
  double before = 0.0;    ///< means of the levels, in the unit of the values
  double after = 0.0;
  double p_value = 1.0;  ///< by the known noise, for all places in this series together
  /// By rearrangement; absent where a level is too short for it, and of a drift.
  std::optional<double> rearranged_p = {};
  [[nodiscard]] bool is_drift() const { return last > first; }
};

/// With fewer values nothing is told from what neighbours differ by.
inline constexpr std::size_t min_values_for_variance = 7;
/// A robust estimate of the variance of a value, from what neighbours differ by: a few steps do not matter to it. The
/// higher quantile is there for times that jump to and fro, of which half the neighbours are alike.
std::optional<double> neighbour_variance(std::span<const double> values);

/// From so many values on their correlation is looked for: below, it cannot be told from chance.
inline constexpr std::size_t min_values_for_correlation = 30;

/// Of neighbours, from 0 to 0.9, robust against steps and outliers; absent for too few values, and for equal ones.
std::optional<double> neighbour_correlation(std::span<const double> values);

/// Ascending. `min_variance` is that of each value, at least, positive. `significance` is the chance of any change in a
/// series without one; `correlation` that of neighbours.
std::vector<ChangePoint> change_points(std::span<const double> values, std::span<const double> min_variance,
                                       double significance, double correlation = 0.0);

}  // namespace gpubench::compare
