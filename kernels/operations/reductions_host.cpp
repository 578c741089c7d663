// SPDX-License-Identifier: Apache-2.0
// Sum and dot product on the host.
#include <cmath>
#include <string>

#include "kernels/operations/operations.h"

namespace gpubench::operations {
namespace {

constexpr double tolerance = 1e-12;  // of the sum of magnitudes; 2^26 roundings in double in any order stay well within

Check close_to(double actual, double expected, double magnitude) {
  if (std::abs(actual - expected) <= tolerance * magnitude) return true;
  return {false, "the result is " + std::to_string(actual) + ", not " + std::to_string(expected)};
}

void sum_on_host(State& state) {
  const auto n = state.range(0);
  const auto x = state.host_vector<float>(n);
  double result = 0.0;
  declare_sum(state, n);
  state.verify([&] {
    double expected = 0.0;
    double magnitude = 0.0;
#pragma omp parallel for simd reduction(+ : expected, magnitude)
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<double>(x.data()[i]);
      expected += value;
      magnitude += std::abs(value);
    }
    return close_to(result, expected, magnitude);
  });
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
  declare_dot(state, n);
  state.verify([&] {
    double expected = 0.0;
    double magnitude = 0.0;
#pragma omp parallel for simd reduction(+ : expected, magnitude)
    for (std::int64_t i = 0; i < n; ++i) {
      const double product = static_cast<double>(x.data()[i]) * static_cast<double>(y.data()[i]);
      expected += product;
      magnitude += std::abs(product);
    }
    return close_to(result, expected, magnitude);
  });
  state.measure([&] {
    result = dot(x.span(), y.span());
    keep(result);
  });
}

GPUBENCH_REGISTERED = register_operation("reduction", DeviceKind::cpu, sum_on_host, GPUBENCH_CODE)->Apply(vector_sizes);
GPUBENCH_REGISTERED = register_operation("dot", DeviceKind::cpu, dot_on_host, GPUBENCH_CODE)->Apply(vector_sizes);

}  // namespace
}  // namespace gpubench::operations
