// SPDX-License-Identifier: Apache-2.0
// Kernels as applications have them, written plainly rather than for the last per cent.
#include <cuda_fp16.h>

#include "common.h"

namespace libraries {
namespace {

__device__ std::int64_t index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

unsigned multiprocessors() {
  int device = 0;
  int count = 0;
  LIBRARIES_CHECK(cudaGetDevice(&device));
  LIBRARIES_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<unsigned>(count);
}

// Irregular access.

__global__ void gather_kernel(const float* table, const std::uint32_t* places, float* y, std::int64_t n) {
  const std::int64_t i = index();
  if (i < n) y[i] = table[places[i]];
}
void gather(State& state) {
  const auto n = state.range("n");
  auto table = state.device_vector<float>(state.range("table"));
  auto places = indices<std::uint32_t>(state, n, state.range("table"));
  auto y = state.device_vector<float>(n);
  state.reads(n * 8);
  state.writes(n * 4);
  random_reads(state, n, table.bytes());
  measure_kernel(state, blocks_for(n), threads, gather_kernel, table, places, y, n);
}
GPU_BENCHMARK(gather)
    ->ArgNames({"n", "table"})
    ->Args({4 * kibi, 4 * kibi})
    ->Args({4 * mebi, 16 * kibi})
    ->Args({4 * mebi, 4 * mebi})
    ->Args({64 * mebi, 4 * mebi})
    ->Args({16 * mebi, 64 * mebi})
    ->Args({128 * mebi, 512 * mebi});

__global__ void histogram_global_kernel(const std::uint32_t* x, std::uint32_t* counts, std::uint32_t mask,
                                        std::int64_t n) {
  const std::int64_t i = index();
  if (i < n) atomicAdd(counts + (x[i] & mask), 1U);
}
void histogram_global(State& state) {
  const auto bins = state.range("bins");
  const auto n = state.range("n");
  auto x = state.device_vector<std::uint32_t>(n);
  auto counts = state.device_vector<std::uint32_t>(bins);
  state.reads(n * 4);
  random_updates(state, n, bins * 4);
  const auto mask = static_cast<std::uint32_t>(bins - 1);
  measure_kernel(state, blocks_for(n), threads, histogram_global_kernel, x, counts, mask, n);
}
GPU_BENCHMARK(histogram_global)->ArgNames({"bins", "n"})->ArgsProduct({{256, mebi}, {4 * kibi, mebi, 64 * mebi}});

__global__ void histogram_shared_kernel(const std::uint8_t* x, std::uint32_t* counts, std::int64_t n) {
  __shared__ std::uint32_t mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (std::int64_t i = index(); i < n; i += static_cast<std::int64_t>(gridDim.x) * blockDim.x)
    atomicAdd(mine + x[i], 1U);
  __syncthreads();
  atomicAdd(counts + threadIdx.x, mine[threadIdx.x]);
}
void histogram_shared(State& state) {
  const auto n = state.range(0);
  auto x = state.device_vector<std::uint8_t>(n);
  auto counts = state.device_vector<std::uint32_t>(256);
  state.reads(n);
  const auto blocks = std::min(blocks_for(n), 8 * multiprocessors());
  measure_kernel(state, blocks, threads, histogram_shared_kernel, x, counts, n);
}
GPU_BENCHMARK(histogram_shared)->ArgName("n")->Arg(16 * kibi)->Arg(4 * mebi)->Arg(64 * mebi)->Arg(gibi);

__global__ void link_kernel(std::uint32_t* next, std::uint32_t mask) {  // a full cycle: multiplier 1 mod 4, odd term
  const std::int64_t i = index();
  if (i <= mask) next[i] = (static_cast<std::uint32_t>(i) * 1664525U + 1013904223U) & mask;
}
__global__ void chase_kernel(const std::uint32_t* next, int steps, std::uint32_t mask, std::uint32_t* out) {
  std::uint32_t at = hash(static_cast<std::uint32_t>(index())) & mask;
  for (int i = 0; i < steps; ++i) at = next[at];
  out[index()] = at;
}
/// Each thread follows a chain of its own: one warp waits, all warps together saturate.
void pointer_chase(State& state) {
  const auto count = state.range("bytes") / 4;
  const auto walkers = state.range("walkers");
  auto next = state.device_vector<std::uint32_t>(count, gpubench::none);
  auto out = state.device_vector<std::uint32_t>(walkers);
  const auto mask = static_cast<std::uint32_t>(count - 1);
  link_kernel<<<blocks_for(count), threads>>>(next.data(), mask);
  wait_for_setup();
  state.items(walkers * 256);
  state.reads(walkers * 256 * 4);
  random_reads(state, walkers * 256, count * 4);
  const auto block = static_cast<unsigned>(std::min<std::int64_t>(walkers, threads));
  measure_kernel(state, blocks_for(walkers, block), block, chase_kernel, next, 256, mask, out);
}
GPU_BENCHMARK(pointer_chase)
    ->ArgNames({"bytes", "walkers"})
    ->Args({16 * kibi, 32})
    ->Args({16 * mebi, 32})
    ->Args({gibi, 32})
    ->Args({gibi, 32 * kibi})
    ->Args({16 * mebi, 256 * kibi})
    ->Args({gibi, 256 * kibi});

__global__ void embedding_kernel(const __half2* table, const std::int32_t* tokens, __half2* y, std::int64_t width) {
  const std::int64_t row = tokens[blockIdx.x];
  for (std::int64_t j = threadIdx.x; j < width; j += blockDim.x) y[blockIdx.x * width + j] = table[row * width + j];
}
void embedding_lookup(State& state) {
  constexpr std::int64_t vocabulary = 50257;
  const auto tokens = state.range("tokens");
  const auto width = state.range("width");
  auto table = state.device_vector<__half>(vocabulary * width);
  auto words = indices<std::int32_t>(state, tokens, vocabulary);
  auto y = state.device_vector<__half>(tokens * width);
  state.reads(y.bytes() + words.bytes());
  state.writes(y.bytes());
  state.footprint(std::min(y.bytes(), table.bytes()) + words.bytes() + y.bytes());  // of the table, the rows used
  state.measure([&](cudaStream_t stream) {
    embedding_kernel<<<static_cast<unsigned>(tokens), 128, 0, stream>>>(
        reinterpret_cast<const __half2*>(table.data()), words.data(), reinterpret_cast<__half2*>(y.data()), width / 2);
  });
}
GPU_BENCHMARK(embedding_lookup)
    ->ArgNames({"tokens", "width"})
    ->Args({32, 768})
    ->Args({8192, 768})
    ->Args({131072, 1024})
    ->Args({512 * kibi, 64});

// Grids and rows.

__global__ void stencil_kernel(const float* x, float* y, int edge) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int j = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int k = static_cast<int>(blockIdx.z);
  if (i < 1 || j < 1 || k < 1 || i >= edge - 1 || j >= edge - 1 || k >= edge - 1) return;
  const std::int64_t plane = static_cast<std::int64_t>(edge) * edge;
  const std::int64_t at = k * plane + static_cast<std::int64_t>(j) * edge + i;
  y[at] = 0.4F * x[at] + 0.1F * (x[at - 1] + x[at + 1] + x[at - edge] + x[at + edge] + x[at - plane] + x[at + plane]);
}
void stencil_7point(State& state) {
  const auto edge = state.range(0);
  const auto n = edge * edge * edge;
  auto [x, y] = in_and_out<float>(state, n);
  state.flops(gpubench::fp32, 8 * n);
  const dim3 block(32, 8);
  const dim3 grid(blocks_for(edge, 32), blocks_for(edge, 8), static_cast<unsigned>(edge));
  measure_kernel(state, grid, block, stencil_kernel, x, y, static_cast<int>(edge));
}
GPU_BENCHMARK(stencil_7point)->ArgName("edge")->Arg(16)->Arg(64)->Arg(128)->Arg(256)->Arg(640);

template <int padding>
__global__ void transpose_kernel(const float* x, float* y, std::int64_t n) {
  __shared__ float tile[32][32 + padding];
  const std::int64_t i = blockIdx.x * 32 + threadIdx.x;
  const std::int64_t j = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = x[(j + k) * n + i];
  __syncthreads();
  for (int k = 0; k < 32; k += 8)
    y[(static_cast<std::int64_t>(blockIdx.x) * 32 + threadIdx.y + k) * n + blockIdx.y * 32 + threadIdx.x] =
        tile[threadIdx.x][threadIdx.y + k];
}
void transpose(State& state) {
  const auto n = state.range(0);
  auto [x, y] = in_and_out<float>(state, n * n);
  const auto kernel = state.text("tile") == "padded" ? transpose_kernel<1> : transpose_kernel<0>;
  const dim3 grid(blocks_for(n, 32), blocks_for(n, 32));
  measure_kernel(state, grid, dim3(32, 8), kernel, x, y, n);
}
GPU_BENCHMARK_TEXTS(transpose, tile, padded, conflicting)->ArgName("n")->Arg(128)->Arg(1024)->Arg(2048)->Arg(16384);

__device__ float sum_of_warp(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffU, x, step);
  return x;
}

