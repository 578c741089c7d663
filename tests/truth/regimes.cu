// SPDX-License-Identifier: Apache-2.0
// Synthetic kernels whose regime is known by construction. An operation's name begins with what limits it:
// overhead_, latency_, memory_, compute_; those of sweep_ cross a boundary whose place follows from the times alone.
// Run them as any benchmark program and score the run: regime_score RUN.json.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gpubench/gpubench.h>
#include <mma.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace {

using gpubench::State;

constexpr int threads = 256;
constexpr std::int64_t mega = std::int64_t{1} << 20;

int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) return 0;
  return value;
}
int multiprocessors() { return attribute(cudaDevAttrMultiProcessorCount); }

unsigned blocks_for(std::int64_t n) { return static_cast<unsigned>((n + threads - 1) / threads); }

template <class Kernel>
int blocks_per_multiprocessor(Kernel kernel, int block_threads, std::size_t shared_bytes) {
  int count = 0;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, block_threads, shared_bytes) != cudaSuccess)
    return 0;
  return count;
}

// Overhead.

__global__ void empty_kernel() {}

void overhead_empty(State& state) {
  const auto blocks = static_cast<unsigned>(state.range(0));
  state.measure([=](cudaStream_t stream) { empty_kernel<<<blocks, threads, 0, stream>>>(); });
}
GPU_BENCHMARK(overhead_empty)->ArgName("blocks")->RangeMultiplier(4)->Range(1, 1 << 18);

__global__ void copy_kernel(const float4* x, float4* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

void copy(State& state, std::int64_t n, std::int64_t block_threads) {
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  state.reads(n * 4);
  state.writes(n * 4);
  const auto* from = reinterpret_cast<const float4*>(x.data());
  auto* to = reinterpret_cast<float4*>(y.data());
  const auto blocks = static_cast<unsigned>((n / 4 + block_threads - 1) / block_threads);
  state.measure([=](cudaStream_t stream) {
    copy_kernel<<<blocks, static_cast<unsigned>(block_threads), 0, stream>>>(from, to, n / 4);
  });
}
void copy(State& state) { copy(state, state.range(0), threads); }
void overhead_copy(State& state) { copy(state); }
GPU_BENCHMARK(overhead_copy)->ArgName("n")->RangeMultiplier(4)->Range(64, 65536);

/// Blocks that copy 256 bytes each, a fifth of what memory could meanwhile.
void overhead_small_blocks(State& state) { copy(state, 64 * state.range(0), 16); }
GPU_BENCHMARK(overhead_small_blocks)->ArgName("blocks")->RangeMultiplier(4)->Range(1 << 14, 1 << 20);
/// The same bytes in more and more blocks.
void sweep_blocks(State& state) { copy(state, 64 * mega, 16 * mega / state.range(0)); }
GPU_BENCHMARK(sweep_blocks)->ArgName("blocks")->RangeMultiplier(2)->Range(1 << 14, 1 << 22);

// Latency.

__global__ void spin_kernel(long long cycles, int* out) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
  *out = 1;
}

void spin(State& state) {
  const auto cycles = state.range(0);
  auto out = state.device_vector<std::int32_t>(1);
  state.writes(4);
  int* const place = out.data();
  state.measure([=](cudaStream_t stream) { spin_kernel<<<1, 1, 0, stream>>>(cycles, place); });
}
void latency_spin(State& state) { spin(state); }
GPU_BENCHMARK(latency_spin)->ArgName("cycles")->RangeMultiplier(2)->Range(16384, 1048576);
void sweep_spin(State& state) { spin(state); }
GPU_BENCHMARK(sweep_spin)->ArgName("cycles")->RangeMultiplier(2)->Range(256, 65536);

__global__ void chase_kernel(const std::int32_t* next, std::int64_t steps, std::int32_t* out) {
  std::int32_t at = 0;
  for (std::int64_t i = 0; i < steps; ++i) at = __ldcg(next + at);
  *out = at;
}

