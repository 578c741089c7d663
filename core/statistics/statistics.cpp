// SPDX-License-Identifier: Apache-2.0
#include "core/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

namespace gpubench::statistics {
namespace {

/// Its continued fraction, where x is below the mean of the distribution and it converges fast.
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  constexpr int max_terms = 10'000;
  double c = 1.0;
  double d = 1.0 - (a + b) * x / (a + 1.0);
  d = 1.0 / (std::abs(d) < tiny ? tiny : d);
  double fraction = d;
  for (int m = 1; m < max_terms; ++m) {
    double change = 1.0;
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    for (const double term : {even, odd}) {
      d = 1.0 + term * d;
      c = 1.0 + term / c;
      d = 1.0 / (std::abs(d) < tiny ? tiny : d);
      if (std::abs(c) < tiny) c = tiny;
      change = c * d;
      fraction *= change;
    }
    if (std::abs(change - 1.0) < 1e-15) break;
  }
  return fraction;
}

/// The regularised incomplete beta function, with 1 - x given apart so that it keeps its digits.
double incomplete_beta(double a, double b, double x, double rest) {
  if (x <= 0.0) return 0.0;
  if (rest <= 0.0) return 1.0;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
  return x < (a + 1.0) / (a + b + 2.0) ? front * beta_fraction(a, b, x) / a
                                       : 1.0 - front * beta_fraction(b, a, rest) / b;
}

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

/// The 0.975 quantile of Student's t.
double student_975(std::size_t degrees) { return student_quantile(0.025, static_cast<double>(degrees)); }

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

double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double student_tail(double t, double degrees) {
  constexpr double as_good_as_normal = 1e7;
  if (std::isinf(degrees) || degrees > as_good_as_normal) return normal_below(-t);
  const double square = t * t;
  const double half = std::isinf(square) ? 0.0
                                         : 0.5 * incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + square),
                                                                 square / (degrees + square));
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
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double greatest = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    greatest = std::max(greatest, static_cast<double>(order.size() - i) * p_values[order[i]]);
    adjusted[order[i]] = std::min(greatest, 1.0);
  }
  return adjusted;
}

double digamma(double x) {
  double result = 0.0;
  for (; x < 10.0; x += 1.0) result -= 1.0 / x;
  const double s = 1.0 / (x * x);
  return result + std::log(x) - 0.5 / x - s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240))));
}

double trigamma(double x) {
  double result = 0.0;
  for (; x < 10.0; x += 1.0) result += 1.0 / (x * x);
  const double s = 1.0 / (x * x);
  return result + 1.0 / x + 0.5 * s + s / x * (1.0 / 6 - s * (1.0 / 30 - s * (1.0 / 42 - s * (1.0 / 30))));
}

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
