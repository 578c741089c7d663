// SPDX-License-Identifier: Apache-2.0
#include "fleet/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/statistics/statistics.h"

namespace gpubench::fleet {
namespace {

constexpr double mad_of_normal = 0.6744897501960817;  // its 0.75 quantile

/// The median of what is there; NaN for nothing.
double median_of_present(std::vector<double>& scratch) {
  std::erase_if(scratch, [](double value) { return std::isnan(value); });
  return scratch.empty() ? std::numeric_limits<double>::quiet_NaN() : statistics::median(scratch);
}

}  // namespace

double robust_sigma(std::span<const double> samples) {
  if (samples.empty()) return 0.0;
  const double middle = statistics::median(samples);
  std::vector<double> distances(samples.begin(), samples.end());
  for (double& distance : distances) distance = std::abs(distance - middle);
  return statistics::median(distances) / mad_of_normal;
}

double robust_slope(std::span<const double> x, std::span<const double> y) {
  const auto order = statistics::places_by(x.size(), [&](std::size_t i) { return x[i]; });
  const std::size_t half = x.size() / 2;
  std::vector<std::pair<double, double>> slopes;  // with the weight
  double weight = 0.0;
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t low = order[i], high = order[i + x.size() - half];
    const double distance = x[high] - x[low];
    if (!(distance > 0.0)) continue;
    slopes.emplace_back((y[high] - y[low]) / distance, distance);
    weight += distance;
  }
  std::ranges::sort(slopes);
  double passed = 0.0;
  for (const auto& [slope, distance] : slopes)
    if ((passed += distance) >= 0.5 * weight) return slope;
  return 0.0;
}

double false_discovery_limit(std::vector<double> p_values, std::size_t tests, double rate) {
  std::ranges::sort(p_values);
  for (std::size_t k = p_values.size(); k > 0; --k)
    if (p_values[k - 1] <= static_cast<double>(k) * rate / static_cast<double>(tests)) return p_values[k - 1];
  return -1.0;
}

Polish median_polish(std::span<const double> table, std::size_t columns) {
  if (columns == 0 || table.size() % columns != 0)
    throw std::invalid_argument("a table to polish must consist of whole rows");
  constexpr int max_rounds = 20;
  constexpr double settled = 1e-9;
  const std::size_t rows = table.size() / columns;
  Polish polish{0.0, std::vector<double>(rows), std::vector<double>(columns), {table.begin(), table.end()}};
  std::vector<double> scratch;
  // Takes the medians of one direction out of the residuals, and the median of its effects into the overall value.
  const auto sweep = [&](std::vector<double>& effects, std::size_t others, auto at) {
    double moved = 0.0;
    for (std::size_t i = 0; i < effects.size(); ++i) {
      scratch.clear();
      for (std::size_t j = 0; j < others; ++j) scratch.push_back(polish.residuals[at(i, j)]);
      const double median = median_of_present(scratch);
      effects[i] += median;
      for (std::size_t j = 0; j < others; ++j) polish.residuals[at(i, j)] -= median;
      if (!std::isnan(median)) moved = std::max(moved, std::abs(median));
    }
    scratch = effects;
    const double middle = median_of_present(scratch);
    if (std::isnan(middle)) return 0.0;
    for (double& effect : effects) effect -= middle;
    polish.overall += middle;
    return moved;
  };
  for (int round = 0; round < max_rounds; ++round) {
    const double by_row = sweep(polish.rows, columns, [&](std::size_t i, std::size_t j) { return i * columns + j; });
    const double by_column = sweep(polish.columns, rows, [&](std::size_t i, std::size_t j) { return j * columns + i; });
    if (std::max(by_row, by_column) < settled) break;
  }
  return polish;
}

}  // namespace gpubench::fleet
