// SPDX-License-Identifier: Apache-2.0
// copy, saxpy, triad: bound by memory bandwidth at every size beyond the caches.
#include <vector>

#include "kernels/operations/cuda_kernels.h"
#include "kernels/operations/device_sample.h"
#include "kernels/operations/operations.h"
#include "kernels/operations/vector_launch.cuh"

namespace gpubench::operations::cuda {
namespace {

/// On an H200 a copy of 2 GiB in DRAM is as fast with 128 threads (with 1024 5 % slower), but one of 32 MiB in L2 takes
/// 12 % longer, because twice as many blocks have to be started (docs/results/h200/block-start.md).
constexpr int threads = 256;

__global__ void __launch_bounds__(threads)
    copy_kernel(const float* __restrict__ x, float* __restrict__ y, std::int64_t n) {
  for_each_16_bytes(
      n, [&](std::int64_t i) { reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i]; },
      [&](std::int64_t j) { y[j] = x[j]; });
}

/// out = factor * x + y, where out may be y.
__global__ void __launch_bounds__(threads)
    axpy_kernel(const float* __restrict__ x, const float* y, float* out, std::int64_t n, float factor) {
  const auto axpy = [factor](float u, float v) { return fmaf(factor, u, v); };
  for_each_16_bytes(
      n,
      [&](std::int64_t i) {
        reinterpret_cast<float4*>(out)[i] =
            map4(reinterpret_cast<const float4*>(x)[i], reinterpret_cast<const float4*>(y)[i], axpy);
      },
      [&](std::int64_t j) { out[j] = axpy(x[j], y[j]); });
}

}  // namespace

void copy(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  copy_kernel<<<blocks_for(n, threads), threads, 0, stream>>>(x, y, n);
  check_launch("copy");
}

void saxpy(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  axpy_kernel<<<blocks_for(n, threads), threads, 0, stream>>>(x, y, y, n, scale);
  check_launch("saxpy");
}

void triad(const float* b, const float* c, float* a, std::int64_t n, cudaStream_t stream) {
  axpy_kernel<<<blocks_for(n, threads), threads, 0, stream>>>(c, b, a, n, scale);
  check_launch("triad");
}

}  // namespace gpubench::operations::cuda

namespace gpubench::operations::registered {
namespace {

// One multiply-add: the GPU rounds it once, a host without FMA twice. Each rounding is at most 2^-24 of its result, and
// of the product, which may cancel against y: hence an absolute part for values of a few units.
constexpr double axpy_relative = 1e-6;
constexpr double axpy_absolute = 1e-6;

void copy(State& state) {
  const std::int64_t n = state.range(0);
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  declare_copy(state, n);
  state.verify([&] {
    const DeviceSample sample(n);
    return sample.close(sample.of(y), sample.of(x), 0.0, 0.0);
  });
  state.measure([&](cudaStream_t stream) { cuda::copy(x.data(), y.data(), n, stream); });
}

void saxpy(State& state) {
  const std::int64_t n = state.range(0);
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  declare_axpy(state, n);
  const DeviceSample sample(n);
  std::vector<float> expected = sample.of(y);  // y before the one execution that the check sees
  state.verify([&] {
    operations::saxpy(sample.of(x), expected);
    return sample.close(sample.of(y), expected, axpy_relative, axpy_absolute);
  });
  state.measure([&](cudaStream_t stream) { cuda::saxpy(x.data(), y.data(), n, stream); });
}

void triad(State& state) {
  const std::int64_t n = state.range(0);
  const auto b = state.device_vector<float>(n);
  const auto c = state.device_vector<float>(n);
  auto a = state.device_vector<float>(n);
  declare_axpy(state, n);
  state.verify([&] {
    const DeviceSample sample(n);
    std::vector<float> expected(static_cast<std::size_t>(sample.size()));
    operations::triad(sample.of(b), sample.of(c), expected);
    return sample.close(sample.of(a), expected, axpy_relative, axpy_absolute);
  });
  state.measure([&](cudaStream_t stream) { cuda::triad(b.data(), c.data(), a.data(), n, stream); });
}

GPU_BENCHMARK(copy)->Apply(vector_sizes);
GPU_BENCHMARK(saxpy)->Apply(vector_sizes);
GPU_BENCHMARK(triad)->Apply(vector_sizes);

}  // namespace
}  // namespace gpubench::operations::registered
