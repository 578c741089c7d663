// SPDX-License-Identifier: Apache-2.0
// Operations as somebody writes them who looks at neither model nor counters: none was looked at while the classifier's
// rules were made.
#include <cuda_fp16.h>

#include "common.h"

namespace libraries {
namespace {

__device__ std::int64_t place() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

/// Each block sorts 1024 keys in shared memory: 55 steps with a barrier each.
__global__ void bitonic_kernel(const std::uint32_t* in, std::uint32_t* out) {
  constexpr unsigned keys = 1024;
  __shared__ std::uint32_t key[keys];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * keys;
  for (unsigned i = threadIdx.x; i < keys; i += blockDim.x) key[i] = hash(in[first + i]);
  __syncthreads();
  for (unsigned run = 2; run <= keys; run *= 2)
    for (unsigned step = run / 2; step > 0; step /= 2) {
      for (unsigned i = threadIdx.x; i < keys; i += blockDim.x) {
        const unsigned other = i ^ step;
        if (other > i && (key[i] > key[other]) == ((i & run) == 0)) {
          const std::uint32_t mine = key[i];
          key[i] = key[other];
          key[other] = mine;
        }
      }
      __syncthreads();
    }
  for (unsigned i = threadIdx.x; i < keys; i += blockDim.x) out[first + i] = key[i];
}
void bitonic_sort(State& state) {
  const auto n = state.range("n");
  auto [in, out] = in_and_out<std::uint32_t>(state, n);
  measure_kernel(state, blocks_for(n, 1024), 512, bitonic_kernel, in, out);
}
GPU_BENCHMARK(bitonic_sort)->ArgName("n")->Arg(16 * kibi)->Arg(64 * mebi);

/// Hillis and Steele: ten steps over 1024 values, two barriers each.
__global__ void block_scan_kernel(const float* x, float* y) {
  __shared__ float sum[1024];
  float mine = x[place()];
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    sum[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x >= step) mine += sum[threadIdx.x - step];
    __syncthreads();
  }
  y[place()] = mine;
}
void block_scan(State& state) {
  const auto n = state.range("n");
  auto [x, y] = in_and_out<float>(state, n);
  measure_kernel(state, blocks_for(n, 1024), 1024, block_scan_kernel, x, y);
}
GPU_BENCHMARK(block_scan)->ArgName("n")->Arg(64 * kibi)->Arg(128 * mebi);

/// A thread walks along its own row: a warp touches 32 lines at once and comes back to them for each word.
__global__ void row_sums_kernel(const float* x, float* y, std::int64_t columns) {
  float sum = 0.0F;
  const float* row = x + place() * columns;
  for (std::int64_t j = 0; j < columns; ++j) sum += row[j];
  y[place()] = sum;
}
void row_sums(State& state) {
  const auto rows = state.range("rows");
  const auto columns = state.range("columns");
  auto x = state.device_vector<float>(rows * columns);
  auto y = state.device_vector<float>(rows);
  state.reads(x.bytes());
  state.writes(y.bytes());
  measure_kernel(state, blocks_for(rows), threads, row_sums_kernel, x, y, columns);
}
GPU_BENCHMARK(row_sums)->ArgNames({"rows", "columns"})->Args({4 * kibi, 256})->Args({mebi, 256});

/// Open addressing. A key that is there already is found again, so each execution does the same but for the first.
__global__ void insert_kernel(std::uint32_t* slots, std::uint32_t mask, std::int64_t n) {
  if (place() >= n) return;
  const auto key = static_cast<std::uint32_t>(place()) + 1;
  for (std::uint32_t at = hash(key) & mask;; at = (at + 1) & mask) {
    const std::uint32_t found = atomicCAS(slots + at, 0U, key);
    if (found == 0U || found == key) return;
  }
}
void hash_inserts(State& state) {
  const auto slots = state.range("slots");
  auto table = state.device_vector<std::uint32_t>(slots, gpubench::zeros);
  state.items(slots / 2);
  measure_kernel(state, blocks_for(slots / 2), threads, insert_kernel, table, static_cast<std::uint32_t>(slots - 1),
                 slots / 2);
}
GPU_BENCHMARK(hash_inserts)->ArgName("slots")->Arg(4 * mebi)->Arg(256 * mebi);

/// Steps of Collatz's sequence: integers, and each thread stops when it wants to.
__global__ void collatz_kernel(std::uint32_t* steps) {
  std::uint64_t value = static_cast<std::uint64_t>(place()) + 1;
  std::uint32_t count = 0;
  for (; value != 1; ++count) value = (value & 1U) != 0 ? 3 * value + 1 : value / 2;
  steps[place()] = count;
}
void collatz(State& state) {
  const auto n = state.range("n");
  auto steps = state.device_vector<std::uint32_t>(n);
  state.writes(n * 4);
  measure_kernel(state, blocks_for(n), threads, collatz_kernel, steps);
}
GPU_BENCHMARK(collatz)->ArgName("n")->Arg(16 * kibi)->Arg(16 * mebi);

/// 25 texture fetches for each pixel.
__global__ void blur_kernel(cudaTextureObject_t image, float* out, int width) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  float sum = 0.0F;
  for (int j = -2; j <= 2; ++j)
    for (int i = -2; i <= 2; ++i)
      sum += tex2D<float>(image, static_cast<float>(x + i) + 0.5F, static_cast<float>(y + j) + 0.5F);
  out[static_cast<std::int64_t>(y) * width + x] = sum / 25.0F;
}
struct Texture {
  cudaTextureObject_t object = 0;
  Texture(void* pixels, std::size_t edge) {
    cudaResourceDesc from = {};
    from.resType = cudaResourceTypePitch2D;
    from.res.pitch2D.devPtr = pixels;
    from.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    from.res.pitch2D.width = from.res.pitch2D.height = edge;
    from.res.pitch2D.pitchInBytes = edge * sizeof(float);
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    LIBRARIES_CHECK(cudaCreateTextureObject(&object, &from, &how, nullptr));
  }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  ~Texture() { (void)cudaDestroyTextureObject(object); }
};
void blur_texture(State& state) {
  const auto edge = state.range("edge");
  auto [image, out] = in_and_out<float>(state, edge * edge);
  const Texture texture(image.data(), static_cast<std::size_t>(edge));
  const dim3 grid(blocks_for(edge, 32), blocks_for(edge, 8));
  state.measure([&](cudaStream_t stream) {
    blur_kernel<<<grid, dim3(32, 8), 0, stream>>>(texture.object, out.data(), static_cast<int>(edge));
  });
}
GPU_BENCHMARK(blur_texture)->ArgName("edge")->Arg(512)->Arg(8192);

