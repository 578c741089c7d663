// SPDX-License-Identifier: Apache-2.0
// An operation of tunable arithmetic intensity on the host: 0.25 to 512 FLOPs for each byte moved.
#include <algorithm>

#include "kernels/operations/operations.h"
#include "kernels/operations/sampled_check.h"

namespace gpubench::operations {
namespace {

void intensity_on_host(State& state) {
  const auto fma_count = state.range(0);
  const auto n = intensity_elements_host;
  const auto x = state.host_vector<float>(n);
  auto y = state.host_vector<float>(n);
  declare_fma_chain(state, n, fma_count);
  state.verify([&] {
    // Every step forgets a thousandth of the error so far and adds half a unit in the last place: 1000 x 6e-8 at the
    // most.
    const auto samples = std::max<std::int64_t>(1, (1 << 22) / fma_count - 2048);
    return sampled_close(
        sampled_indices(n, std::min<std::int64_t>(samples, 1 << 16)), [&](auto i) { return y.data()[i]; },
        [&](auto i) {
          auto value = static_cast<double>(x.data()[i]);
          for (std::int64_t k = 0; k < fma_count; ++k)
            value = value * static_cast<double>(0.999F) + static_cast<double>(0.001F);
          return value;
        },
        1e-4, 1e-4);
  });
  const std::int64_t half = fma_count / 2;
  state.ablation(less_arithmetic, static_cast<double>(half) / static_cast<double>(fma_count),
                 [&, half] { fma_chain(x.span(), y.span(), half); });
  state.measure([&] { fma_chain(x.span(), y.span(), fma_count); });
}

GPUBENCH_REGISTERED =
    register_operation("intensity", DeviceKind::cpu, intensity_on_host, GPUBENCH_CODE)->Apply(fma_counts);

}  // namespace
}  // namespace gpubench::operations
