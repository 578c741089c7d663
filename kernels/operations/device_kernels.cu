// SPDX-License-Identifier: Apache-2.0
// The built-in operations on a GPU.
#include <algorithm>

#include "gpu/cuda/handles.h"
#include "gpu/memory/memory.h"
#include "kernels/operations/operations.h"

namespace gpubench::operations {
namespace {

// Operations that go through their vectors once. One thread for each 16 bytes and a grid that covers the vector once
// reach more bandwidth than grid-stride loops or several accesses a thread.

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

template <class F>
__device__ __forceinline__ float4 map4(float4 v, F f) {
  return make_float4(f(v.x), f(v.y), f(v.z), f(v.w));
}

template <class F>
__device__ __forceinline__ float4 map4(float4 v, float4 w, F f) {
  return make_float4(f(v.x, w.x), f(v.y, w.y), f(v.z, w.z), f(v.w, w.w));
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

struct Identity {
  __device__ float operator()(float x) const { return x; }
};
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

/// Launches a kernel that covers n elements, four to a thread.
template <class... Parameters, class... Arguments>
void launch_over(const char* name, void (*kernel)(Parameters...), std::int64_t n, Stream stream,
                 Arguments... arguments) {
  const std::int64_t blocks = ((n + 3) / 4 + vector_threads - 1) / vector_threads;
  kernel<<<static_cast<unsigned>(std::max<std::int64_t>(blocks, 1)), vector_threads, 0, stream>>>(arguments...);
  check_launch(name);
}

// Sum and dot product in one launch: each block leaves a partial sum, and the block that arrives last adds the partial
// sums. Unlike atomics on the result, this needs no clearing launch and adds in the same order every time.

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
void reduce(Term term, float* result, std::int64_t n, ReductionScratch& scratch, Stream stream) {
  const std::int64_t wanted = (n / 4 + reduction_threads - 1) / reduction_threads;
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, scratch.max_blocks()));
  reduce_kernel<<<blocks, reduction_threads, 0, stream>>>(term, n, scratch.partials(), scratch.arrivals(), result);
  check_launch("reduction");
}

// Softmax and layer norm: one warp for each row, which it keeps in registers, so that memory is read once and written
// once.

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

// Matrix transpose through padded shared memory, so that both reads and writes run along rows.

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

void copy(const float* x, float* y, std::int64_t n, Stream stream) {
  launch_over("copy", map_kernel<Identity>, n, stream, x, y, n, Identity{});
}
void saxpy(const float* x, float* y, std::int64_t n, Stream stream) {
  launch_over("saxpy", axpy_kernel, n, stream, x, y, y, n, scale);
}
void triad(const float* b, const float* c, float* a, std::int64_t n, Stream stream) {
  launch_over("triad", axpy_kernel, n, stream, c, b, a, n, scale);
}
void cosine(const float* x, float* y, std::int64_t n, Stream stream) {
  launch_over("cos", map_kernel<Cosine>, n, stream, x, y, n, Cosine{});
}
void gelu(const float* x, float* y, std::int64_t n, Stream stream) {
  launch_over("gelu", map_kernel<Gelu>, n, stream, x, y, n, Gelu{});
}
void fma_chain(const float* x, float* y, std::int64_t n, std::int64_t fma_count, Stream stream) {
  launch_over("intensity", fma_chain_kernel, n, stream, x, y, n, fma_count);
}

ReductionScratch::ReductionScratch()
    : max_blocks_(device_attribute(cudaDevAttrMultiProcessorCount) * blocks_per_multiprocessor),
      partials_(static_cast<std::size_t>(max_blocks_)),
      arrivals_(1) {
  detail::fill_bytes_device(arrivals_.data(), 0, arrivals_.bytes());
}

void sum(const float* x, float* result, std::int64_t n, ReductionScratch& scratch, Stream stream) {
  reduce(Sum{x}, result, n, scratch, stream);
}

void dot(const float* x, const float* y, float* result, std::int64_t n, ReductionScratch& scratch, Stream stream) {
  reduce(Dot{x, y}, result, n, scratch, stream);
}

void softmax(const float* x, float* y, std::int64_t rows, Stream stream) {
  softmax_kernel<<<blocks_for_rows(rows), row_threads, 0, stream>>>(x, y, rows);
  check_launch("softmax");
}

void layer_norm(const float* x, const float* gamma, const float* beta, float* y, std::int64_t rows, Stream stream) {
  layer_norm_kernel<<<blocks_for_rows(rows), row_threads, 0, stream>>>(x, gamma, beta, y, rows);
  check_launch("layer_norm");
}

void transpose(const float* x, float* y, std::int64_t n, Stream stream) {
  const auto tiles = [n](int tile) { return static_cast<unsigned>((n + tile - 1) / tile); };
  if (n % 4 == 0 && n >= min_for_large_tile)
    transpose_by_four<<<dim3(tiles(large_tile), tiles(large_tile)), tile_threads, 0, stream>>>(x, y, n);
  else
    transpose_any<<<dim3(tiles(small_tile), tiles(small_tile)), tile_threads, 0, stream>>>(x, y, n);
  check_launch("transpose");
}

}  // namespace gpubench::operations