/// One thread goes through a random cycle over the lines of a working set.
void latency_chase(State& state) {
  constexpr std::int64_t ints_in_line = 32;
  const auto lines = state.range(0) / 128;
  const auto steps = state.range(1);
  auto next = state.device_vector<std::int32_t>(lines * ints_in_line);
  auto out = state.device_vector<std::int32_t>(1);
  std::vector<std::int32_t> order(static_cast<std::size_t>(lines));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(1);
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % i]);  // one cycle (Sattolo)
  std::vector<std::int32_t> host(static_cast<std::size_t>(lines * ints_in_line));
  for (std::size_t i = 0; i < order.size(); ++i)
    host[i * ints_in_line] = static_cast<std::int32_t>(order[i] * ints_in_line);
  if (cudaMemcpy(next.data(), host.data(), host.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice) != cudaSuccess)
    return state.skip("the chain could not be copied to the device");
  state.reads(steps * 4);
  state.footprint(lines * 128);
  const auto* from = next.data();
  auto* to = out.data();
  state.measure([=](cudaStream_t stream) { chase_kernel<<<1, 1, 0, stream>>>(from, steps, to); });
}
GPU_BENCHMARK(latency_chase)
    ->ArgNames({"bytes", "steps"})
    ->ArgsProduct({{32768, mega, 16 * mega, 256 * mega}, {512, 4096}});

__global__ void stride_copy_kernel(const float4* x, float4* y, std::int64_t n) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) y[i] = x[i];
}

/// As many bytes as a stream, but from one block for eight multiprocessors.
void latency_few_bytes_in_flight(State& state) {
  const auto n = state.range(0);
  const auto blocks = std::max(1, multiprocessors() / 8);
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  state.reads(n * 4);
  state.writes(n * 4);
  state.grid(blocks, blocks_per_multiprocessor(stride_copy_kernel, threads, 0));
  const auto* from = reinterpret_cast<const float4*>(x.data());
  auto* to = reinterpret_cast<float4*>(y.data());
  state.measure([=](cudaStream_t stream) {
    stride_copy_kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(from, to, n / 4);
  });
}
GPU_BENCHMARK(latency_few_bytes_in_flight)->ArgName("n")->RangeMultiplier(4)->Range(mega, 64 * mega);

/// Chains of multiply-adds; one that is not needed shows in the time, one that is missing in the result.
template <class T, int chains>
__global__ void fma_kernel(std::int64_t count, T* out) {
  T values[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) values[c] = static_cast<T>(static_cast<float>(threadIdx.x + c) * 1e-3F);
  const T factor = static_cast<T>(0.999F);
  const T term = static_cast<T>(0.001F);
#pragma unroll 1
  for (std::int64_t i = 0; i < count; i += 16) {
#pragma unroll
    for (int k = 0; k < 16; ++k) {
#pragma unroll
      for (int c = 0; c < chains; ++c) {
        if constexpr (sizeof(T) == 4)
          values[c] = fmaf(values[c], factor, term);
        else
          values[c] = fma(values[c], factor, term);
      }
    }
  }
  T sum = values[0];
#pragma unroll
  for (int c = 1; c < chains; ++c) sum += values[c];
  if (sum == static_cast<T>(-1.0F)) *out = sum;  // never; the compiler cannot know
}

template <class T, int chains>
void fma_chains(State& state, gpubench::Pipe pipe, int blocks, int block_threads, std::size_t shared_bytes,
                std::int64_t count) {
  auto out = state.device_vector<T>(1);
  const auto kernel = fma_kernel<T, chains>;
  if (shared_bytes > 0 && cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(shared_bytes)) != cudaSuccess)
    return state.skip("this device has too little shared memory");
  state.flops(pipe, 2 * count * chains * blocks * block_threads);
  state.grid(blocks, blocks_per_multiprocessor(kernel, block_threads, shared_bytes));
  T* const place = out.data();
  state.measure([=](cudaStream_t stream) {
    kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(block_threads), shared_bytes, stream>>>(count, place);
  });
}

void overhead_fma(State& state) {
  fma_chains<float, 8>(state, gpubench::fp32, multiprocessors(), threads, 0, state.range(0));
}
GPU_BENCHMARK(overhead_fma)->ArgName("count")->RangeMultiplier(2)->Range(4, 64);

/// One warp with one chain on each multiprocessor: it waits for each result.
void latency_one_chain(State& state) {
  fma_chains<float, 1>(state, gpubench::fp32, multiprocessors(), 32, 0, state.range(0));
}
GPU_BENCHMARK(latency_one_chain)->ArgName("count")->RangeMultiplier(4)->Range(16384, 1048576);

/// A quarter of the multiprocessors.
void latency_small_grid(State& state) {
  fma_chains<float, 8>(state, gpubench::fp32, std::max(1, multiprocessors() / 4), 1024, 0, state.range(0));
}
GPU_BENCHMARK(latency_small_grid)->ArgName("count")->RangeMultiplier(4)->Range(4096, 262144);

__global__ void atomic_kernel(float* sum, int count) {
#pragma unroll 1
  for (int i = 0; i < count; ++i) atomicAdd(sum, static_cast<float>(threadIdx.x));
}