/// A warp for each row, three times over the row.
__global__ void softmax_kernel(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  const std::int64_t row = index() / 32;
  if (row >= rows) return;
  const float* const from = x + row * columns;
  const unsigned lane = threadIdx.x % 32;
  float largest = -1e30F;
  for (std::int64_t j = lane; j < columns; j += 32) largest = fmaxf(largest, from[j]);
  for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffU, largest, step));
  float sum = 0.0F;
  for (std::int64_t j = lane; j < columns; j += 32) sum += __expf(from[j] - largest);
  sum = sum_of_warp(sum);
  for (std::int64_t j = lane; j < columns; j += 32) y[row * columns + j] = __expf(from[j] - largest) / sum;
}
void softmax_rows(State& state) {
  const auto rows = state.range("rows");
  const auto columns = state.range("columns");
  auto [x, y] = in_and_out<float>(state, rows * columns);
  measure_kernel(state, blocks_for(rows, threads / 32), threads, softmax_kernel, x, y, rows, columns);
}
GPU_BENCHMARK(softmax_rows)
    ->ArgNames({"rows", "columns"})
    ->Args({32, 128})
    ->Args({4096, 1024})
    ->Args({64, 262144})
    ->Args({131072, 1024});

/// A block for each row of halves, which it keeps in registers.
__global__ void layer_norm_kernel(const __half2* x, __half2* y, int pairs) {
  __shared__ float parts[2][threads / 32];
  constexpr int most = 8;
  float2 mine[most];
  float sum = 0.0F;
  float squares = 0.0F;
  for (int k = 0; k < most; ++k) {
    const int j = static_cast<int>(threadIdx.x + k * threads);
    mine[k] =
        j < pairs ? __half22float2(x[static_cast<std::int64_t>(blockIdx.x) * pairs + j]) : make_float2(0.0F, 0.0F);
    sum += mine[k].x + mine[k].y;
    squares += mine[k].x * mine[k].x + mine[k].y * mine[k].y;
  }
  sum = sum_of_warp(sum);
  squares = sum_of_warp(squares);
  if (threadIdx.x % 32 == 0) {
    parts[0][threadIdx.x / 32] = sum;
    parts[1][threadIdx.x / 32] = squares;
  }
  __syncthreads();
  sum = squares = 0.0F;
  for (unsigned i = 0; i < threads / 32; ++i) {
    sum += parts[0][i];
    squares += parts[1][i];
  }
  const float mean = sum / static_cast<float>(2 * pairs);
  const float scale = rsqrtf(squares / static_cast<float>(2 * pairs) - mean * mean + 1e-5F);
  for (int k = 0; k < most; ++k) {
    const int j = static_cast<int>(threadIdx.x + k * threads);
    if (j < pairs)
      y[static_cast<std::int64_t>(blockIdx.x) * pairs + j] =
          __floats2half2_rn((mine[k].x - mean) * scale, (mine[k].y - mean) * scale);
  }
}
void layer_norm_rows(State& state) {
  const auto rows = state.range("rows");
  const auto columns = state.range("columns");  // up to 4096
  auto [x, y] = in_and_out<__half>(state, rows * columns);
  state.measure([&](cudaStream_t stream) {
    layer_norm_kernel<<<static_cast<unsigned>(rows), threads, 0, stream>>>(reinterpret_cast<const __half2*>(x.data()),
                                                                           reinterpret_cast<__half2*>(y.data()),
                                                                           static_cast<int>(columns / 2));
  });
}
GPU_BENCHMARK(layer_norm_rows)->ArgNames({"rows", "columns"})->Args({32, 768})->Args({4096, 1024})->Args({65536, 4096});

