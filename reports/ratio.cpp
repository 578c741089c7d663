// SPDX-License-Identifier: Apache-2.0
#include "reports/ratio.h"

#include <algorithm>
#include <cmath>

#include "statistics/statistics.h"

namespace gpubench::reports {
namespace {

/// P(Binomial(n, p) >= r), 0 < p < 1, summed term by term until nothing is added.
double upper_tail(std::size_t n, double p, std::size_t r) {
  const auto count = static_cast<double>(n);
  const auto rank = static_cast<double>(r);
  double term = std::exp(std::lgamma(count + 1.0) - std::lgamma(rank + 1.0) - std::lgamma(count - rank + 1.0) +
                         rank * std::log(p) + (count - rank) * std::log1p(-p));
  const double odds = p / (1.0 - p);
  double sum = 0.0;
  for (double j = rank; j <= count; j += 1.0) {
    sum += term;
    if (j > count * p && term < 1e-17 * sum) break;
    term *= (count - j) / (j + 1.0) * odds;
  }
  return std::min(sum, 1.0);
}

/// Cumulative weight of the first k order statistics, 0 <= k <= n.
double cumulative(std::size_t n, std::size_t k) {
  if (k == 0) return 0.0;
  if (k == n) return 1.0;
  const double p = static_cast<double>(k) / static_cast<double>(n);
  if (n % 2 == 1) return upper_tail(n, p, (n + 1) / 2);
  return 0.5 * (upper_tail(n, p, n / 2) + upper_tail(n, p, n / 2 + 1));
}

/// A discrete distribution: ascending values from `values[first]`, with weights.
struct Distribution {
  const double* values;
  const std::vector<double>& weights;
  [[nodiscard]] std::size_t size() const { return weights.size(); }
};

/// P(next / base <= t) for independent draws.
double probability_below(const Distribution& base, const Distribution& next, double t) {
  double sum = 0.0;
  double below = 0.0;
  std::size_t j = 0;
  for (std::size_t i = 0; i < base.size(); ++i) {
    while (j < next.size() && next.values[j] <= t * base.values[i]) below += next.weights[j++];
    sum += base.weights[i] * below;
  }
  return sum;
}

/// The t with P(next / base <= t) = q, to a relative 1e-12.
double quantile_of_ratio(const Distribution& base, const Distribution& next, double q) {
  double low = next.values[0] / base.values[base.size() - 1];
  double high = next.values[next.size() - 1] / base.values[0];
  while (high - low > 1e-12 * high) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    (probability_below(base, next, middle) < q ? low : high) = middle;
  }
  return high;
}

/// The estimate, unless times of absurd sizes made a part of it infinite.
std::optional<Estimate> finite_only(const Estimate& estimate) {
  const bool finite =
      std::isfinite(estimate.value) && std::isfinite(estimate.ci95.low) && std::isfinite(estimate.ci95.high);
  return finite ? std::optional(estimate) : std::nullopt;
}

}  // namespace

MedianWeights median_weights(std::size_t n) {
  constexpr double negligible = 1e-12;
  // The rank of the median of a resample has a standard deviation of about sqrt(n) / 2: eight of them hold all that
  // matters.
  const auto reach = static_cast<std::size_t>(4.0 * std::sqrt(static_cast<double>(n))) + 2;
  const std::size_t begin = n / 2 > reach ? n / 2 - reach : 0;
  const std::size_t end = std::min(n, n / 2 + reach + 1);
  MedianWeights result{begin, {}};
  double before = begin == 0 ? 0.0 : cumulative(n, begin);
  for (std::size_t k = begin; k < end; ++k) {
    const double after = cumulative(n, k + 1);
    result.weights.push_back(std::max(after - before, 0.0));
    before = after;
  }
  while (result.weights.back() < negligible) result.weights.pop_back();
  std::size_t leading = 0;
  while (result.weights[leading] < negligible) ++leading;
  result.weights.erase(result.weights.begin(), result.weights.begin() + static_cast<std::ptrdiff_t>(leading));
  result.first += leading;
  return result;
}

const MedianWeights& MedianRatio::weights(std::size_t n) {
  const auto place = known_.find(n);
  return place != known_.end() ? place->second : known_.emplace(n, median_weights(n)).first->second;
}

std::optional<Estimate> MedianRatio::operator()(const std::vector<double>& base, const std::vector<double>& next) {
  const MedianWeights& of_base = weights(base.size());
  const MedianWeights& of_next = weights(next.size());
  const Distribution below{base.data() + of_base.first, of_base.weights};
  const Distribution above{next.data() + of_next.first, of_next.weights};
  if (!(below.values[0] > 0.0) || !(above.values[0] > 0.0)) return std::nullopt;
  return finite_only({statistics::quantile(next, 0.5) / statistics::quantile(base, 0.5),
                      {quantile_of_ratio(below, above, 0.025), quantile_of_ratio(below, above, 0.975)}});
}

std::optional<Estimate> ratio_of(const Estimate& base, const Estimate& next) {
  for (const double end : {base.ci95.low, base.value, next.ci95.low, next.value})
    if (!(end > 0.0)) return std::nullopt;
  const double ratio = next.value / base.value;
  const double down = std::hypot(std::log(next.value / next.ci95.low), std::log(base.ci95.high / base.value));
  const double up = std::hypot(std::log(next.ci95.high / next.value), std::log(base.value / base.ci95.low));
  return finite_only({ratio, {ratio * std::exp(-down), ratio * std::exp(up)}});
}

}  // namespace gpubench::reports