/// Every thread adds to one address: the unit of one slice of L2 adds them one after another, and that is its limit.
void memory_contended_atomics(State& state) {
  const auto count = static_cast<int>(state.range(0));
  const auto blocks = static_cast<unsigned>(multiprocessors());
  auto sum = state.device_vector<float>(1);
  state.reads(4);
  state.writes(4);
  float* const place = sum.data();
  state.measure([=](cudaStream_t stream) { atomic_kernel<<<blocks, threads, 0, stream>>>(place, count); });
}
GPU_BENCHMARK(memory_contended_atomics)->ArgName("count")->RangeMultiplier(4)->Range(16, 4096);

__global__ void bank_conflict_kernel(int rounds, float* out) {
  __shared__ float values[32 * 32];
  for (int i = static_cast<int>(threadIdx.x); i < 32 * 32; i += static_cast<int>(blockDim.x)) values[i] = 1.0F;
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float sum = 0.0F;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i)
    sum += *static_cast<volatile float*>(&values[lane * 32 + i % 32]);  // one bank for all
  if (sum == -1.0F) *out = sum;
}

/// Shared memory serves one thread of a warp at a time: only counters of units show its limit.
void memory_bank_conflicts(State& state) {
  const auto rounds = static_cast<int>(state.range(0));
  const int blocks = 2 * multiprocessors();
  auto out = state.device_vector<float>(1);
  state.flops(gpubench::fp32, static_cast<std::int64_t>(rounds) * blocks * threads);
  float* const place = out.data();
  state.measure([=](cudaStream_t stream) {
    bank_conflict_kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(rounds, place);
  });
}
GPU_BENCHMARK(memory_bank_conflicts)->ArgName("rounds")->RangeMultiplier(4)->Range(64, 65536);

/// One block a multiprocessor (shared memory sees to that), and a few more than one wave.
void waves(State& state) {
  const int units = multiprocessors();
  const auto shared_bytes = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) * 3 / 4;
  const auto blocks = static_cast<int>(static_cast<std::int64_t>(units) * state.range(0) / 100);
  fma_chains<float, 8>(state, gpubench::fp32, blocks, 1024, shared_bytes, state.range(1));
}
void latency_tail(State& state) { waves(state); }
GPU_BENCHMARK(latency_tail)->ArgNames({"waves_percent", "count"})->ArgsProduct({{105, 115}, {32768, 131072}});
void compute_waves(State& state) { waves(state); }
GPU_BENCHMARK(compute_waves)->ArgNames({"waves_percent", "count"})->ArgsProduct({{100, 200, 280, 400}, {32768}});

// Memory.

__global__ void read_kernel(const float4* x, std::int64_t n, float* out) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float sum = 0.0F;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const std::int64_t i = first + k * step;
    if (i < n) {
      const float4 v = __ldcg(x + i);
      sum += (v.x + v.y) + (v.z + v.w);
    }
  }
  if (sum == -1.0F) *out = sum;
}

void memory_dram_read(State& state) {
  const auto n = state.range(0);
  auto x = state.device_vector<float>(n);
  auto out = state.device_vector<float>(1);
  state.reads(n * 4);
  const auto* from = reinterpret_cast<const float4*>(x.data());
  float* const place = out.data();
  state.measure([=](cudaStream_t stream) {
    read_kernel<<<blocks_for((n / 4 + 3) / 4), threads, 0, stream>>>(from, n / 4, place);
  });
}
GPU_BENCHMARK(memory_dram_read)->ArgName("n")->RangeMultiplier(2)->Range(64 * mega, 1024 * mega);

__global__ void write_kernel(float4* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = make_float4(1.0F, 2.0F, 3.0F, 4.0F);
}

void memory_dram_write(State& state) {
  const auto n = state.range(0);
  auto y = state.device_vector<float>(n);
  state.writes(n * 4);
  auto* to = reinterpret_cast<float4*>(y.data());
  state.measure([=](cudaStream_t stream) { write_kernel<<<blocks_for(n / 4), threads, 0, stream>>>(to, n / 4); });
}
GPU_BENCHMARK(memory_dram_write)->ArgName("n")->RangeMultiplier(2)->Range(64 * mega, 1024 * mega);

void memory_dram_copy(State& state) { copy(state); }
GPU_BENCHMARK(memory_dram_copy)->ArgName("n")->RangeMultiplier(2)->Range(64 * mega, 1024 * mega);