/// Inclusive sums of 32 neighbours, `rounds` times over.
__global__ void warp_scan_kernel(const float* x, float* y, std::int64_t n, int rounds) {
  const std::int64_t i = index();
  float value = i < n ? x[i] : 0.0F;
  for (int r = 0; r < rounds; ++r) {
    for (unsigned step = 1; step < 32; step *= 2) {
      const float before = __shfl_up_sync(0xffffffffU, value, step);
      if (threadIdx.x % 32 >= step) value += before;
    }
    value *= 0.03F;
  }
  if (i < n) y[i] = value;
}
void warp_scan(State& state) {
  const auto n = state.range("n");
  auto [x, y] = in_and_out<float>(state, n);
  measure_kernel(state, blocks_for(n), threads, warp_scan_kernel, x, y, n, static_cast<int>(state.range("rounds")));
}
GPU_BENCHMARK(warp_scan)
    ->ArgNames({"n", "rounds"})
    ->Args({8 * kibi, 1})
    ->Args({4 * mebi, 1})
    ->Args({256 * mebi, 1})
    ->Args({4 * mebi, 64});

// Arithmetic.

__global__ void n_body_kernel(const float4* bodies, float4* forces, int n) {
  __shared__ float4 tile[threads];
  const int i = static_cast<int>(index());
  const float4 me = bodies[i];
  float3 force = make_float3(0.0F, 0.0F, 0.0F);
  for (int first = 0; first < n; first += static_cast<int>(threads)) {
    tile[threadIdx.x] = bodies[first + static_cast<int>(threadIdx.x)];
    __syncthreads();
    for (unsigned j = 0; j < threads; ++j) {
      const float dx = tile[j].x - me.x;
      const float dy = tile[j].y - me.y;
      const float dz = tile[j].z - me.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3F);
      const float strength = tile[j].w * inverse * inverse * inverse;
      force.x += dx * strength;
      force.y += dy * strength;
      force.z += dz * strength;
    }
    __syncthreads();
  }
  forces[i] = make_float4(force.x, force.y, force.z, 0.0F);
}
void n_body(State& state) {
  const auto n = state.range(0);  // a multiple of a block
  auto bodies = state.device_vector<float4>(n);
  auto forces = state.device_vector<float4>(n);
  state.flops(gpubench::fp32, 20 * n * n);
  measure_kernel(state, blocks_for(n), threads, n_body_kernel, bodies, forces, static_cast<int>(n));
}
GPU_BENCHMARK(n_body)->ArgName("bodies")->Arg(256)->Arg(4096)->Arg(16384)->Arg(65536);

