// SPDX-License-Identifier: Apache-2.0
#include "core/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

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

/// P(|T| <= t) of Student's t with whole degrees of freedom: the finite series 26.7.3 and 26.7.4 of Abramowitz and
/// Stegun.
double student_two_sided(double t, std::size_t degrees) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1.0;
  double sum = degrees == 1 ? 0.0 : term;
  for (std::size_t k = odd ? 3 : 2; k + 2 <= degrees; k += 2) {
    term *= cosine * cosine * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  return odd ? (angle + std::sin(angle) * sum) * 2.0 / std::numbers::pi : std::sin(angle) * sum;
}

/// The 0.975 quantile of Student's t. Up to 200 degrees of freedom by bisection of the exact series; beyond, by the
/// expansion 26.7.5 of Abramowitz and Stegun about the normal quantile, there right to 1e-9.
double student_975(std::size_t degrees) {
  if (degrees > 200) {
    const double z = normal_975;
    const double v = static_cast<double>(degrees);
    const double z2 = z * z;
    return z * (1.0 + (z2 + 1.0) / (4.0 * v) + ((5.0 * z2 + 16.0) * z2 + 3.0) / (96.0 * v * v) +
                (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / (384.0 * v * v * v));
  }
  double low = 0.0;
  double high = 16.0;  // one degree of freedom needs 12.7
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (student_two_sided(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// Draws from a sample of blocks, as ranks among all values, so that the median of a draw is found by counting.
class BlockResampler {
 public:
  BlockResampler(std::span<const double> samples, std::span<const std::int64_t> block_sizes)
      : sorted_(sorted_copy(samples)), counts_(samples.size()) {
    std::vector<std::size_t> order(samples.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return samples[a] < samples[b]; });
    ranks_.resize(order.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) ranks_[order[rank]] = rank;
    std::size_t start = 0;
    for (const std::int64_t size : block_sizes) {
      blocks_.push_back({start, static_cast<std::size_t>(size)});
      start += static_cast<std::size_t>(size);
    }
  }

  double draw_median() {
    std::ranges::fill(counts_, 0U);
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[below(blocks_.size())];
      for (std::size_t j = 0; j < block.size; ++j) ++counts_[ranks_[block.start + below(block.size)]];
      drawn += block.size;
    }
    return 0.5 * (drawn_value((drawn - 1) / 2) + drawn_value(drawn / 2));
  }

 private:
  struct Block {
    std::size_t start;
    std::size_t size;
  };
  /// Uniform in [0, bound), by Lemire's multiplication; its bias of bound / 2^32 does not matter here. Unlike the
  /// standard's distributions it is the same with every library.
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(engine_()) * bound) >> 32U);
  }
  [[nodiscard]] double drawn_value(std::size_t index) const {
    std::size_t passed = 0;
    for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
      passed += counts_[rank];
      if (passed > index) return sorted_[rank];
    }
    return sorted_.back();
  }

  std::vector<double> sorted_;
  std::vector<std::size_t> ranks_;
  std::vector<unsigned> counts_;
  std::vector<Block> blocks_;
  std::mt19937 engine_;  // its standard seed
};

}  // namespace

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
  const double middle = mean(winsorised);
  double squares = 0.0;
  for (const double x : winsorised) squares += (x - middle) * (x - middle);
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
  std::size_t total = 0;
  for (const std::int64_t size : block_sizes) {
    if (size < 1 || static_cast<std::size_t>(size) > samples.size() - total)
      throw std::invalid_argument("median_ci95: the blocks do not add up to the samples");
    total += static_cast<std::size_t>(size);
  }
  if (total != samples.size()) throw std::invalid_argument("median_ci95: the blocks do not add up to the samples");
  if (block_sizes.size() < 2) return median_ci95(sorted_copy(samples));
  constexpr std::size_t draws = 600;  // percentiles are then known to about a tenth of the interval's width
  BlockResampler resampler(samples, block_sizes);
  std::vector<double> medians(draws);
  for (double& value : medians) value = resampler.draw_median();
  std::ranges::sort(medians);
  const double centre = median(samples);
  const auto blocks = static_cast<double>(block_sizes.size());
  const double widened = student_975(block_sizes.size() - 1) / normal_975 * std::sqrt(blocks / (blocks - 1.0));
  return {centre - widened * (centre - std::min(centre, quantile(medians, 0.025))),
          centre + widened * (std::max(centre, quantile(medians, 0.975)) - centre)};
}

Summary summarize(std::span<const double> samples, std::span<const std::int64_t> block_sizes) {
  Summary summary = summarize(samples);
  summary.median_ci95 = median_ci95(samples, block_sizes);
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
  double squares = 0.0;
  for (const double x : repeats) squares += (x - centre) * (x - centre);
  const double variance = squares / static_cast<double>(n - 1);
  const double half = student_975(n - 1) * std::sqrt(variance / static_cast<double>(n));
  return {centre - half, centre + half};
}

}  // namespace gpubench::statistics