__global__ void triad_kernel(const float4* x, const float4* y, float4* z, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 a = x[i];
  const float4 b = y[i];
  z[i] = make_float4(a.x + 2.0F * b.x, a.y + 2.0F * b.y, a.z + 2.0F * b.z, a.w + 2.0F * b.w);
}

void memory_dram_triad(State& state) {
  const auto n = state.range(0);
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  auto z = state.device_vector<float>(n);
  state.reads(2 * n * 4);
  state.writes(n * 4);
  state.flops(gpubench::fp32, 2 * n);
  const auto* a = reinterpret_cast<const float4*>(x.data());
  const auto* b = reinterpret_cast<const float4*>(y.data());
  auto* c = reinterpret_cast<float4*>(z.data());
  state.measure([=](cudaStream_t stream) { triad_kernel<<<blocks_for(n / 4), threads, 0, stream>>>(a, b, c, n / 4); });
}
GPU_BENCHMARK(memory_dram_triad)->ArgName("n")->RangeMultiplier(2)->Range(64 * mega, 1024 * mega);

__global__ void read_again_kernel(const float4* x, std::int64_t n, int times, float* out) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float sum = 0.0F;
#pragma unroll 1
  for (int t = 0; t < times; ++t) {
#pragma unroll 4
    for (std::int64_t i = first; i < n; i += step) {
      const float4 v = __ldcg(x + i);
      sum += (v.x + v.y) + (v.z + v.w);
    }
  }
  if (sum == -1.0F) *out = sum;
}

/// A working set that L2 holds, gone through many times past L1.
void memory_l2_read(State& state) {
  const auto n = state.range(0);
  constexpr int times = 64;
  const int blocks = multiprocessors() * blocks_per_multiprocessor(read_again_kernel, threads, 0);
  auto x = state.device_vector<float>(n);
  auto out = state.device_vector<float>(1);
  state.reads(n * 4 * times);
  state.footprint(n * 4);
  const auto* from = reinterpret_cast<const float4*>(x.data());
  float* const place = out.data();
  state.measure([=](cudaStream_t stream) {
    read_again_kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(from, n / 4, times, place);
  });
}
GPU_BENCHMARK(memory_l2_read)
    ->ArgName("n")
    ->Arg(mega)
    ->Arg(2 * mega)
    ->Arg(3 * mega)
    ->Arg(4 * mega)
    ->Arg(5 * mega)
    ->Arg(6 * mega);

__global__ void stride_read_kernel(const float* x, std::int64_t n, std::int64_t stride, float* out) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n && x[i * stride] == -1.0F) *out = 1.0F;  // never: normal data hardly hold it, and nobody reads the result
}

/// One float of each 32 bytes: eight times the bytes that it declares.
void memory_uncoalesced(State& state) {
  const auto n = state.range(0);
  constexpr std::int64_t stride = 8;
  auto x = state.device_vector<float>(n * stride);
  auto out = state.device_vector<float>(1);
  state.reads(n * 4);
  const auto* from = x.data();
  float* const place = out.data();
  state.measure(
      [=](cudaStream_t stream) { stride_read_kernel<<<blocks_for(n), threads, 0, stream>>>(from, n, stride, place); });
}
GPU_BENCHMARK(memory_uncoalesced)->ArgName("n")->RangeMultiplier(2)->Range(8 * mega, 64 * mega);

__global__ void intensity_kernel(const float4* x, float4* y, std::int64_t n, int count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = x[i];
#pragma unroll 8
  for (int k = 0; k < count; ++k) {
    v.x = fmaf(v.x, 0.999F, 0.001F);
    v.y = fmaf(v.y, 0.999F, 0.001F);
    v.z = fmaf(v.z, 0.999F, 0.001F);
    v.w = fmaf(v.w, 0.999F, 0.001F);
  }
  y[i] = v;
}

/// `fma` multiply-adds on each element: the ridge lies where both take the same time.
void intensity(State& state) {
  const auto count = static_cast<int>(state.range(0));
  constexpr std::int64_t n = 128 * mega;
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  state.reads(n * 4);
  state.writes(n * 4);
  state.flops(gpubench::fp32, 2 * n * count);
  const auto* from = reinterpret_cast<const float4*>(x.data());
  auto* to = reinterpret_cast<float4*>(y.data());
  state.measure([=](cudaStream_t stream) {
    intensity_kernel<<<blocks_for(n / 4), threads, 0, stream>>>(from, to, n / 4, count);
  });
}
void memory_intensity(State& state) { intensity(state); }
GPU_BENCHMARK(memory_intensity)->ArgName("fma")->RangeMultiplier(2)->Range(1, 16);
void compute_intensity(State& state) { intensity(state); }
GPU_BENCHMARK(compute_intensity)->ArgName("fma")->RangeMultiplier(2)->Range(256, 4096);
void sweep_intensity(State& state) { intensity(state); }
GPU_BENCHMARK(sweep_intensity)->ArgName("fma")->RangeMultiplier(2)->Range(1, 4096);

