// SPDX-License-Identifier: Apache-2.0
#include "core/statistics/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>
#include <unsupported/Eigen/SpecialFunctions>

namespace gpubench::statistics {
namespace {

constexpr std::size_t min_for_median_interval = 6;

void require_samples(std::span<const double> samples, const char* caller) {
  if (samples.empty()) throw std::invalid_argument(std::string(caller) + ": no samples");
  if (!std::ranges::all_of(samples, [](double x) { return std::isfinite(x); }))
    throw std::invalid_argument(std::string(caller) + ": a sample is not finite");
}

std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  return sorted;
}

/// The running form, because a sum over n of equal samples may round to a mean outside their range.
double mean(std::span<const double> samples) {
  double result = 0.0;
  double count = 0.0;
  for (const double x : samples) result += (x - result) / ++count;
  return result;
}

double squares_about(double centre, std::span<const double> samples) {
  double sum = 0.0;
  for (const double x : samples) sum += (x - centre) * (x - centre);
  return sum;
}

/// Largest rank j, counted from 1, with P(Binomial(n, 1/2) <= j - 1) <= 0.025; 0 when there is none.
std::size_t lower_rank(std::size_t n) {
  const auto trials = static_cast<double>(n);
  // In logarithms: 2^-n underflows from n = 1075 on.
  double log_mass = -trials * std::numbers::ln2;
  double tail = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    tail += std::exp(log_mass);
    if (tail > 0.025) return k;
    log_mass += std::log((trials - static_cast<double>(k)) / static_cast<double>(k + 1));
  }
  return n;
}

/// The 0.975 quantile of Student's t.
double student_975(std::size_t degrees) {
  thread_local std::array<double, 64> known{};  // of few degrees it is asked for after each sample
  if (degrees >= known.size()) return student_quantile(0.025, static_cast<double>(degrees));
  if (known[degrees] == 0.0) known[degrees] = student_quantile(0.025, static_cast<double>(degrees));
  return known[degrees];
}

/// Rank, counted from 1, of the sorted sample at the 2.5 % quantile of the bootstrap's median, where each block is one
/// sample: the first k with P(Binomial(n, k / n) >= r) > 0.025, r being the median's rank, of two middle ones the
/// lower.
std::size_t bootstrap_rank(std::size_t n) {
  const auto count = static_cast<double>(n);
  const auto middle = static_cast<double>((n + 1) / 2);
  const auto ranks = std::views::iota(std::size_t{1}, n + 1);
  return *std::ranges::partition_point(ranks, [&](std::size_t k) {
    return k < n && Eigen::numext::betainc(middle, count - middle + 1.0, static_cast<double>(k) / count) <= 0.025;
  });
}

/// Medians of so many draws, first of blocks and then of the samples of each.
std::vector<double> resampled_medians(std::span<const double> samples, std::span<const std::int64_t> block_sizes,
                                      std::size_t draws) {
  std::mt19937 engine;  // its standard seed
  // Uniform in [0, bound), by Lemire's multiplication; its bias of bound / 2^32 does not matter here. Unlike the
  // standard's distributions it is the same with every library.
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(engine()) * bound) >> 32U);
  };
  std::vector<std::size_t> starts(block_sizes.size());
  std::exclusive_scan(block_sizes.begin(), block_sizes.end(), starts.begin(), std::size_t{0});
  std::vector<double> drawn, medians(draws);
  for (double& median : medians) {
    drawn.clear();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::size_t block = below(starts.size());
      const auto size = static_cast<std::size_t>(block_sizes[block]);
      for (std::size_t j = 0; j < size; ++j) drawn.push_back(samples[starts[block] + below(size)]);
    }
    const auto middle = drawn.begin() + static_cast<std::ptrdiff_t>(drawn.size() / 2);
    std::ranges::nth_element(drawn, middle);
    median = 0.5 * (*middle + (drawn.size() % 2 == 1 ? *middle : *std::max_element(drawn.begin(), middle)));
  }
  return medians;
}

}  // namespace

double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double student_tail(double t, double degrees) {
  constexpr double as_good_as_normal = 1e7;
  if (std::isinf(degrees) || degrees > as_good_as_normal) return normal_below(-t);
  const double square = t * t;
  // Of its two forms the one whose argument keeps its digits.
  const double half = square > 1.0
                          ? 0.5 * Eigen::numext::betainc(0.5 * degrees, 0.5, degrees / (degrees + square))
                          : 0.5 - 0.5 * Eigen::numext::betainc(0.5, 0.5 * degrees, square / (degrees + square));
  return t >= 0.0 ? half : 1.0 - half;
}

double student_quantile(double tail, double degrees) {
  if (tail > 0.5) return -student_quantile(1.0 - tail, degrees);
  double low = 0.0;
  double high = 1.0;
  while (high < 1e150 && student_tail(high, degrees) > tail) high *= 2.0;
  while (high - low > 1e-10 * high) {
    const double middle = 0.5 * (low + high);
    (student_tail(middle, degrees) > tail ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

std::vector<double> holm(std::span<const double> p_values) {
  const auto order = places_by(p_values.size(), [&](std::size_t i) { return p_values[i]; });
  std::vector<double> adjusted(p_values.size());
  double greatest = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    greatest = std::max(greatest, static_cast<double>(order.size() - i) * p_values[order[i]]);
    adjusted[order[i]] = std::min(greatest, 1.0);
  }
  return adjusted;
}

double digamma(double x) { return Eigen::numext::digamma(x); }
double trigamma(double x) { return Eigen::numext::polygamma(1.0, x); }

double inverse_trigamma(double y) {
  double low = std::log(1e-8);
  double high = std::log(1e8);
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (trigamma(std::exp(middle)) > y ? low : high) = middle;
  }
  return std::exp(0.5 * (low + high));
}

double quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(position), sorted.size() - 1);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

