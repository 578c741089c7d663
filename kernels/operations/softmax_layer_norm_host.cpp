// SPDX-License-Identifier: Apache-2.0
// Softmax and layer norm, by rows, on the host.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/operations/operations.h"
#include "kernels/operations/sampled_check.h"

namespace gpubench::operations {
namespace {

constexpr std::int64_t sampled_rows = 32;
constexpr double tolerance = 4e-6;  // a row's sum in FP32 rounds a hundred times in each lane

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
        [&](auto i) { return expected[static_cast<std::size_t>(i)]; }, tolerance, tolerance);
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
    return rows_close(x.span(), y.span(), [&](Row row) { return exact_layer_norm(row, gamma.span(), beta.span()); });
  });
  state.measure([&] { layer_norm(x.span(), gamma.span(), beta.span(), y.span()); });
}

GPUBENCH_REGISTERED = register_operation("softmax", DeviceKind::cpu, softmax_on_host, GPUBENCH_CODE)->Apply(row_sizes);
GPUBENCH_REGISTERED =
    register_operation("layer_norm", DeviceKind::cpu, layer_norm_on_host, GPUBENCH_CODE)->Apply(row_sizes);

}  // namespace
}  // namespace gpubench::operations