// Compute.

void compute_fp32(State& state) {
  fma_chains<float, 8>(state, gpubench::fp32, 8 * multiprocessors(), threads, 0, state.range(0));
}
GPU_BENCHMARK(compute_fp32)->ArgName("count")->RangeMultiplier(2)->Range(8192, 262144);

void compute_fp64(State& state) {
  fma_chains<double, 8>(state, gpubench::fp64, 8 * multiprocessors(), threads, 0, state.range(0));
}
GPU_BENCHMARK(compute_fp64)->ArgName("count")->RangeMultiplier(2)->Range(8192, 262144);

__global__ void half_kernel(std::int64_t count, __half2* out) {
  constexpr int chains = 8;
  __half2 values[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) values[c] = __float2half2_rn(static_cast<float>(threadIdx.x + c) * 1e-3F);
  // Of halves that are the same the compiler makes instructions for one of the two pipes alone.
  const __half2 factor = __floats2half2_rn(0.999F, 0.998F);
  const __half2 term = __floats2half2_rn(0.001F, 0.002F);
#pragma unroll 1
  for (std::int64_t i = 0; i < count; i += 16) {
#pragma unroll
    for (int k = 0; k < 16; ++k) {
#pragma unroll
      for (int c = 0; c < chains; ++c) values[c] = __hfma2(values[c], factor, term);
    }
  }
  __half2 sum = values[0];
#pragma unroll
  for (int c = 1; c < chains; ++c) sum = __hadd2(sum, values[c]);
  if (__low2float(sum) == -1.0F) *out = sum;
}

void compute_fp16(State& state) {
  const auto count = state.range(0);
  const int blocks = 8 * multiprocessors();
  auto out = state.device_vector<float>(1);
  state.flops(gpubench::fp16, 4 * count * 8 * blocks * threads);
  auto* const place = reinterpret_cast<__half2*>(out.data());
  state.measure(
      [=](cudaStream_t stream) { half_kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(count, place); });
}
GPU_BENCHMARK(compute_fp16)->ArgName("count")->RangeMultiplier(4)->Range(8192, 131072);

template <class T>
__global__ void tensor_kernel(std::int64_t count, float* out) {
  using namespace nvcuda::wmma;
  constexpr int chains = 4;
  fragment<matrix_a, 16, 16, 16, T, row_major> a;
  fragment<matrix_b, 16, 16, 16, T, col_major> b;
  fragment<accumulator, 16, 16, 16, float> sums[chains];
  fill_fragment(a, static_cast<T>(0.5F));
  fill_fragment(b, static_cast<T>(0.25F));
#pragma unroll
  for (auto& sum : sums) fill_fragment(sum, 0.0F);
#pragma unroll 1
  for (std::int64_t i = 0; i < count; ++i) {
#pragma unroll
    for (auto& sum : sums) mma_sync(sum, a, b, sum);
  }
  float total = 0.0F;
#pragma unroll
  for (auto& sum : sums)
    for (int i = 0; i < sum.num_elements; ++i) total += sum.x[i];  // or half of the products would be left out
  if (total == -1.0F) *out = total;
}

template <class T>
void tensor_loop(State& state, gpubench::Pipe pipe) {
  const auto count = state.range(0);
  const int blocks = 4 * multiprocessors();
  constexpr std::int64_t warps = threads / 32;
  auto out = state.device_vector<float>(1);
  state.flops(pipe, 2 * 16 * 16 * 16 * 4 * count * blocks * warps);
  float* const place = out.data();
  state.measure([=](cudaStream_t stream) {
    tensor_kernel<T><<<static_cast<unsigned>(blocks), threads, 0, stream>>>(count, place);
  });
}
void compute_tensor_bf16(State& state) { tensor_loop<__nv_bfloat16>(state, gpubench::tensor_bf16); }
GPU_BENCHMARK(compute_tensor_bf16)->ArgName("count")->RangeMultiplier(4)->Range(2048, 131072);
void compute_tensor_fp16(State& state) { tensor_loop<__half>(state, gpubench::tensor_fp16); }
GPU_BENCHMARK(compute_tensor_fp16)->ArgName("count")->RangeMultiplier(4)->Range(2048, 131072);

}  // namespace