double median(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("median: no samples");
  return quantile(sorted_copy(samples), 0.5);
}

double interquartile_mean(std::span<const double> sorted) {
  if (sorted.empty()) throw std::invalid_argument("interquartile_mean: no samples");
  const std::size_t outside = sorted.size() / 4;
  const auto middle = sorted.subspan(outside, sorted.size() - 2 * outside);
  return std::accumulate(middle.begin(), middle.end(), 0.0) / static_cast<double>(middle.size());
}

Interval interquartile_mean_ci95(std::span<const double> sorted) {
  const double centre = interquartile_mean(sorted);
  const std::size_t outside = sorted.size() / 4;
  const std::size_t inside = sorted.size() - 2 * outside;
  if (inside < 2) return {centre, centre};
  std::vector<double> winsorised(sorted.begin(), sorted.end());
  for (double& x : winsorised) x = std::clamp(x, sorted[outside], sorted[sorted.size() - 1 - outside]);
  const double squares = squares_about(mean(winsorised), winsorised);
  const auto n = static_cast<double>(sorted.size());
  const double error = std::sqrt(squares / (n - 1.0) / n) * n / static_cast<double>(inside);
  const double half_width = student_975(inside - 1) * error;
  return {centre - half_width, centre + half_width};
}

Interval median_ci95(std::span<const double> sorted) {
  const auto n = sorted.size();
  const auto rank = n < min_for_median_interval ? 1 : lower_rank(n);
  return {sorted[rank - 1], sorted[n - rank]};
}

Interval median_ci95(std::span<const double> samples, std::span<const std::int64_t> block_sizes) {
  require_samples(samples, "median_ci95");
  std::int64_t left = static_cast<std::int64_t>(samples.size());
  for (const std::int64_t size : block_sizes) left = size < 1 || size > left ? -1 : left - size;
  if (left != 0) throw std::invalid_argument("median_ci95: the blocks do not add up to the samples");
  if (block_sizes.size() < 2) return median_ci95(sorted_copy(samples));
  Interval drawn;
  if (block_sizes.size() == samples.size()) {
    const auto sorted = sorted_copy(samples);
    const std::size_t rank = bootstrap_rank(sorted.size());
    drawn = {sorted[rank - 1], sorted[sorted.size() - rank]};
  } else {
    constexpr std::size_t draws = 600;  // percentiles are then known to about a tenth of the interval's width
    const std::vector<double> medians = sorted_copy(resampled_medians(samples, block_sizes, draws));
    drawn = {quantile(medians, 0.025), quantile(medians, 0.975)};
  }
  const double centre = median(samples);
  const auto blocks = static_cast<double>(block_sizes.size());
  const double widened = student_975(block_sizes.size() - 1) / normal_975 * std::sqrt(blocks / (blocks - 1.0));
  return {centre - widened * (centre - std::min(centre, drawn.low)),
          centre + widened * (std::max(centre, drawn.high) - centre)};
}

Summary summarize(std::span<const double> samples, std::span<const std::int64_t> block_sizes) {
  Summary summary = summarize(samples);
  summary.median_ci95 = median_ci95(samples, block_sizes);
  if (summary.minimum >= 0.0) summary.median_ci95.low = std::max(summary.median_ci95.low, 0.0);  // as times are
  return summary;
}

Summary summarize(std::span<const double> samples) {
  require_samples(samples, "summarize");
  const auto sorted = sorted_copy(samples);
  Summary summary;
  summary.count = static_cast<std::int64_t>(sorted.size());
  summary.minimum = sorted.front();
  summary.lower_quartile = quantile(sorted, 0.25);
  summary.median = quantile(sorted, 0.5);
  summary.upper_quartile = quantile(sorted, 0.75);
  summary.maximum = sorted.back();
  summary.mean = mean(samples);
  std::vector<double> deviations(sorted);
  for (double& x : deviations) x = std::abs(x - summary.median);
  summary.mad = median(deviations);
  summary.median_ci95 = median_ci95(sorted);
  return summary;
}

double relative_half_width(const Summary& summary) {
  if (summary.count < static_cast<std::int64_t>(min_for_median_interval) || summary.median == 0.0)
    return std::numeric_limits<double>::infinity();
  return 0.5 * (summary.median_ci95.high - summary.median_ci95.low) / std::abs(summary.median);
}

Interval mean_ci95(std::span<const double> repeats) {
  require_samples(repeats, "mean_ci95");
  const double centre = mean(repeats);
  const auto n = repeats.size();
  if (n == 1) return {centre, centre};
  const double variance = squares_about(centre, repeats) / static_cast<double>(n - 1);
  const double half = student_975(n - 1) * std::sqrt(variance / static_cast<double>(n));
  return {centre - half, centre + half};
}

}  // namespace gpubench::statistics
