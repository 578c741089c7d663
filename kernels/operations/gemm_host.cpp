// SPDX-License-Identifier: Apache-2.0
// Matrix product on the host, through Eigen.
#include "kernels/operations/operations.h"
#include "kernels/operations/sampled_check.h"

namespace gpubench::operations {
namespace {

void gemm_on_host(State& state) {
  const auto n = state.range(0);
  const auto a = state.host_vector<float>(n * n);
  const auto b = state.host_vector<float>(n * n);
  auto c = state.host_vector<float>(n * n);
  declare_gemm(state, n, fp32, sizeof(float));
  state.verify([&] {
    // A few hundred elements: each takes a row and a column. Sums of n products of standard normal numbers are about
    // sqrt(n) in size, and so is the rounding in their way.
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

GPUBENCH_REGISTERED =
    register_operation("gemm_fp32", DeviceKind::cpu, gemm_on_host, GPUBENCH_CODE)->Apply(gemm_sizes_host);

}  // namespace
}  // namespace gpubench::operations
