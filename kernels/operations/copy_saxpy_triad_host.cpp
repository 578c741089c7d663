// SPDX-License-Identifier: Apache-2.0
// copy, saxpy and triad on the host.
#include <vector>

#include "kernels/operations/operations.h"
#include "kernels/operations/sampled_check.h"

namespace gpubench::operations {
namespace {

constexpr std::int64_t samples = 1 << 16;
constexpr double rounding = 1e-6;

void copy_on_host(State& state) {
  const auto n = state.range(0);
  const auto x = state.host_vector<float>(n);
  auto y = state.host_vector<float>(n);
  declare_copy(state, n);
  state.verify([&] {
    return sampled_close(
        sampled_indices(n, samples), [&](auto i) { return y.data()[i]; }, [&](auto i) { return x.data()[i]; }, 0.0,
        0.0);
  });
  state.measure([&] { copy(x.span(), y.span()); });
}

// In place: y grows by 2 x an execution until it is 2^24 times as large and rounding stops it, so it stays finite
// however often it runs.
void saxpy_on_host(State& state) {
  const auto n = state.range(0);
  const auto x = state.host_vector<float>(n);
  auto y = state.host_vector<float>(n);
  declare_saxpy(state, n);
  const auto indices = sampled_indices(n, samples);
  std::vector<double> before;
  before.reserve(indices.size());
  for (const auto i : indices) before.push_back(static_cast<double>(y.data()[i]));
  state.verify([&]() -> Check {
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
  declare_triad(state, n);
  state.verify([&] {
    return sampled_close(
        sampled_indices(n, samples), [&](auto i) { return a.data()[i]; },
        [&](auto i) { return b.data()[i] + static_cast<double>(scale) * c.data()[i]; }, rounding, rounding);
  });
  state.measure([&] { triad(b.span(), c.span(), a.span()); });
}

GPUBENCH_REGISTERED = register_operation("copy", DeviceKind::cpu, copy_on_host, GPUBENCH_CODE)->Apply(vector_sizes);
GPUBENCH_REGISTERED = register_operation("saxpy", DeviceKind::cpu, saxpy_on_host, GPUBENCH_CODE)->Apply(vector_sizes);
GPUBENCH_REGISTERED = register_operation("triad", DeviceKind::cpu, triad_on_host, GPUBENCH_CODE)->Apply(vector_sizes);

}  // namespace
}  // namespace gpubench::operations
