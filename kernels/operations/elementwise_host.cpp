// SPDX-License-Identifier: Apache-2.0
// cos and GELU on the host.
#include <cmath>
#include <numbers>

#include "kernels/operations/operations.h"
#include "kernels/operations/sampled_check.h"

namespace gpubench::operations {
namespace {

constexpr std::int64_t samples = 1 << 16;
constexpr double tolerance = 1e-6;  // a few roundings of numbers about 1

double exact_gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

using Function = void (*)(In, Out);

void elementwise(State& state, Function function, double (*exact)(double)) {
  const auto n = state.range(0);
  const auto x = state.host_vector<float>(n);
  auto y = state.host_vector<float>(n);
  state.verify([&, exact] {
    return sampled_close(
        sampled_indices(n, samples), [&](auto i) { return y.data()[i]; },
        [&](auto i) { return exact(static_cast<double>(x.data()[i])); }, tolerance, tolerance);
  });
  state.ablation(less_arithmetic, 0.0, [&] { copy(x.span(), y.span()); });
  state.measure([&, function] { function(x.span(), y.span()); });
}

void cosine_on_host(State& state) {
  declare_cosine(state, state.range(0));
  elementwise(state, cosine, [](double x) { return std::cos(x); });
}

void gelu_on_host(State& state) {
  declare_gelu(state, state.range(0));
  elementwise(state, gelu, exact_gelu);
}

GPUBENCH_REGISTERED = register_operation("cos", DeviceKind::cpu, cosine_on_host, GPUBENCH_CODE)->Apply(vector_sizes);
GPUBENCH_REGISTERED = register_operation("gelu", DeviceKind::cpu, gelu_on_host, GPUBENCH_CODE)->Apply(vector_sizes);

}  // namespace
}  // namespace gpubench::operations
