// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>

constexpr int threads = 256;

/// Of all threads of a block; all get it.
template <typename Combine>
__device__ float reduced(float mine, float* shared, Combine combine) {
  __syncthreads();
  shared[threadIdx.x] = mine;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  return shared[0];
}

struct TopAndSum {
  float top, sum;
};

/// Of a row, by all threads of a block: its maximum, and the sum of its exponentials below that.
__device__ TopAndSum in_two_passes(const float* row, int64_t columns) {
  __shared__ float shared[threads];
  float top = -INFINITY;
  for (int64_t i = threadIdx.x; i < columns; i += threads) top = fmaxf(top, row[i]);
  top = reduced(top, shared, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
  for (int64_t i = threadIdx.x; i < columns; i += threads) sum += expf(row[i] - top);
  sum = reduced(sum, shared, [](float a, float b) { return a + b; });
  return {top, sum};
}

/// A block a row: its maximum, its sum, its quotients.
__global__ void by_rows(const float* x, float* out, int64_t columns) {
  const float* row = x + blockIdx.x * columns;
  const auto [top, sum] = in_two_passes(row, columns);
  for (int64_t i = threadIdx.x; i < columns; i += threads) out[blockIdx.x * columns + i] = expf(row[i] - top) / sum;
}

extern "C" int softmax_by_rows(const float* x, float* out, int64_t rows, int64_t columns) {
  by_rows<<<rows, threads>>>(x, out, columns);
  return cudaGetLastError();
}

/// Maximum and sum in one pass (Milakov and Gimelshein, 2018).
__global__ void online(const float* x, float* out, int64_t columns) {
  __shared__ float shared[threads];
  const float* row = x + blockIdx.x * columns;
  float top = -INFINITY, sum = 0;
  for (int64_t i = threadIdx.x; i < columns; i += threads) {
    const float next = fmaxf(top, row[i]);
    sum = sum * expf(top - next) + expf(row[i] - next);
    top = next;
  }
  const float whole = reduced(top, shared, [](float a, float b) { return fmaxf(a, b); });
  sum = reduced(top == -INFINITY ? 0 : sum * expf(top - whole), shared, [](float a, float b) { return a + b; });
  for (int64_t i = threadIdx.x; i < columns; i += threads) out[blockIdx.x * columns + i] = expf(row[i] - whole) / sum;
}

extern "C" int softmax_online(const float* x, float* out, int64_t rows, int64_t columns) {
  online<<<rows, threads>>>(x, out, columns);
  return cudaGetLastError();
}

/// Maximum and sum of each row by one kernel, quotients by another.
__device__ float tops[1 << 16], sums[1 << 16];

__global__ void statistics(const float* x, int64_t columns) {
  const float* row = x + blockIdx.x * columns;
  const auto [top, sum] = in_two_passes(row, columns);
  if (threadIdx.x == 0) {
    tops[blockIdx.x] = top;
    sums[blockIdx.x] = sum;
  }
}

__global__ void quotients(const float* x, float* out, int64_t columns) {
  for (int64_t i = threadIdx.x; i < columns; i += threads)
    out[blockIdx.x * columns + i] = expf(x[blockIdx.x * columns + i] - tops[blockIdx.x]) / sums[blockIdx.x];
}

extern "C" int softmax_in_two(const float* x, float* out, int64_t rows, int64_t columns) {
  if (rows > (1 << 16)) return 1;
  statistics<<<rows, threads>>>(x, columns);
  quotients<<<rows, threads>>>(x, out, columns);
  return cudaGetLastError();
}
