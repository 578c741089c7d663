// SPDX-License-Identifier: Apache-2.0
// The built-in operations on the host: memory, checks and registration. compute.cpp computes.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/operations/operations.h"

namespace gpubench::operations {
namespace {

constexpr std::int64_t samples = 1 << 16;
constexpr double rounding = 1e-6;        // a few roundings of numbers about 1
constexpr double row_tolerance = 4e-6;   // a row's sum in FP32 rounds a hundred times in each lane
constexpr double sum_tolerance = 1e-12;  // of the sum of magnitudes: far above 2^26 roundings in double
constexpr std::int64_t sampled_rows = 32;

/// An operation that makes a vector of n elements of another: `exact` gives each from the input and its index. With
/// `remaining` below 1, `less` is a variant that does that share of the arithmetic.
template <class Exact, class Operation, class Less = void (*)(In, Out)>
void map_on_host(State& state, std::int64_t n, double tolerance, const Exact& exact, const Operation& operation,
                 double remaining = 1.0, const Less& less = copy, std::int64_t checked = samples) {
  const auto x = state.host_vector<float>(n);
  auto y = state.host_vector<float>(n);
  state.verify([&] {
    return sampled_close(
        sampled_indices(n, checked), [&](auto i) { return y.data()[i]; }, [&](auto i) { return exact(x.data(), i); },
        tolerance, tolerance);
  });
  if (remaining < 1.0) state.ablation(less_arithmetic, remaining, [&] { less(x.span(), y.span()); });
  state.measure([&] { operation(x.span(), y.span()); });
}

void copy_on_host(State& state) {
  declare_copy(state, state.range(0));
  map_on_host(
      state, state.range(0), 0.0, [](const float* x, auto i) { return x[i]; }, copy);
}

// In place: y grows by 2 x an execution until it is 2^24 times as large and rounding stops it, so it stays finite.
void saxpy_on_host(State& state) {
  const auto n = state.range(0);
  const auto x = state.host_vector<float>(n);
  auto y = state.host_vector<float>(n);
  declare_axpy(state, n);
  const auto indices = sampled_indices(n, samples);
  std::vector<double> before;
  before.reserve(indices.size());
  for (const auto i : indices) before.push_back(static_cast<double>(y.data()[i]));
  state.verify([&] {
    std::size_t next = 0;
    return sampled_close(
        indices, [&](auto i) { return y.data()[i]; },
        [&](auto i) { return static_cast<double>(scale) * x.data()[i] + before[next++]; }, rounding, rounding);
  });
  state.measure([&] { saxpy(x.span(), y.span()); });
}

void triad_on_host(State& state) {
  const auto n = state.range(0);
  const auto b = state.host_vector<float>(n);
  const auto c = state.host_vector<float>(n);
  auto a = state.host_vector<float>(n);
  declare_axpy(state, n);
  state.verify([&] {
    return sampled_close(
        sampled_indices(n, samples), [&](auto i) { return a.data()[i]; },
        [&](auto i) { return b.data()[i] + static_cast<double>(scale) * c.data()[i]; }, rounding, rounding);
  });
  state.measure([&] { triad(b.span(), c.span(), a.span()); });
}

void elementwise(State& state, void (*function)(In, Out), double (*exact)(double)) {
  map_on_host(
      state, state.range(0), rounding, [exact](const float* x, auto i) { return exact(static_cast<double>(x[i])); },
      function, 0.0);
}

void cosine_on_host(State& state) {
  declare_cosine(state, state.range(0));
  elementwise(state, cosine, [](double x) { return std::cos(x); });
}

void gelu_on_host(State& state) {
  declare_gelu(state, state.range(0));
  elementwise(state, gelu, [](double x) {
    return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  });
}

/// Compares with the sum of term(i) in double.
template <class Term>
Check sum_close(double actual, std::int64_t n, const Term& term) {
  double expected = 0.0;
  double magnitude = 0.0;
#pragma omp parallel for simd reduction(+ : expected, magnitude)
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = term(i);
    expected += value;
    magnitude += std::abs(value);
  }
  if (std::abs(actual - expected) <= sum_tolerance * magnitude) return true;
  return {false, "the result is " + std::to_string(actual) + ", not " + std::to_string(expected)};
}

void sum_on_host(State& state) {
  const auto n = state.range(0);
  const auto x = state.host_vector<float>(n);
  double result = 0.0;
  declare_sum(state, n, fp64);
  state.verify([&] { return sum_close(result, n, [p = x.data()](auto i) { return static_cast<double>(p[i]); }); });
  state.measure([&] {
    result = sum(x.span());
    keep(result);
  });
}

void dot_on_host(State& state) {
  const auto n = state.range(0);
  const auto x = state.host_vector<float>(n);
  const auto y = state.host_vector<float>(n);
  double result = 0.0;
  declare_dot(state, n, fp64);
  state.verify([&] {
    return sum_close(result, n, [p = x.data(), q = y.data()](auto i) {
      return static_cast<double>(p[i]) * static_cast<double>(q[i]);
    });
  });
  state.measure([&] {
    result = dot(x.span(), y.span());
    keep(result);
  });
}

using Row = std::vector<double>;

/// Compares whole rows: the first, the last and some between. `exact` turns a row of the input into one of the result.
template <class Exact>
Check rows_close(In x, In y, const Exact& exact) {
  const auto columns = static_cast<std::size_t>(row_length);
  const auto rows = static_cast<std::int64_t>(x.size()) / row_length;
  const std::int64_t stride = std::max<std::int64_t>(1, rows / sampled_rows) | 1;
  std::vector<std::int64_t> indices(columns);
  for (std::size_t i = 0; i < columns; ++i) indices[i] = static_cast<std::int64_t>(i);
  for (std::int64_t row = 0; row < rows + stride - 1; row += stride) {
    const auto first = static_cast<std::size_t>(std::min(row, rows - 1)) * columns;
    const Row expected = exact(
        Row(x.begin() + static_cast<std::ptrdiff_t>(first), x.begin() + static_cast<std::ptrdiff_t>(first + columns)));
    Check check = sampled_close(
        indices, [&](auto i) { return y[first + static_cast<std::size_t>(i)]; },
        [&](auto i) { return expected[static_cast<std::size_t>(i)]; }, row_tolerance, row_tolerance);
    if (!check.passed) {
      check.message = "row " + std::to_string(std::min(row, rows - 1)) + ": " + check.message;
      return check;
    }
  }
  return true;
}

Row exact_softmax(Row row) {
  const double largest = *std::max_element(row.begin(), row.end());
  double sum = 0.0;
  for (auto& value : row) sum += value = std::exp(value - largest);
  for (auto& value : row) value /= sum;
  return row;
}

Row exact_layer_norm(Row row, In gamma, In beta) {
  const auto columns = static_cast<double>(row.size());
  double mean = 0.0;
  for (const double value : row) mean += value / columns;
  double variance = 0.0;
  for (const double value : row) variance += (value - mean) * (value - mean) / columns;
  const double deviation = std::sqrt(variance + static_cast<double>(layer_norm_epsilon));
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = (row[i] - mean) / deviation * gamma[i] + beta[i];
  return row;
}

void softmax_on_host(State& state) {
  const auto n = state.range(0);
  if (n % row_length != 0) return skip_broken_rows(state, n);
  const auto x = state.host_vector<float>(n);
  auto y = state.host_vector<float>(n);
  declare_softmax(state, n);
  state.verify([&] { return rows_close(x.span(), y.span(), exact_softmax); });
  state.measure([&] { softmax(x.span(), y.span()); });
}

void layer_norm_on_host(State& state) {
  const auto n = state.range(0);
  if (n % row_length != 0) return skip_broken_rows(state, n);
  const auto x = state.host_vector<float>(n);
  const auto gamma = state.host_vector<float>(row_length);
  const auto beta = state.host_vector<float>(row_length);
  auto y = state.host_vector<float>(n);
  declare_layer_norm(state, n);
  state.verify([&] {
    return rows_close(x.span(), y.span(),
                      [&](const Row& row) { return exact_layer_norm(row, gamma.span(), beta.span()); });
  });
  state.measure([&] { layer_norm(x.span(), gamma.span(), beta.span(), y.span()); });
}

void transpose_on_host(State& state) {
  const auto n = state.range(0);
  declare_transpose(state, n);
  map_on_host(
      state, n * n, 0.0, [n](const float* x, auto i) { return x[i % n * n + i / n]; },
      [n](In x, Out y) { transpose(x, y, n); });
}

void gemm_on_host(State& state) {
  const auto n = state.range(0);
  const auto a = state.host_vector<float>(n * n);
  const auto b = state.host_vector<float>(n * n);
  auto c = state.host_vector<float>(n * n);
  declare_gemm(state, n, fp32, sizeof(float));
  state.verify([&] {
    // A few hundred elements: each takes a row and a column.
    std::vector<std::int64_t> indices;
    const std::int64_t stride = (n * n / 256) | 1;
    for (std::int64_t i = 0; i < n * n; i += stride) indices.push_back(i);
    indices.push_back(n * n - 1);
    return sampled_close(
        indices, [&](auto i) { return c.data()[i]; },
        [&](auto i) {
          double sum = 0.0;
          for (std::int64_t k = 0; k < n; ++k)
            sum += static_cast<double>(a.data()[i / n * n + k]) * static_cast<double>(b.data()[k * n + i % n]);
          return sum;
        },
        1e-5, 1e-6 * static_cast<double>(n));
  });
  state.measure([&] { gemm(a.span(), b.span(), c.span(), n); });
}

void intensity_on_host(State& state) {
  const auto fma_count = state.range(0);
  declare_fma_chain(state, intensity_elements_host, fma_count);
  const auto exact = [fma_count](const float* x, auto i) {
    auto value = static_cast<double>(x[i]);
    for (std::int64_t k = 0; k < fma_count; ++k)
      value = value * static_cast<double>(0.999F) + static_cast<double>(0.001F);
    return value;
  };
  const auto chain_of = [](std::int64_t length) { return [length](In x, Out y) { fma_chain(x, y, length); }; };
  const std::int64_t half = fma_count / 2;
  const auto checked = std::min(samples, std::max<std::int64_t>(1, (1 << 22) / fma_count - 2048));
  // Every step forgets a thousandth of the error so far and adds at most 6e-8.
  map_on_host(state, intensity_elements_host, 1e-4, exact, chain_of(fma_count),
              static_cast<double>(half) / static_cast<double>(fma_count), chain_of(half), checked);
}

GoogleBenchmark* on_host(const char* name, void (*function)(State&)) {
  return register_operation(name, DeviceKind::cpu, function, GPUBENCH_CODE);
}

GPUBENCH_REGISTERED = on_host("copy", copy_on_host)->Apply(vector_sizes);
GPUBENCH_REGISTERED = on_host("saxpy", saxpy_on_host)->Apply(vector_sizes);
GPUBENCH_REGISTERED = on_host("triad", triad_on_host)->Apply(vector_sizes);
GPUBENCH_REGISTERED = on_host("cos", cosine_on_host)->Apply(vector_sizes);
GPUBENCH_REGISTERED = on_host("gelu", gelu_on_host)->Apply(vector_sizes);
GPUBENCH_REGISTERED = on_host("reduction", sum_on_host)->Apply(vector_sizes);
GPUBENCH_REGISTERED = on_host("dot", dot_on_host)->Apply(vector_sizes);
GPUBENCH_REGISTERED = on_host("softmax", softmax_on_host)->Apply(row_sizes);
GPUBENCH_REGISTERED = on_host("layer_norm", layer_norm_on_host)->Apply(row_sizes);
GPUBENCH_REGISTERED = on_host("transpose", transpose_on_host)->Apply(matrix_sizes);
GPUBENCH_REGISTERED = on_host("gemm_fp32", gemm_on_host)->Apply(gemm_sizes_host);
GPUBENCH_REGISTERED = on_host("intensity", intensity_on_host)->Apply(fma_counts);

}  // namespace
}  // namespace gpubench::operations