/// Horner's rule in pairs of halves.
__global__ void half_polynomial_kernel(const __half2* in, __half2* out, int degree) {
  const __half2 x = in[place()];
  __half2 a = x;
  __half2 b = __hneg2(x);
  for (int i = 0; i < degree; ++i) {
    a = __hfma2(a, x, b);
    b = __hfma2(b, x, a);
  }
  out[place()] = __hadd2(a, b);
}
void half_polynomial(State& state) {
  const auto n = state.range("n");
  auto in = state.device_vector<__half>(2 * n);
  auto out = state.device_vector<__half>(2 * n);
  state.reads(in.bytes());
  state.writes(out.bytes());
  const auto degree = static_cast<int>(state.range("degree"));
  state.measure([&](cudaStream_t stream) {
    half_polynomial_kernel<<<blocks_for(n), threads, 0, stream>>>(reinterpret_cast<const __half2*>(in.data()),
                                                                  reinterpret_cast<__half2*>(out.data()), degree);
  });
}
GPU_BENCHMARK(half_polynomial)->ArgNames({"n", "degree"})->Args({16 * mebi, 4})->Args({16 * mebi, 1024});

/// Sums over a warp by shuffles, of each value by itself.
__global__ void shuffle_kernel(const float* x, float* y, int rounds) {
  float value = x[place()];
  for (int i = 0; i < rounds; ++i)
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(0xffffffffU, value, other) * 0.5F;
  y[place()] = value;
}
void shuffle_sums(State& state) {
  const auto n = state.range("n");
  auto [x, y] = in_and_out<float>(state, n);
  measure_kernel(state, blocks_for(n), threads, shuffle_kernel, x, y, static_cast<int>(state.range("rounds")));
}
GPU_BENCHMARK(shuffle_sums)->ArgNames({"n", "rounds"})->Args({64 * mebi, 1})->Args({4 * mebi, 64});

/// A search waits for each of its loads; many threads search at once.
__global__ void search_kernel(const std::uint32_t* sorted, std::uint32_t* out, std::uint32_t n) {
  const std::uint32_t key = hash(static_cast<std::uint32_t>(place())) % (2 * n);
  std::uint32_t low = 0;
  for (std::uint32_t length = n; length > 0;) {
    const std::uint32_t half = length / 2;
    if (sorted[low + half] < key) {
      low += half + 1;
      length -= half + 1;
    } else {
      length = half;
    }
  }
  out[place()] = low;
}
__global__ void ascending_kernel(std::uint32_t* sorted) { sorted[place()] = 2 * static_cast<std::uint32_t>(place()); }
void binary_search(State& state) {
  const auto n = state.range("n");
  const auto keys = state.range("keys");
  auto sorted = state.device_vector<std::uint32_t>(n, gpubench::none);
  auto out = state.device_vector<std::uint32_t>(keys);
  ascending_kernel<<<blocks_for(n), threads>>>(sorted.data());
  wait_for_setup();
  state.items(keys);
  state.writes(out.bytes());
  measure_kernel(state, blocks_for(keys), threads, search_kernel, sorted, out, static_cast<std::uint32_t>(n));
}
GPU_BENCHMARK(binary_search)
    ->ArgNames({"n", "keys"})
    ->Args({mebi, kibi})
    ->Args({mebi, 4 * mebi})
    ->Args({256 * mebi, 4 * mebi});

