// SPDX-License-Identifier: Apache-2.0
// The mathematics of a fleet: who differs from many that should be alike. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gpubench::fleet {

/// The standard deviation that normal samples with their median absolute deviation would have. 0 for none.
double robust_sigma(std::span<const double> samples);

/// The slope of y over x: the weighted median of the slopes between the first and the second half of the samples by x,
/// weighted by their distance (Jaeckel, Annals of Mathematical Statistics 43, 1972; the pairs of Theil, 1950, part I).
/// Outliers among fewer than a quarter of the samples do not move it far. 0 where x does not vary.
double robust_slope(std::span<const double> x, std::span<const double> y);

/// The largest p-value that is rejected while the expected share of false rejections stays below `rate`, among so many
/// tests; negative where none is (Benjamini and Hochberg, JRSS B 57, 1995). p-values above `rate` may be left out.
double false_discovery_limit(std::vector<double> p_values, std::size_t tests, double rate);

/// A table as overall + row + column + residual. Absent cells are NaN, and so are their residuals and the effects of
/// rows and columns that have no others.
struct Polish {
  double overall = 0.0;
  std::vector<double> rows;
  std::vector<double> columns;
  std::vector<double> residuals;  ///< as the table, row by row
};
/// Median polish (Tukey, Exploratory Data Analysis, 1977, chapter 11): a bad row or column is told from a bad cell.
/// Throws std::invalid_argument where the cells do not fill whole rows.
Polish median_polish(std::span<const double> table, std::size_t columns);

}  // namespace gpubench::fleet
