// SPDX-License-Identifier: Apache-2.0
// Products of a (m x k) and b (k x n) in FP32.
#include <cstdint>

/// A thread an element.
__global__ void plain(const float* a, const float* b, float* out, int64_t m, int64_t n, int64_t k) {
  const int64_t row = blockIdx.y * int64_t{16} + threadIdx.y, column = blockIdx.x * int64_t{16} + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int64_t i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  out[row * n + column] = sum;
}

extern "C" int matmul_plain(const float* a, const float* b, float* out, int64_t m, int64_t n, int64_t k) {
  plain<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, out, m, n, k);
  return cudaGetLastError();
}

/// Tiles of 16 x 16 in shared memory.
__global__ void tiles(const float* a, const float* b, float* out, int64_t m, int64_t n, int64_t k) {
  __shared__ float left[16][16], right[16][17];
  const int64_t row = blockIdx.y * int64_t{16} + threadIdx.y, column = blockIdx.x * int64_t{16} + threadIdx.x;
  float sum = 0;
  for (int64_t start = 0; start < k; start += 16) {
    left[threadIdx.y][threadIdx.x] = row < m && start + threadIdx.x < k ? a[row * k + start + threadIdx.x] : 0;
    right[threadIdx.y][threadIdx.x] = column < n && start + threadIdx.y < k ? b[(start + threadIdx.y) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) out[row * n + column] = sum;
}

extern "C" int matmul_tiles(const float* a, const float* b, float* out, int64_t m, int64_t n, int64_t k) {
  tiles<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, out, m, n, k);
  return cudaGetLastError();
}

/// Tiles of 64 x 64, of which a thread has 4 x 4 in registers.
__global__ void registers(const float* a, const float* b, float* out, int64_t m, int64_t n, int64_t k) {
  __shared__ float left[16][64], right[16][64];
  const int thread = threadIdx.y * 16 + threadIdx.x;
  const int64_t top = blockIdx.y * int64_t{64}, side = blockIdx.x * int64_t{64};
  float sums[4][4] = {};
  for (int64_t start = 0; start < k; start += 16) {
    for (int i = thread; i < 16 * 64; i += 256) {
      left[i % 16][i / 16] = top + i / 16 < m && start + i % 16 < k ? a[(top + i / 16) * k + start + i % 16] : 0;
      right[i / 64][i % 64] = side + i % 64 < n && start + i / 64 < k ? b[(start + i / 64) * n + side + i % 64] : 0;
    }
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 4; ++c) sums[r][c] += left[i][threadIdx.y * 4 + r] * right[i][threadIdx.x * 4 + c];
    __syncthreads();
  }
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) {
      const int64_t row = top + threadIdx.y * 4 + r, column = side + threadIdx.x * 4 + c;
      if (row < m && column < n) out[row * n + column] = sums[r][c];
    }
}

extern "C" int matmul_registers(const float* a, const float* b, float* out, int64_t m, int64_t n, int64_t k) {
  registers<<<dim3((n + 63) / 64, (m + 63) / 64), dim3(16, 16)>>>(a, b, out, m, n, k);
  return cudaGetLastError();
}

/// Four blocks an element's terms, which they add up in memory.
__global__ void shares(const float* a, const float* b, float* out, int64_t m, int64_t n, int64_t k) {
  const int64_t row = blockIdx.y * int64_t{16} + threadIdx.y, column = blockIdx.x * int64_t{16} + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int64_t i = blockIdx.z; i < k; i += gridDim.z) sum += a[row * k + i] * b[i * n + column];
  atomicAdd(out + row * n + column, sum);
}

extern "C" int matmul_shares(const float* a, const float* b, float* out, int64_t m, int64_t n, int64_t k) {
  const auto error = cudaMemsetAsync(out, 0, m * n * sizeof(float));
  if (error != cudaSuccess) return error;
  shares<<<dim3((n + 15) / 16, (m + 15) / 16, 4), dim3(16, 16)>>>(a, b, out, m, n, k);
  return cudaGetLastError();
}
