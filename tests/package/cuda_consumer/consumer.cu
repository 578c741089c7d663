// SPDX-License-Identifier: Apache-2.0
#include <gpubench/gpubench.h>

namespace {

__global__ void fill_kernel(float* values, std::size_t count) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < count) values[i] = 1.0F;
}

void fill(gpubench::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  auto values = state.device_vector<float>(count);
  state.writes(count * sizeof(float));
  state.measure([&](cudaStream_t stream) {
    fill_kernel<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(values.data(), count);
  });
}
GPU_BENCHMARK(fill)->Arg(1 << 10)->Arg(1 << 16);

}  // namespace
