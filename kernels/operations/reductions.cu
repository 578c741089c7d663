// SPDX-License-Identifier: Apache-2.0
// Sum and dot product in one launch: each block leaves a partial sum, and the block that arrives last adds the partial
// sums. Unlike atomics on the result, this needs no clearing launch and adds in the same order every time.
#include <cmath>

#include "gpu/cuda/handles.h"
#include "gpu/memory.h"
#include "kernels/operations/cuda_kernels.h"
#include "kernels/operations/operations.h"

namespace gpubench::operations::cuda {
namespace {

constexpr int reduction_threads = 256;
constexpr int warps = reduction_threads / 32;
constexpr int blocks_per_multiprocessor = 8;
constexpr int unroll = 4;

__device__ __forceinline__ float add4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

struct Sum {
  const float* __restrict__ x;
  __device__ float four(std::int64_t i) const { return add4(__ldg(reinterpret_cast<const float4*>(x) + i)); }
  __device__ float one(std::int64_t j) const { return x[j]; }
};

struct Dot {
  const float* __restrict__ x;
  const float* __restrict__ y;
  __device__ float four(std::int64_t i) const {
    const float4 u = __ldg(reinterpret_cast<const float4*>(x) + i);
    const float4 v = __ldg(reinterpret_cast<const float4*>(y) + i);
    return fmaf(u.x, v.x, fmaf(u.y, v.y, fmaf(u.z, v.z, u.w * v.w)));
  }
  __device__ float one(std::int64_t j) const { return x[j] * y[j]; }
};

/// The sum over the block, in thread 0.
template <class T>
__device__ __forceinline__ T block_sum(T value) {
  __shared__ T of_warp[warps];
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffU, value, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < warps ? of_warp[threadIdx.x] : T(0);
    for (int step = warps / 2; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffU, value, step);
  }
  return value;
}

template <class Term>
__device__ __forceinline__ float thread_sum(Term term, std::int64_t n) {
  const std::int64_t groups = n / 4;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * reduction_threads;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * reduction_threads + threadIdx.x;
  const std::int64_t tail = 4 * groups + i;
  float partial[unroll] = {};
  for (; i + (unroll - 1) * stride < groups; i += unroll * stride) {
#pragma unroll
    for (int k = 0; k < unroll; ++k) partial[k] += term.four(i + k * stride);
  }
  for (; i < groups; i += stride) partial[0] += term.four(i);
  if (tail < n) partial[1] += term.one(tail);
  return (partial[0] + partial[1]) + (partial[2] + partial[3]);
}

template <class Term>
__global__ void __launch_bounds__(reduction_threads)
    reduce_kernel(Term term, std::int64_t n, float* partials, unsigned* arrivals, float* result) {
  const float mine = block_sum(thread_sum(term, n));
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) *result = mine;
    return;
  }
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = mine;
    __threadfence();  // the partial sum is visible to whoever sees the arrival
    last = atomicInc(arrivals, gridDim.x - 1) == gridDim.x - 1;  // wraps to 0, ready for the next launch
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  double total = 0.0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += reduction_threads)
    total += static_cast<double>(__ldcg(partials + b));
  total = block_sum(total);
  if (threadIdx.x == 0) *result = static_cast<float>(total);
}

template <class Term>
void reduce(Term term, float* result, std::int64_t n, ReductionScratch& scratch, cudaStream_t stream) {
  const std::int64_t wanted = (n / 4 + reduction_threads - 1) / reduction_threads;
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, scratch.max_blocks()));
  reduce_kernel<<<blocks, reduction_threads, 0, stream>>>(term, n, scratch.partials(), scratch.arrivals(), result);
  check_launch("reduction");
}

}  // namespace

ReductionScratch::ReductionScratch()
    : max_blocks_(device_attribute(cudaDevAttrMultiProcessorCount) * blocks_per_multiprocessor),
      partials_(static_cast<std::size_t>(max_blocks_)),
      arrivals_(1) {
  detail::fill_bytes_device(arrivals_.data(), 0, arrivals_.bytes());
}

