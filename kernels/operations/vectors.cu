// SPDX-License-Identifier: Apache-2.0
// Operations that go through their vectors once: copy, saxpy, triad, cos, GELU, and a chain of multiply-adds of tunable
// arithmetic intensity. One thread for each 16 bytes and a grid that covers the vector once reach more bandwidth than
// grid-stride loops or several accesses a thread.
#include "gpu/cuda/handles.h"
#include "kernels/operations/cuda_kernels.h"
#include "kernels/operations/operations.h"

namespace gpubench::operations::cuda {
namespace {

/// As fast as others in DRAM; in L2, fewer threads would mean more blocks to start (docs/results/h200/block-start.md).
constexpr int vector_threads = 256;

/// Calls f(i) for each whole group i of four elements and g(j) for each of the up to three elements j behind them.
template <class Vector, class Scalar>
__device__ __forceinline__ void for_each_16_bytes(std::int64_t n, Vector f, Scalar g) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t groups = n / 4;
  if (i < groups) {
    f(i);
  } else if (i == groups) {
    for (std::int64_t j = 4 * groups; j < n; ++j) g(j);
  }
}

/// Blocks of `threads` that cover n elements, four to a thread.
inline unsigned blocks_for(std::int64_t n, int threads) {
  const std::int64_t covered = (n + 3) / 4;
  const std::int64_t blocks = (covered + threads - 1) / threads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks);
}

template <class F>
__device__ __forceinline__ float4 map4(float4 v, F f) {
  return make_float4(f(v.x), f(v.y), f(v.z), f(v.w));
}

template <class F>
__device__ __forceinline__ float4 map4(float4 v, float4 w, F f) {
  return make_float4(f(v.x, w.x), f(v.y, w.y), f(v.z, w.z), f(v.w, w.w));
}

__global__ void __launch_bounds__(vector_threads)
    copy_kernel(const float* __restrict__ x, float* __restrict__ y, std::int64_t n) {
  for_each_16_bytes(
      n, [&](std::int64_t i) { reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i]; },
      [&](std::int64_t j) { y[j] = x[j]; });
}

/// out = factor * x + y, where out may be y.
__global__ void __launch_bounds__(vector_threads)
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
__global__ void __launch_bounds__(vector_threads)
    map_kernel(const float* __restrict__ x, float* __restrict__ y, std::int64_t n, F f) {
  for_each_16_bytes(
      n, [&](std::int64_t i) { reinterpret_cast<float4*>(y)[i] = map4(reinterpret_cast<const float4*>(x)[i], f); },
      [&](std::int64_t j) { y[j] = f(x[j]); });
}

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

__global__ void __launch_bounds__(vector_threads)
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

void copy(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  copy_kernel<<<blocks_for(n, vector_threads), vector_threads, 0, stream>>>(x, y, n);
  check_launch("copy");
}

void saxpy(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  axpy_kernel<<<blocks_for(n, vector_threads), vector_threads, 0, stream>>>(x, y, y, n, scale);
  check_launch("saxpy");
}

void triad(const float* b, const float* c, float* a, std::int64_t n, cudaStream_t stream) {
  axpy_kernel<<<blocks_for(n, vector_threads), vector_threads, 0, stream>>>(c, b, a, n, scale);
  check_launch("triad");
}

void cosine(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  map_kernel<<<blocks_for(n, vector_threads), vector_threads, 0, stream>>>(x, y, n, Cosine{});
  check_launch("cos");
}

void gelu(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  map_kernel<<<blocks_for(n, vector_threads), vector_threads, 0, stream>>>(x, y, n, Gelu{});
  check_launch("gelu");
}

void fma_chain(const float* x, float* y, std::int64_t n, std::int64_t fma_count, cudaStream_t stream) {
  fma_chain_kernel<<<blocks_for(n, vector_threads), vector_threads, 0, stream>>>(x, y, n, fma_count);
  check_launch("intensity");
}

}  // namespace gpubench::operations::cuda