__global__ void mandelbrot_kernel(std::uint8_t* picture, int edge) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int j = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const float a = -2.0F + 2.5F * static_cast<float>(i) / static_cast<float>(edge);
  const float b = -1.25F + 2.5F * static_cast<float>(j) / static_cast<float>(edge);
  float x = 0.0F;
  float y = 0.0F;
  int steps = 0;
  for (; steps < 255 && x * x + y * y < 4.0F; ++steps) {
    const float next = x * x - y * y + a;
    y = 2.0F * x * y + b;
    x = next;
  }
  picture[static_cast<std::int64_t>(j) * edge + i] = static_cast<std::uint8_t>(steps);
}
/// The iterations of all pixels, by those of a coarse picture.
std::int64_t mandelbrot_steps(std::int64_t edge) {
  constexpr std::int64_t coarse = 256;
  std::int64_t sum = 0;
  for (std::int64_t j = 0; j < coarse; ++j)
    for (std::int64_t i = 0; i < coarse; ++i) {
      const float a = -2.0F + 2.5F * static_cast<float>(i) / coarse;
      const float b = -1.25F + 2.5F * static_cast<float>(j) / coarse;
      float x = 0.0F;
      float y = 0.0F;
      for (int steps = 0; steps < 255 && x * x + y * y < 4.0F; ++steps, ++sum) {
        const float next = x * x - y * y + a;
        y = 2.0F * x * y + b;
        x = next;
      }
    }
  return sum * edge * edge / (coarse * coarse);
}
void mandelbrot(State& state) {
  const auto edge = state.range(0);  // a multiple of 16
  auto picture = state.device_vector<std::uint8_t>(edge * edge);
  state.writes(picture.bytes());
  state.flops(gpubench::fp32, 8 * mandelbrot_steps(edge));
  const dim3 grid(blocks_for(edge, 16), blocks_for(edge, 16));
  measure_kernel(state, grid, dim3(16, 16), mandelbrot_kernel, picture, static_cast<int>(edge));
}
GPU_BENCHMARK(mandelbrot)->ArgName("edge")->Arg(64)->Arg(512)->Arg(2048)->Arg(8192);

