// SPDX-License-Identifier: Apache-2.0
// Matrix transposition on the host.
#include "kernels/operations/operations.h"
#include "kernels/operations/sampled_check.h"

namespace gpubench::operations {
namespace {

void transpose_on_host(State& state) {
  const auto n = state.range(0);
  const auto x = state.host_vector<float>(n * n);
  auto y = state.host_vector<float>(n * n);
  declare_transpose(state, n);
  state.verify([&] {
    return sampled_close(
        sampled_indices(n * n, 1 << 16), [&](auto i) { return y.data()[i]; },
        [&](auto i) { return x.data()[i % n * n + i / n]; }, 0.0, 0.0);
  });
  state.measure([&] { transpose(x.span(), y.span(), n); });
}

GPUBENCH_REGISTERED =
    register_operation("transpose", DeviceKind::cpu, transpose_on_host, GPUBENCH_CODE)->Apply(transpose_sizes);

}  // namespace
}  // namespace gpubench::operations
