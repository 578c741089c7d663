// SPDX-License-Identifier: Apache-2.0
// Softmax and layer norm: one warp for each row, which it keeps in registers, so that memory is read once and written
// once.
#include "gpu/cuda/handles.h"
#include "kernels/operations/cuda_kernels.h"
#include "kernels/operations/operations.h"

namespace gpubench::operations::cuda {
namespace {

constexpr int rows_per_block = 4;
constexpr int row_threads = 32 * rows_per_block;
constexpr int groups = static_cast<int>(row_length) / (4 * 32);  ///< 16-byte accesses of a lane to its row
static_assert(row_length % 128 == 0);

template <class F>
__device__ __forceinline__ float warp_all(float value, F combine) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value = combine(value, __shfl_xor_sync(0xffffffffU, value, step));
  return value;
}
__device__ __forceinline__ float warp_sum(float value) {
  return warp_all(value, [](float u, float v) { return u + v; });
}
__device__ __forceinline__ float warp_maximum(float value) {
  return warp_all(value, [](float u, float v) { return fmaxf(u, v); });
}

__device__ __forceinline__ std::int64_t row_of_warp() {
  return static_cast<std::int64_t>(blockIdx.x) * rows_per_block + threadIdx.x / 32;
}

/// A lane's part of a row: group g holds the elements 4 (32 g + lane) to 4 (32 g + lane) + 3.
__device__ __forceinline__ void load_row(const float* __restrict__ x, std::int64_t row, float4 (&v)[groups]) {
  const auto* source = reinterpret_cast<const float4*>(x + row * row_length) + threadIdx.x % 32;
#pragma unroll
  for (int g = 0; g < groups; ++g) v[g] = source[32 * g];
}
__device__ __forceinline__ void store_row(float* __restrict__ y, std::int64_t row, const float4 (&v)[groups]) {
  auto* target = reinterpret_cast<float4*>(y + row * row_length) + threadIdx.x % 32;
#pragma unroll
  for (int g = 0; g < groups; ++g) target[32 * g] = v[g];
}

__global__ void __launch_bounds__(row_threads)
    softmax_kernel(const float* __restrict__ x, float* __restrict__ y, std::int64_t rows) {
  const std::int64_t row = row_of_warp();
  if (row >= rows) return;
  float4 v[groups];
  load_row(x, row, v);
  float maximum = v[0].x;
#pragma unroll
  for (int g = 0; g < groups; ++g) maximum = fmaxf(maximum, fmaxf(fmaxf(v[g].x, v[g].y), fmaxf(v[g].z, v[g].w)));
  maximum = warp_maximum(maximum);
  float sum = 0.0F;
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    v[g] = make_float4(__expf(v[g].x - maximum), __expf(v[g].y - maximum), __expf(v[g].z - maximum),
                       __expf(v[g].w - maximum));
    sum += (v[g].x + v[g].y) + (v[g].z + v[g].w);
  }
  const float factor = 1.0F / warp_sum(sum);
#pragma unroll
  for (int g = 0; g < groups; ++g)
    v[g] = make_float4(v[g].x * factor, v[g].y * factor, v[g].z * factor, v[g].w * factor);
  store_row(y, row, v);
}

/// The mean first and then the variance about it: both from registers, so the stabler formula costs no memory traffic.
__global__ void __launch_bounds__(row_threads)
    layer_norm_kernel(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
                      float* __restrict__ y, std::int64_t rows) {
  const std::int64_t row = row_of_warp();
  if (row >= rows) return;
  float4 v[groups];
  load_row(x, row, v);
  float sum = 0.0F;
#pragma unroll
  for (int g = 0; g < groups; ++g) sum += (v[g].x + v[g].y) + (v[g].z + v[g].w);
  const float mean = warp_sum(sum) / static_cast<float>(row_length);
  float squares = 0.0F;
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    v[g] = make_float4(v[g].x - mean, v[g].y - mean, v[g].z - mean, v[g].w - mean);
    squares = fmaf(v[g].x, v[g].x, fmaf(v[g].y, v[g].y, fmaf(v[g].z, v[g].z, fmaf(v[g].w, v[g].w, squares))));
  }
  const float factor = rsqrtf(warp_sum(squares) / static_cast<float>(row_length) + layer_norm_epsilon);
  const auto* gammas = reinterpret_cast<const float4*>(gamma) + threadIdx.x % 32;
  const auto* betas = reinterpret_cast<const float4*>(beta) + threadIdx.x % 32;
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    const float4 scales = __ldg(gammas + 32 * g);
    const float4 shifts = __ldg(betas + 32 * g);
    v[g] = make_float4(fmaf(v[g].x * factor, scales.x, shifts.x), fmaf(v[g].y * factor, scales.y, shifts.y),
                       fmaf(v[g].z * factor, scales.z, shifts.z), fmaf(v[g].w * factor, scales.w, shifts.w));
  }
  store_row(y, row, v);
}

unsigned blocks_for_rows(std::int64_t rows) {
  return static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block);
}

}  // namespace

void softmax(const float* x, float* y, std::int64_t rows, cudaStream_t stream) {
  softmax_kernel<<<blocks_for_rows(rows), row_threads, 0, stream>>>(x, y, rows);
  check_launch("softmax");
}

void layer_norm(const float* x, const float* gamma, const float* beta, float* y, std::int64_t rows,
                cudaStream_t stream) {
  layer_norm_kernel<<<blocks_for_rows(rows), row_threads, 0, stream>>>(x, gamma, beta, y, rows);
  check_launch("layer_norm");
}

}  // namespace gpubench::operations::cuda

namespace gpubench::operations::registered {
namespace {

void softmax(State& state) {
  const std::int64_t n = state.range(0);
  if (n % row_length != 0) return skip_broken_rows(state, n);
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  declare_softmax(state, n);
  state.verify([&] {
    const DeviceSample sample(n, row_length);
    HostVector<float> expected = sample.room();
    operations::softmax(sample.of(x), expected);
    // __expf errs by 2 + 1.16 |x - maximum| ulp, below 20 ulp = 2.4e-6 for normal data; a sum of 1024 positive terms
    // and the factor add some ulps. Entries are about 1e-3, hence hardly an absolute part.
    return sample.close(sample.of(y), expected, 1e-5, 1e-9);
  });
  state.measure([&](cudaStream_t stream) { cuda::softmax(x.data(), y.data(), n / row_length, stream); });
}

void layer_norm(State& state) {
  const std::int64_t n = state.range(0);
  if (n % row_length != 0) return skip_broken_rows(state, n);
  const auto x = state.device_vector<float>(n);
  const auto gamma = state.device_vector<float>(row_length);
  const auto beta = state.device_vector<float>(row_length);
  auto y = state.device_vector<float>(n);
  declare_layer_norm(state, n);
  state.verify([&] {
    const DeviceSample sample(n, row_length);
    HostVector<float> expected = sample.room();
    operations::layer_norm(sample.of(x), gamma.to_host(), beta.to_host(), expected);
    // Sums of 1024 terms in trees err by some 2^-24 of a value of order 1; results are up to about 20, and
    // gamma times the normalised value may cancel against beta: hence an absolute part of 20 x 2^-24 x 8.
    return sample.close(sample.of(y), expected, 1e-5, 1e-5);
  });
  state.measure([&](cudaStream_t stream) {
    cuda::layer_norm(x.data(), gamma.data(), beta.data(), y.data(), n / row_length, stream);
  });
}

GPU_BENCHMARK(softmax)->Apply(row_sizes);
GPU_BENCHMARK(layer_norm)->Apply(row_sizes);

}  // namespace
}  // namespace gpubench::operations::registered