/// Eight steps of a five-point stencil on a tile that stays in shared memory.
__global__ void tile_stencil_kernel(const float* x, float* y, std::int64_t edge, int steps) {
  __shared__ float tile[2][34][34];
  const std::int64_t row = blockIdx.y * 32 + threadIdx.y;
  const std::int64_t column = blockIdx.x * 32 + threadIdx.x;
  const unsigned j = threadIdx.y + 1;
  const unsigned i = threadIdx.x + 1;
  if (threadIdx.y == 0) tile[0][0][i] = tile[0][33][i] = tile[1][0][i] = tile[1][33][i] = 0.0F;
  if (threadIdx.x == 0) tile[0][j][0] = tile[0][j][33] = tile[1][j][0] = tile[1][j][33] = 0.0F;
  tile[0][j][i] = x[row * edge + column];
  __syncthreads();
  for (int step = 0; step < steps; ++step) {
    const auto& from = tile[step & 1];
    tile[(step + 1) & 1][j][i] =
        0.2F * (from[j][i] + from[j - 1][i] + from[j + 1][i] + from[j][i - 1] + from[j][i + 1]);
    __syncthreads();
  }
  y[row * edge + column] = tile[steps & 1][j][i];
}
void tile_stencil(State& state) {
  const auto edge = state.range("edge");
  auto [x, y] = in_and_out<float>(state, edge * edge);
  const dim3 grid(blocks_for(edge, 32), blocks_for(edge, 32));
  measure_kernel(state, grid, dim3(32, 32), tile_stencil_kernel, x, y, edge, static_cast<int>(state.range("steps")));
}
GPU_BENCHMARK(tile_stencil)->ArgNames({"edge", "steps"})->Args({256, 8})->Args({8192, 1})->Args({8192, 16});

/// 192 sums are live, so an SM holds one block of eight warps, and each waits for its loads.
__global__ void __launch_bounds__(256, 1)
    many_registers_kernel(const float* x, float* y, std::int64_t stride, int rounds) {
  float sums[192] = {};
  std::int64_t at = place();
  for (int round = 0; round < rounds; ++round) {
    const float value = x[at];
    at += stride + static_cast<std::int64_t>(value * 0.0F);  // the next load waits for this one
#pragma unroll
    for (float& sum : sums) sum = sum * value + 1.0F;
  }
  float all = 0.0F;
#pragma unroll
  for (const float sum : sums) all += sum;
  y[place()] = all;
}
void many_registers(State& state) {
  const auto rounds = state.range("rounds");
  const std::int64_t walkers = 132 * 256;
  auto x = state.device_vector<float>(walkers * (rounds + 1));
  auto y = state.device_vector<float>(walkers);
  state.reads(walkers * rounds * 4);
  state.writes(y.bytes());
  state.flops(gpubench::fp32, walkers * rounds * 2 * 192);
  measure_kernel(state, 132, 256, many_registers_kernel, x, y, walkers, static_cast<int>(rounds));
}
GPU_BENCHMARK(many_registers)->ArgName("rounds")->Arg(16)->Arg(4096);

/// Sums of floats at few addresses, with and without the value that was there.
template <bool returning>
__global__ void float_sums_kernel(const float* x, float* sums, float* before, std::uint32_t mask, std::int64_t n) {
  if (place() >= n) return;
  const float old = atomicAdd(sums + (static_cast<std::uint32_t>(place()) & mask), x[place()]);
  if constexpr (returning) before[place()] = old;
}
template <bool returning>
void float_sums(State& state) {
  const auto n = state.range("n");
  const auto addresses = state.range("addresses");
  auto x = state.device_vector<float>(n);
  auto before = state.device_vector<float>(returning ? n : 1);
  auto sums = state.device_vector<float>(addresses, gpubench::zeros);
  state.items(n);
  state.reads(n * 4);
  measure_kernel(state, blocks_for(n), threads, float_sums_kernel<returning>, x, sums, before,
                 static_cast<std::uint32_t>(addresses - 1), n);
}
void float_atomics(State& state) { float_sums<false>(state); }
GPU_BENCHMARK(float_atomics)->ArgNames({"addresses", "n"})->ArgsProduct({{1, 32, 64 * kibi}, {16 * kibi, 4 * mebi}});
void float_atomics_returning(State& state) { float_sums<true>(state); }
GPU_BENCHMARK(float_atomics_returning)
    ->ArgNames({"addresses", "n"})
    ->ArgsProduct({{1, 32, 64 * kibi}, {16 * kibi, 4 * mebi}});

}  // namespace
}  // namespace libraries