namespace gpubench::operations::registered {
namespace {

/// Checks a sample of y against what the host makes of the same sample of x.
template <class Host>
Check check_map(const DeviceVector<float>& x, const DeviceVector<float>& y, Host host, double relative,
                double absolute) {
  const DeviceSample sample(static_cast<std::int64_t>(x.size()));
  HostVector<float> expected = sample.room();
  host(sample.of(x), expected);
  return sample.close(sample.of(y), expected, relative, absolute);
}

// One multiply-add: the GPU rounds it once, a host without FMA twice. Each rounding is at most 2^-24 of its result, and
// of the product, which may cancel against y: hence an absolute part for values of a few units.
constexpr double axpy_relative = 1e-6;
constexpr double axpy_absolute = 1e-6;

void copy(State& state) {
  const std::int64_t n = state.range(0);
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  declare_copy(state, n);
  state.verify([&] { return check_map(x, y, operations::copy, 0.0, 0.0); });
  state.measure([&](cudaStream_t stream) { cuda::copy(x.data(), y.data(), n, stream); });
}

void saxpy(State& state) {
  const std::int64_t n = state.range(0);
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  declare_axpy(state, n);
  const DeviceSample sample(n);
  HostVector<float> expected = sample.of(y);  // y before the one execution that the check sees
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
    HostVector<float> expected = sample.room();
    operations::triad(sample.of(b), sample.of(c), expected);
    return sample.close(sample.of(a), expected, axpy_relative, axpy_absolute);
  });
  state.measure([&](cudaStream_t stream) { cuda::triad(b.data(), c.data(), a.data(), n, stream); });
}

void cos(State& state) {
  const std::int64_t n = state.range(0);
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  declare_cosine(state, n);
  // cosf is within 2 ulp (CUDA C++ Programming Guide, appendix Mathematical Functions), and |cos| <= 1: 2.4e-7
  // absolute.
  state.verify([&] { return check_map(x, y, operations::cosine, 0.0, 5e-7); });
  state.ablation(less_arithmetic, 0.0, [&](cudaStream_t stream) { cuda::copy(x.data(), y.data(), n, stream); });
  state.measure([&](cudaStream_t stream) { cuda::cosine(x.data(), y.data(), n, stream); });
}

void gelu(State& state) {
  const std::int64_t n = state.range(0);
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  declare_gelu(state, n);
  // __expf errs by 2 + 1.16 |argument| ulp and __fdividef by 2; |argument| stays below 23 for normal data (|x| < 6):
  // under 31 ulp = 3.7e-6. Far in the negative tail the host's 1 + tanh(u) keeps no digits: an absolute part of some
  // ulps of 1.
  state.verify([&] { return check_map(x, y, operations::gelu, 1e-5, 1e-6); });
  state.measure([&](cudaStream_t stream) { cuda::gelu(x.data(), y.data(), n, stream); });
}

void intensity(State& state) {
  const std::int64_t n = intensity_elements_cuda;
  const std::int64_t fma_count = state.range(0);
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  declare_fma_chain(state, n, fma_count);
  // A host without FMA rounds twice a step. Errors of 2^-24 |v| a step fade by 0.999 a step: their sum stays below 1000
  // steps x 2 x 2^-24 = 1.2e-4 of the chain's largest value, and they mostly cancel.
  const auto on_host = [fma_count](In from, Out to) { operations::fma_chain(from, to, fma_count); };
  state.verify([&] { return check_map(x, y, on_host, 1e-4, 1e-4); });
  const std::int64_t half = fma_count / 2;
  state.ablation(less_arithmetic, static_cast<double>(half) / static_cast<double>(fma_count),
                 [&, half](cudaStream_t stream) { cuda::fma_chain(x.data(), y.data(), n, half, stream); });
  state.measure([&](cudaStream_t stream) { cuda::fma_chain(x.data(), y.data(), n, fma_count, stream); });
}

GPU_BENCHMARK(copy)->Apply(vector_sizes);
GPU_BENCHMARK(saxpy)->Apply(vector_sizes);
GPU_BENCHMARK(triad)->Apply(vector_sizes);
GPU_BENCHMARK(cos)->Apply(vector_sizes);
GPU_BENCHMARK(gelu)->Apply(vector_sizes);
GPU_BENCHMARK(intensity)->Apply(fma_counts);

}  // namespace
}  // namespace gpubench::operations::registered
