// SPDX-License-Identifier: Apache-2.0
// Matrix transpose through padded shared memory, so that both reads and writes run along rows.
#include <cuda_runtime_api.h>

#include "gpu/cuda/handles.h"
#include "kernels/operations/cuda_kernels.h"
#include "kernels/operations/operations.h"

namespace gpubench::operations::cuda {
namespace {

constexpr int tile_threads = 256;
constexpr int small_tile = 32;
constexpr int large_tile = 64;
constexpr std::int64_t min_for_large_tile = 1024;  ///< below it, 64 x 64 tiles leave multiprocessors idle

/// Any n; 4-byte accesses. Row pitch 33 words puts the elements of a column into different banks.
__global__ void __launch_bounds__(tile_threads)
    transpose_any(const float* __restrict__ x, float* __restrict__ y, std::int64_t n) {
  __shared__ float tile[small_tile][small_tile + 1];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * small_tile;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * small_tile;
  const int tx = static_cast<int>(threadIdx.x) % small_tile;
#pragma unroll
  for (int ty = static_cast<int>(threadIdx.x) / small_tile; ty < small_tile; ty += tile_threads / small_tile)
    if (row + ty < n && column + tx < n) tile[ty][tx] = x[(row + ty) * n + column + tx];
  __syncthreads();
#pragma unroll
  for (int ty = static_cast<int>(threadIdx.x) / small_tile; ty < small_tile; ty += tile_threads / small_tile)
    if (column + ty < n && row + tx < n) y[(column + ty) * n + row + tx] = tile[tx][ty];
}

/// n divisible by 4: 16-byte accesses to memory, which gain some 20 % of bandwidth over 4-byte ones.
__global__ void __launch_bounds__(tile_threads)
    transpose_by_four(const float* __restrict__ x, float* __restrict__ y, std::int64_t n) {
  __shared__ float tile[large_tile][large_tile + 1];
  constexpr int lanes = large_tile / 4;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * large_tile;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * large_tile;
  const int four = static_cast<int>(threadIdx.x) % lanes * 4;
  const int first = static_cast<int>(threadIdx.x) / lanes;
  constexpr int step = tile_threads / lanes;
  float4 v[large_tile / step];
#pragma unroll
  for (int k = 0; k < large_tile / step; ++k) {
    const int ty = first + k * step;
    if (row + ty < n && column + four < n) v[k] = *reinterpret_cast<const float4*>(x + (row + ty) * n + column + four);
  }
#pragma unroll
  for (int k = 0; k < large_tile / step; ++k) {
    float* const target = &tile[first + k * step][four];
    target[0] = v[k].x;
    target[1] = v[k].y;
    target[2] = v[k].z;
    target[3] = v[k].w;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < large_tile / step; ++k) {
    const int ty = first + k * step;
    if (column + ty < n && row + four < n)
      *reinterpret_cast<float4*>(y + (column + ty) * n + row + four) =
          make_float4(tile[four][ty], tile[four + 1][ty], tile[four + 2][ty], tile[four + 3][ty]);
  }
}

}  // namespace

void transpose(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  const auto tiles = [n](int tile) { return static_cast<unsigned>((n + tile - 1) / tile); };
  if (n % 4 == 0 && n >= min_for_large_tile)
    transpose_by_four<<<dim3(tiles(large_tile), tiles(large_tile)), tile_threads, 0, stream>>>(x, y, n);
  else
    transpose_any<<<dim3(tiles(small_tile), tiles(small_tile)), tile_threads, 0, stream>>>(x, y, n);
  check_launch("transpose");
}

}  // namespace gpubench::operations::cuda

namespace gpubench::operations::registered {
namespace {

constexpr std::int64_t whole_matrix_up_to = 2048;
constexpr std::int64_t block = 64;
constexpr std::int64_t blocks_across = 16;

/// The block of `block` x `block` elements that begins at (row, column).
std::vector<float> block_of(const DeviceVector<float>& matrix, std::int64_t n, std::int64_t row, std::int64_t column) {
  std::vector<float> values(static_cast<std::size_t>(block * block));
  const auto bytes = [](std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(float); };
  GPUBENCH_CUDA_CHECK(cudaMemcpy2D(values.data(), bytes(block), matrix.data() + row * n + column, bytes(n),
                                   bytes(block), static_cast<std::size_t>(block), cudaMemcpyDeviceToHost));
  return values;
}

/// Exact, since transposing moves values: all of it up to n = 2048, beyond that 16 x 16 blocks of 64 x 64 from corner
/// to corner.
Check check_transpose(const DeviceVector<float>& x, const DeviceVector<float>& y, std::int64_t n) {
  GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
  if (n <= whole_matrix_up_to) {
    static_assert(whole_matrix_up_to * whole_matrix_up_to <= DeviceSample::whole_up_to);
    const DeviceSample sample(n * n);
    HostVector<float> expected = sample.room();
    operations::transpose(sample.of(x), expected, n);
    return all_close(sample.of(y), expected, 0.0);
  }
  std::vector<float> expected(static_cast<std::size_t>(block * block));
  for (std::int64_t i = 0; i < blocks_across; ++i) {
    for (std::int64_t j = 0; j < blocks_across; ++j) {
      const std::int64_t row = (n - block) * i / (blocks_across - 1);
      const std::int64_t column = (n - block) * j / (blocks_across - 1);
      operations::transpose(block_of(x, n, row, column), expected, block);
      Check check = all_close(block_of(y, n, column, row), expected, 0.0);
      if (check.passed) continue;
      check.message +=
          " (counted in the 64 x 64 block at row " + std::to_string(column) + ", column " + std::to_string(row) + ")";
      return check;
    }
  }
  return true;
}

void transpose(State& state) {
  const std::int64_t n = state.range(0);
  const auto x = state.device_vector<float>(n * n);
  auto y = state.device_vector<float>(n * n);
  declare_transpose(state, n);
  state.verify([&] { return check_transpose(x, y, n); });
  state.measure([&](cudaStream_t stream) { cuda::transpose(x.data(), y.data(), n, stream); });
}

GPU_BENCHMARK(transpose)->Apply(matrix_sizes);

}  // namespace
}  // namespace gpubench::operations::registered
