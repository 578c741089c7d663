// SPDX-License-Identifier: Apache-2.0
#include <gpubench/gpubench.h>

#include <vector>

namespace {

// --8<-- [start:measure]
template <class T>
__global__ void scale_kernel(std::int64_t n, T* x) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * T(2.0F);
}

template <class T>
void scale(gpubench::State& state) {
  const auto n = state.range("n");
  auto x = state.device_vector<T>(n);
  state.reads(x.bytes());
  state.writes(x.bytes());
  const auto blocks = static_cast<unsigned>((n + 255) / 256);
  state.measure([&](cudaStream_t stream) { scale_kernel<<<blocks, 256, 0, stream>>>(n, x.data()); });
}
GPU_BENCHMARK_TYPES(scale, float, double, __half)->ArgName("n")->RangeMultiplier(4)->Range(1 << 10, 1 << 26);
// --8<-- [end:measure]

// --8<-- [start:reset]
__global__ void halve_kernel(std::int64_t n, float* x) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n)
    while (x[i] > 1.0F) x[i] *= 0.5F;  // no work the second time
}

void halve(gpubench::State& state) {
  const auto n = state.range("n");
  const std::vector<float> start(static_cast<std::size_t>(n), 1e30F);
  auto input = state.device_vector<float>(n, gpubench::none);
  auto x = state.device_vector<float>(n, gpubench::none);
  input.assign(start);
  state.reset([&](cudaStream_t stream) {
    cudaMemcpyAsync(x.data(), input.data(), x.bytes(), cudaMemcpyDeviceToDevice, stream);
  });
  const auto blocks = static_cast<unsigned>((n + 255) / 256);
  state.measure([&](cudaStream_t stream) { halve_kernel<<<blocks, 256, 0, stream>>>(n, x.data()); });
}
GPU_BENCHMARK(halve)->ArgName("n")->Arg(1 << 20);
// --8<-- [end:reset]

}  // namespace
