// SPDX-License-Identifier: Apache-2.0
// An operation of your own, on the GPU.
#include <gpubench/gpubench.h>

namespace {

__global__ void saxpy_kernel(std::int64_t n, float a, const float* x, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

void saxpy(gpubench::State& state) {
  const auto n = state.range("n");
  auto x = state.device_vector<float>(n);  // filled with normal random data
  auto y = state.device_vector<float>(n);
  state.reads(x.bytes() + y.bytes());  // bytes the operation must move, at least
  state.writes(y.bytes());
  state.flops(gpubench::fp32, 2 * n);
  const auto blocks = static_cast<unsigned>((n + 255) / 256);
  state.measure([&](cudaStream_t stream) { saxpy_kernel<<<blocks, 256, 0, stream>>>(n, 2.0F, x.data(), y.data()); });
}
GPU_BENCHMARK(saxpy)->ArgName("n")->RangeMultiplier(4)->Range(1 << 10, 1 << 28);

}  // namespace
