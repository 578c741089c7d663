// SPDX-License-Identifier: Apache-2.0
// A chain of multiply-adds on every element: its length chooses the arithmetic intensity, from memory-bound to
// compute-bound.
#include <vector>

#include "kernels/operations/cuda_kernels.h"
#include "kernels/operations/device_sample.h"
#include "kernels/operations/operations.h"
#include "kernels/operations/vector_launch.cuh"

namespace gpubench::operations::cuda {
namespace {

constexpr int threads = 256;

__device__ __forceinline__ float step(float v) { return fmaf(v, 0.999F, 0.001F); }

/// Four independent chains a thread. Unrolled by 64, the loop's own instructions are 1 % of the arithmetic.
__device__ __forceinline__ float4 chain(float4 v, std::int64_t fma_count) {
  int left = static_cast<int>(fma_count);
#pragma unroll 1
  for (; left >= 64; left -= 64) {
#pragma unroll
    for (int i = 0; i < 64; ++i) v = map4(v, step);
  }
#pragma unroll 1
  for (; left >= 8; left -= 8) {
#pragma unroll
    for (int i = 0; i < 8; ++i) v = map4(v, step);
  }
#pragma unroll 1
  for (; left > 0; --left) v = map4(v, step);
  return v;
}

__global__ void __launch_bounds__(threads)
    fma_chain_kernel(const float* __restrict__ x, float* __restrict__ y, std::int64_t n, std::int64_t fma_count) {
  for_each_16_bytes(
      n,
      [&](std::int64_t i) {
        reinterpret_cast<float4*>(y)[i] = chain(reinterpret_cast<const float4*>(x)[i], fma_count);
      },
      [&](std::int64_t j) {
        float v = x[j];
        for (std::int64_t k = 0; k < fma_count; ++k) v = step(v);
        y[j] = v;
      });
}

}  // namespace

void fma_chain(const float* x, float* y, std::int64_t n, std::int64_t fma_count, cudaStream_t stream) {
  fma_chain_kernel<<<blocks_for(n, threads), threads, 0, stream>>>(x, y, n, fma_count);
  check_launch("intensity");
}

}  // namespace gpubench::operations::cuda

namespace gpubench::operations::registered {
namespace {

void intensity(State& state) {
  const std::int64_t n = intensity_elements_cuda;
  const std::int64_t fma_count = state.range(0);
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  declare_fma_chain(state, n, fma_count);
  state.verify([&] {
    const DeviceSample sample(n);
    std::vector<float> expected(static_cast<std::size_t>(sample.size()));
    operations::fma_chain(sample.of(x), expected, fma_count);
    // A host without FMA rounds twice a step. Errors of 2^-24 |v| a step fade by 0.999 a step: their sum stays below
    // 1000 steps x 2 x 2^-24 = 1.2e-4 of the largest value of the chain (normal data: below 6), in truth they mostly
    // cancel.
    return sample.close(sample.of(y), expected, 1e-4, 1e-4);
  });
  const std::int64_t half = fma_count / 2;
  state.ablation(less_arithmetic, static_cast<double>(half) / static_cast<double>(fma_count),
                 [&, half](cudaStream_t stream) { cuda::fma_chain(x.data(), y.data(), n, half, stream); });
  state.measure([&](cudaStream_t stream) { cuda::fma_chain(x.data(), y.data(), n, fma_count, stream); });
}

GPU_BENCHMARK(intensity)->Apply(fma_counts);

}  // namespace
}  // namespace gpubench::operations::registered