void sum(const float* x, float* result, std::int64_t n, ReductionScratch& scratch, cudaStream_t stream) {
  reduce(Sum{x}, result, n, scratch, stream);
}

void dot(const float* x, const float* y, float* result, std::int64_t n, ReductionScratch& scratch,
         cudaStream_t stream) {
  reduce(Dot{x, y}, result, n, scratch, stream);
}

}  // namespace gpubench::operations::cuda

namespace gpubench::operations::registered {
namespace {

/// The next elements of a vector, as many as `room` holds or fewer at its end.
In piece_of(const DeviceVector<float>& vector, std::size_t offset, HostVector<float>& room) {
  const std::size_t count = std::min(room.size(), vector.size() - offset);
  detail::copy_from_device(room.data(), vector.data() + offset, count * sizeof(float));
  return In(room).first(count);
}

/// For the pieces of a check, which then needs little host memory.
HostVector<float> room_for_pieces(std::int64_t n) { return HostVector<float>(std::min(std::int64_t{1} << 22, n)); }

/// Compares with a sum in double of all terms. A thread adds up k terms of unit variance in float (four accumulators,
/// then trees): each addition errs by at most 2^-24 of a partial sum that has grown to about sqrt(k), independently of
/// the others, so n of them by about 2^-24 sqrt(n k). Eight times that, and 2^-23 of the sum itself for rounding it to
/// float, is allowed: for 2^26 elements on an H200 0.06, where leaving out one element is an error of about 1.
Check close_to(double actual, double expected, std::int64_t n, int max_blocks) {
  const double by_thread = static_cast<double>(n) / (static_cast<double>(max_blocks) * 256.0) + 16.0;
  const double allowed = 0x1p-24 * (8.0 * std::sqrt(static_cast<double>(n) * by_thread) + 2.0 * std::abs(expected));
  const double error = std::abs(actual - expected);
  if (error <= allowed) return true;
  return {false, "the result is " + std::to_string(actual) + ", the sum in double " + std::to_string(expected)};
}

void reduction(State& state) {
  const std::int64_t n = state.range(0);
  const auto x = state.device_vector<float>(n);
  DeviceVector<float> result(1);
  cuda::ReductionScratch scratch;
  declare_sum(state, n, fp32);
  state.verify([&] {
    double expected = 0.0;
    HostVector<float> of_x = room_for_pieces(n);
    for (std::size_t at = 0; at < x.size(); at += of_x.size()) expected += operations::sum(piece_of(x, at, of_x));
    return close_to(result.to_host()[0], expected, n, scratch.max_blocks());
  });
  state.measure([&](cudaStream_t stream) { cuda::sum(x.data(), result.data(), n, scratch, stream); });
}

void dot(State& state) {
  const std::int64_t n = state.range(0);
  const auto x = state.device_vector<float>(n);
  const auto y = state.device_vector<float>(n);
  DeviceVector<float> result(1);
  cuda::ReductionScratch scratch;
  declare_dot(state, n, fp32);
  state.verify([&] {
    double expected = 0.0;
    HostVector<float> of_x = room_for_pieces(n);
    HostVector<float> of_y = room_for_pieces(n);
    for (std::size_t at = 0; at < x.size(); at += of_x.size())
      expected += operations::dot(piece_of(x, at, of_x), piece_of(y, at, of_y));
    return close_to(result.to_host()[0], expected, n, scratch.max_blocks());
  });
  state.measure([&](cudaStream_t stream) { cuda::dot(x.data(), y.data(), result.data(), n, scratch, stream); });
}

GPU_BENCHMARK(reduction)->Apply(vector_sizes);
GPU_BENCHMARK(dot)->Apply(vector_sizes);

}  // namespace
}  // namespace gpubench::operations::registered
