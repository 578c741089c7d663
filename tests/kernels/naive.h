// SPDX-License-Identifier: Apache-2.0
// Plain double-precision versions of the built-in operations.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace gpubench::naive {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

inline Floats random_floats(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Floats values(n);
  for (auto& value : values) value = normal(generator);
  return values;
}

inline double gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

inline Doubles softmax(const Floats& x, std::size_t columns) {
  Doubles y(x.begin(), x.end());
  for (std::size_t row = 0; row < x.size(); row += columns) {
    double largest = y[row];
    for (std::size_t i = 0; i < columns; ++i) largest = std::max(largest, y[row + i]);
    double sum = 0.0;
    for (std::size_t i = 0; i < columns; ++i) sum += y[row + i] = std::exp(y[row + i] - largest);
    for (std::size_t i = 0; i < columns; ++i) y[row + i] /= sum;
  }
  return y;
}

inline Doubles layer_norm(const Floats& x, const Floats& gamma, const Floats& beta, double epsilon) {
  const std::size_t columns = gamma.size();
  Doubles y(x.begin(), x.end());
  for (std::size_t row = 0; row < x.size(); row += columns) {
    double mean = 0.0;
    for (std::size_t i = 0; i < columns; ++i) mean += y[row + i] / static_cast<double>(columns);
    double variance = 0.0;
    for (std::size_t i = 0; i < columns; ++i)
      variance += (y[row + i] - mean) * (y[row + i] - mean) / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i)
      y[row + i] = (y[row + i] - mean) / std::sqrt(variance + epsilon) * static_cast<double>(gamma[i]) +
                   static_cast<double>(beta[i]);
  }
  return y;
}

template <class Element>
Doubles gemm(const std::vector<Element>& a, const std::vector<Element>& b, std::size_t n) {
  Doubles c(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j)
        c[i * n + j] += static_cast<double>(a[i * n + k]) * static_cast<double>(b[k * n + j]);
  return c;
}

inline double fma_chain(double v, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) v = v * static_cast<double>(0.999F) + static_cast<double>(0.001F);
  return v;
}

}  // namespace gpubench::naive
