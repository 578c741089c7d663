// SPDX-License-Identifier: Apache-2.0
// cos and GELU: some arithmetic for every element, one pass through memory.
#include <vector>

#include "kernels/operations/cuda_kernels.h"
#include "kernels/operations/device_sample.h"
#include "kernels/operations/operations.h"
#include "kernels/operations/vector_launch.cuh"

namespace gpubench::operations::cuda {
namespace {

constexpr int threads = 256;

struct Cosine {
  __device__ float operator()(float x) const { return cosf(x); }
};

/// With u = sqrt(2/pi) (x + 0.044715 x^3): 1 + tanh(u) = 2 / (1 + exp(-2u)). Where exp overflows the quotient is 0, as
/// it must be.
struct Gelu {
  __device__ float operator()(float x) const {
    constexpr float minus_two_root = -1.5957691216057308F;  // -2 sqrt(2/pi)
    const float minus_two_u = minus_two_root * fmaf(0.044715F * x * x, x, x);
    return __fdividef(x, 1.0F + __expf(minus_two_u));
  }
};

template <class F>
__global__ void __launch_bounds__(threads)
    map_kernel(const float* __restrict__ x, float* __restrict__ y, std::int64_t n, F f) {
  for_each_16_bytes(
      n, [&](std::int64_t i) { reinterpret_cast<float4*>(y)[i] = map4(reinterpret_cast<const float4*>(x)[i], f); },
      [&](std::int64_t j) { y[j] = f(x[j]); });
}

}  // namespace

void cosine(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  map_kernel<<<blocks_for(n, threads), threads, 0, stream>>>(x, y, n, Cosine{});
  check_launch("cos");
}

void gelu(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  map_kernel<<<blocks_for(n, threads), threads, 0, stream>>>(x, y, n, Gelu{});
  check_launch("gelu");
}

}  // namespace gpubench::operations::cuda

namespace gpubench::operations::registered {
namespace {

void cos(State& state) {
  const std::int64_t n = state.range(0);
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  declare_cosine(state, n);
  state.verify([&] {
    const DeviceSample sample(n);
    std::vector<float> expected(static_cast<std::size_t>(sample.size()));
    operations::cosine(sample.of(x), expected);
    // cosf is within 2 ulp (CUDA C++ Programming Guide, appendix Mathematical Functions), and |cos| <= 1: 2.4e-7
    // absolute.
    return sample.close(sample.of(y), expected, 0.0, 5e-7);
  });
  state.ablation(less_arithmetic, 0.0, [&](cudaStream_t stream) { cuda::copy(x.data(), y.data(), n, stream); });
  state.measure([&](cudaStream_t stream) { cuda::cosine(x.data(), y.data(), n, stream); });
}

void gelu(State& state) {
  const std::int64_t n = state.range(0);
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  declare_gelu(state, n);
  state.verify([&] {
    const DeviceSample sample(n);
    std::vector<float> expected(static_cast<std::size_t>(sample.size()));
    operations::gelu(sample.of(x), expected);
    // __expf errs by 2 + 1.16 |argument| ulp and __fdividef by 2; |argument| stays below 23 for normal data (|x| < 6):
    // under 31 ulp = 3.7e-6. Far in the negative tail the host's 1 + tanh(u) keeps no digits: an absolute part of some
    // ulps of 1.
    return sample.close(sample.of(y), expected, 1e-5, 1e-6);
  });
  state.measure([&](cudaStream_t stream) { cuda::gelu(x.data(), y.data(), n, stream); });
}

GPU_BENCHMARK(cos)->Apply(vector_sizes);
GPU_BENCHMARK(gelu)->Apply(vector_sizes);

}  // namespace
}  // namespace gpubench::operations::registered
