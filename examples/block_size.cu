// SPDX-License-Identifier: Apache-2.0
// How large blocks should be: the same copy in blocks of 64 to 1024 threads. Small blocks are limited by how fast a GPU
// starts them, which the verdict says (limiter block-start).
#include <cuda_runtime.h>
#include <gpubench/gpubench.h>

#include <cstdint>

namespace {

__global__ void copy_kernel(const float4* __restrict__ x, float4* __restrict__ y, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i];
}

void block_size(gpubench::State& state) {
  const auto n = state.range("n");
  const auto threads = state.range("threads");
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  state.reads(x.bytes());
  state.writes(y.bytes());
  state.verify([&] { return gpubench::all_close(y.to_host(), x.to_host(), 0.0); });
  const auto* from = reinterpret_cast<const float4*>(x.data());
  auto* to = reinterpret_cast<float4*>(y.data());
  const auto blocks = static_cast<unsigned>((n / 4 + threads - 1) / threads);
  state.measure([=](cudaStream_t stream) {
    copy_kernel<<<blocks, static_cast<unsigned>(threads), 0, stream>>>(from, to, n / 4);
  });
}
GPU_BENCHMARK(block_size)
    ->ArgNames({"n", "threads"})
    ->ArgsProduct({benchmark::CreateRange(1 << 20, 1 << 28, 4), {64, 128, 256, 512, 1024}});

}  // namespace