/// A warp for each row; with `rounds` the row is used again.
__global__ void dp4a_kernel(const std::int32_t* a, const std::int32_t* v, std::int32_t* y, std::int64_t rows, int words,
                            int rounds) {
  const std::int64_t row = index() / 32;
  if (row >= rows) return;
  std::int32_t sums[4] = {};
  for (int j = static_cast<int>(threadIdx.x % 32); j < words; j += 32) {
    const std::int32_t mine = a[row * words + j];
    const std::int32_t other = v[j];
    for (int r = 0; r < rounds; ++r)
      for (int c = 0; c < 4; ++c) sums[c] = __dp4a(mine, other ^ (r + c), sums[c]);
  }
  std::int32_t sum = (sums[0] ^ sums[1]) + (sums[2] ^ sums[3]);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, step);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}
void dp4a_dot(State& state) {
  const auto rows = state.range("rows");
  const auto columns = state.range("columns");
  auto a = state.device_vector<std::int8_t>(rows * columns);
  auto v = state.device_vector<std::int8_t>(columns);
  auto y = state.device_vector<std::int32_t>(rows);
  state.reads(rows * columns);
  const auto rounds = static_cast<int>(state.range("rounds"));
  state.flops(gpubench::int32, 2 * rows * (columns / 4) * 4 * rounds);  // __dp4a takes the slot of a multiply-add
  state.measure([&](cudaStream_t stream) {
    dp4a_kernel<<<blocks_for(rows, threads / 32), threads, 0, stream>>>(
        reinterpret_cast<const std::int32_t*>(a.data()), reinterpret_cast<const std::int32_t*>(v.data()), y.data(),
        rows, static_cast<int>(columns / 4), rounds);
  });
}
GPU_BENCHMARK(dp4a_dot)
    ->ArgNames({"rows", "columns", "rounds"})
    ->Args({64, 1024, 1})
    ->Args({8192, 2048, 1})
    ->Args({262144, 4096, 1})
    ->Args({65536, 1024, 64});

template <bool fast>
__global__ void wave_kernel(const float* x, float* y, std::int64_t n, int count) {
  const std::int64_t i = index();
  if (i >= n) return;
  float value = x[i];
  for (int k = 0; k < count; ++k) value = fast ? __sinf(value) * __expf(-value) : sinf(value) * expf(-value);
  y[i] = value;
}
void damped_wave(State& state) {
  const auto n = state.range("n");
  const auto count = state.range("count");
  auto [x, y] = in_and_out<float>(state, n);
  state.flops(gpubench::special, 2 * n * count);
  const auto kernel = state.text("functions") == "fast" ? wave_kernel<true> : wave_kernel<false>;
  measure_kernel(state, blocks_for(n), threads, kernel, x, y, n, static_cast<int>(count));
}
GPU_BENCHMARK_TEXTS(damped_wave, functions, fast, exact)
    ->ArgNames({"n", "count"})
    ->Args({4 * kibi, 1})
    ->Args({128 * mebi, 1})
    ->Args({4 * mebi, 64});

__global__ void polynomial_kernel(const double* x, double* y, std::int64_t n, int degree) {
  const std::int64_t i = index();
  if (i >= n) return;
  double sum = 1.0;
  for (int k = 0; k < degree; ++k) sum = fma(sum, x[i], 0.5);
  y[i] = sum;
}
void polynomial_fp64(State& state) {
  const auto n = state.range("n");
  const auto degree = state.range("degree");
  auto x = state.device_vector<double>(n, gpubench::uniform);
  auto y = state.device_vector<double>(n);
  state.reads(n * 8);
  state.writes(n * 8);
  state.flops(gpubench::fp64, 2 * n * degree);
  measure_kernel(state, blocks_for(n), threads, polynomial_kernel, x, y, n, static_cast<int>(degree));
}
GPU_BENCHMARK(polynomial_fp64)
    ->ArgNames({"n", "degree"})
    ->Args({4 * kibi, 8})
    ->Args({64 * mebi, 8})
    ->Args({4 * mebi, 512});

