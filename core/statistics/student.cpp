// SPDX-License-Identifier: Apache-2.0
#include "core/statistics/student.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>

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

}  // namespace

double student_tail(double t, double degrees) {
  constexpr double as_good_as_normal = 1e7;
  if (std::isinf(degrees) || degrees > as_good_as_normal) return 0.5 * std::erfc(t / std::numbers::sqrt2);
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

double sign_test(int positive, int negative) {
  const int count = positive + negative;
  const int fewer = std::min(positive, negative);
  double tail = 0.0;
  for (int k = 0; k <= fewer; ++k)
    tail += std::exp(std::lgamma(count + 1.0) - std::lgamma(k + 1.0) - std::lgamma(count - k + 1.0) -
                     count * std::numbers::ln2);
  return std::min(1.0, 2.0 * tail);
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

}  // namespace gpubench::statistics