/// A product in tiles of shared memory, as textbooks have it: two reads of shared memory for each multiply-add.
__global__ void tiled_product_kernel(const float* a, const float* b, float* c, int n) {
  __shared__ float left[16][16];
  __shared__ float right[16][16];
  const int row = static_cast<int>(blockIdx.y * 16 + threadIdx.y);
  const int column = static_cast<int>(blockIdx.x * 16 + threadIdx.x);
  float sum = 0.0F;
  for (int first = 0; first < n; first += 16) {
    left[threadIdx.y][threadIdx.x] = a[static_cast<std::int64_t>(row) * n + first + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[static_cast<std::int64_t>(first + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[static_cast<std::int64_t>(row) * n + column] = sum;
}
void tiled_product(State& state) {
  const auto n = state.range(0);  // a multiple of 16
  auto a = state.device_vector<float>(n * n);
  auto b = state.device_vector<float>(n * n);
  auto c = state.device_vector<float>(n * n);
  state.reads(2 * n * n * 4);
  state.writes(n * n * 4);
  state.flops(gpubench::fp32, 2 * n * n * n);
  const dim3 grid(blocks_for(n, 16), blocks_for(n, 16));
  measure_kernel(state, grid, dim3(16, 16), tiled_product_kernel, a, b, c, static_cast<int>(n));
}
GPU_BENCHMARK(tiled_product)->ArgName("n")->Arg(64)->Arg(512)->Arg(4096);

// What keeps a kernel from the limits of the machine.

/// One block of two warps on each multiprocessor goes over it all.
__global__ void axpy_kernel(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = index(); i < n; i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) y[i] += 2.0F * x[i];
}
void small_grid_axpy(State& state) {
  const auto n = state.range(0);
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  state.reads(2 * n * 4);
  state.writes(n * 4);
  state.flops(gpubench::fp32, 2 * n);
  const auto blocks = multiprocessors();
  measure_kernel(state, blocks, 64, axpy_kernel, x, y, n);
}
GPU_BENCHMARK(small_grid_axpy)->ArgName("n")->Arg(16 * kibi)->Arg(mebi)->Arg(64 * mebi);

/// The last block has `times` the work of the others.
__global__ void tail_kernel(float* out, int count, int times) {
  const int mine = blockIdx.x + 1 == gridDim.x ? count * times : count;
  float a = static_cast<float>(threadIdx.x);
  float b = a + 1.0F;
  float c = a + 2.0F;
  float d = a + 3.0F;
  for (int i = 0; i < mine; ++i) {
    a = fmaf(a, 0.999F, 0.001F);
    b = fmaf(b, 0.999F, 0.001F);
    c = fmaf(c, 0.999F, 0.001F);
    d = fmaf(d, 0.999F, 0.001F);
  }
  out[index()] = a + b + c + d;
}
void long_tail(State& state) {
  const auto blocks = static_cast<unsigned>(state.range("blocks"));
  const auto times = static_cast<int>(state.range("times"));
  auto out = state.device_vector<float>(static_cast<std::int64_t>(blocks) * threads);
  state.flops(gpubench::fp32, (static_cast<std::int64_t>(blocks) - 1 + times) * threads * 4096 * 8);
  measure_kernel(state, blocks, threads, tail_kernel, out, 4096, times);
}
GPU_BENCHMARK(long_tail)->ArgNames({"blocks", "times"})->ArgsProduct({{8448}, {1, 16, 256}});

/// More values than registers: the compiler is held to 32 of these.
__global__ void __launch_bounds__(threads, 8) spill_kernel(const float* x, float* y, std::int64_t n, int rounds) {
  const std::int64_t i = index();
  if (i >= n) return;
  float values[64];
#pragma unroll
  for (int k = 0; k < 64; ++k) values[k] = x[i] * static_cast<float>(k);
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 64; ++k) values[k] = fmaf(values[k], values[(k * 5 + 7) % 64], 0.5F);
  }
  float sum = 0.0F;
#pragma unroll
  for (int k = 0; k < 64; ++k) sum += values[k];
  y[i] = sum;
}
void spilled_registers(State& state) {
  const auto n = state.range("n");
  auto x = state.device_vector<float>(n, gpubench::uniform);
  auto y = state.device_vector<float>(n);
  state.reads(n * 4);
  state.writes(n * 4);
  state.flops(gpubench::fp32, 128 * n * state.range("rounds"));
  measure_kernel(state, blocks_for(n), threads, spill_kernel, x, y, n, static_cast<int>(state.range("rounds")));
}
GPU_BENCHMARK(spilled_registers)
    ->ArgNames({"n", "rounds"})
    ->Args({4 * kibi, 1})
    ->Args({16 * mebi, 1})
    ->Args({4 * mebi, 32});

/// A recurrence along each column: every value needs the one before it.
__global__ void recurrence_kernel(const float* x, float* y, std::int64_t columns, int steps) {
  const std::int64_t i = index();
  if (i >= columns) return;
  float value = 0.0F;
  for (int k = 0; k < steps; ++k) {
    value = fmaf(value, 0.9F, x[k * columns + i]);
    y[k * columns + i] = value;
  }
}
void recurrence(State& state) {
  const auto columns = state.range("columns");
  const auto steps = state.range("steps");
  auto [x, y] = in_and_out<float>(state, columns * steps);
  state.flops(gpubench::fp32, 2 * columns * steps);
  measure_kernel(state, blocks_for(columns, 64), 64, recurrence_kernel, x, y, columns, static_cast<int>(steps));
}
GPU_BENCHMARK(recurrence)->ArgNames({"columns", "steps"})->Args({64, 4096})->Args({8192, 2048})->Args({262144, 1024});

// Fifty kernels that follow each other, launched one by one and as a graph.

constexpr int kernels = 50;

__global__ void step_kernel(float* x, std::int64_t n) {
  const std::int64_t i = index();
  if (i < n) x[i] = 0.5F * x[i] + 0.25F;
}
void launch_steps(float* x, std::int64_t n, cudaStream_t stream) {
  for (int k = 0; k < kernels; ++k) step_kernel<<<blocks_for(n), threads, 0, stream>>>(x, n);
}

void many_kernels(State& state) {
  const auto n = state.range(0);
  auto x = state.device_vector<float>(n);
  state.reads(kernels * n * 4);
  state.writes(kernels * n * 4);
  state.footprint(n * 4);
  state.measure([&](cudaStream_t stream) { launch_steps(x.data(), n, stream); });
}
GPU_BENCHMARK(many_kernels)->ArgName("n")->Arg(kibi)->Arg(2 * mebi)->Arg(64 * mebi);

struct GraphOfSteps {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  GraphOfSteps(float* x, std::int64_t n) {
    LIBRARIES_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    LIBRARIES_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch_steps(x, n, stream);
    LIBRARIES_CHECK(cudaStreamEndCapture(stream, &graph));
    LIBRARIES_CHECK(cudaGraphInstantiate(&ready, graph, 0));
  }
  GraphOfSteps(const GraphOfSteps&) = delete;
  GraphOfSteps& operator=(const GraphOfSteps&) = delete;
  ~GraphOfSteps() {
    if (ready != nullptr) (void)cudaGraphExecDestroy(ready);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    if (stream != nullptr) (void)cudaStreamDestroy(stream);
  }
};
void graph_of_kernels(State& state) {
  const auto n = state.range(0);
  auto x = state.device_vector<float>(n);
  const GraphOfSteps graph(x.data(), n);
  state.label("graph");  // its nodes cost less than launches
  state.reads(kernels * n * 4);
  state.writes(kernels * n * 4);
  state.footprint(n * 4);
  state.measure([&](cudaStream_t stream) { LIBRARIES_CHECK(cudaGraphLaunch(graph.ready, stream)); });
}
GPU_BENCHMARK(graph_of_kernels)->ArgName("n")->Arg(kibi)->Arg(2 * mebi)->Arg(64 * mebi);

}  // namespace
}  // namespace libraries
