// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/probes/cuda/memory.h"

namespace gpubench::probes {
namespace {

// The best of an H200 first. A grid that stays on the multiprocessors and loops loses up to 10 %.
constexpr std::array read_shapes = {MemoryShape{256, 4, 64}, MemoryShape{128, 16, 1}, MemoryShape{256, 4, 1},
                                    MemoryShape{512, 8, 1}};
constexpr std::array write_shapes = {MemoryShape{256, 1, 1}, MemoryShape{1024, 1, 1}, MemoryShape{512, 4, 1},
                                     MemoryShape{256, 1, 64}};
constexpr std::array copy_shapes = {MemoryShape{128, 1, 1}, MemoryShape{256, 1, 1}, MemoryShape{1024, 4, 1},
                                    MemoryShape{512, 8, 1}};
constexpr std::array triad_shapes = {MemoryShape{1024, 1, 1}, MemoryShape{256, 1, 1}, MemoryShape{128, 1, 1},
                                     MemoryShape{512, 4, 1}};

/// A sum that no data here gives. Comparing with it keeps the loads from being dropped.
constexpr float never_read = 1.2345678e30F;

__device__ __forceinline__ float add4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

/// A value in [1, 2) that differs from element to element: constant data would be kinder to the memory's bus.
__device__ __forceinline__ float4 pattern_at(std::size_t i) {
  const std::uint32_t bits = static_cast<std::uint32_t>(i) * 2654435761U;  // Knuth's multiplicative hash
  const auto value = [bits](int turn) {
    return __uint_as_float((__funnelshift_l(bits, bits, turn) >> 9) | 0x3F800000U);
  };
  return make_float4(value(0), value(7), value(13), value(21));
}

__device__ __forceinline__ float4 triad4(float4 b, float4 c) {
  return make_float4(fmaf(2.0F, c.x, b.x), fmaf(2.0F, c.y, b.y), fmaf(2.0F, c.z, b.z), fmaf(2.0F, c.w, b.w));
}

template <MemoryPattern pattern, int accesses>
__global__ void memory_kernel(float4* __restrict__ a, const float4* __restrict__ b, const float4* __restrict__ c,
                              unsigned folds, float* sink) {
  const unsigned tile = (blockIdx.x % folds) * (gridDim.x / folds) + blockIdx.x / folds;
  const std::size_t first = static_cast<std::size_t>(tile) * blockDim.x * accesses + threadIdx.x;
  float4 u[accesses];
  float4 v[accesses];
  if constexpr (pattern != MemoryPattern::write) {
#pragma unroll
    for (int k = 0; k < accesses; ++k) {
      u[k] = b[first + k * blockDim.x];
      if constexpr (pattern == MemoryPattern::triad) v[k] = c[first + k * blockDim.x];
    }
  }
  float sum = 0.0F;
#pragma unroll
  for (int k = 0; k < accesses; ++k) {
    const std::size_t i = first + k * blockDim.x;
    if constexpr (pattern == MemoryPattern::read) sum += add4(u[k]);
    if constexpr (pattern == MemoryPattern::write) a[i] = pattern_at(i);
    if constexpr (pattern == MemoryPattern::copy) a[i] = u[k];
    if constexpr (pattern == MemoryPattern::triad) a[i] = triad4(u[k], v[k]);
  }
  if (pattern == MemoryPattern::read && sum == never_read) *sink = sum;
}

struct Arrays {
  float4* a;
  const float4* b;
  const float4* c;
  std::size_t groups;  ///< of 16 bytes
  float* sink;
};

template <MemoryPattern pattern, int accesses>
cudaError_t launch(MemoryShape shape, const Arrays& arrays, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(arrays.groups / static_cast<std::size_t>(shape.threads * accesses));
  memory_kernel<pattern, accesses><<<blocks, static_cast<unsigned>(shape.threads), 0, stream>>>(
      arrays.a, arrays.b, arrays.c, static_cast<unsigned>(shape.folds), arrays.sink);
  return cudaGetLastError();
}

template <MemoryPattern pattern>
cudaError_t launch(MemoryShape shape, const Arrays& arrays, cudaStream_t stream) {
  if (shape.accesses == 1) return launch<pattern, 1>(shape, arrays, stream);
  if (shape.accesses == 4) return launch<pattern, 4>(shape, arrays, stream);
  if (shape.accesses == 8) return launch<pattern, 8>(shape, arrays, stream);
  if (shape.accesses == 16) return launch<pattern, 16>(shape, arrays, stream);
  return cudaErrorInvalidValue;
}

constexpr auto side_by_side = WorkingSetStart::side_by_side;
constexpr auto neighbours = WorkingSetStart::neighbours;
constexpr std::array working_set_table = {WorkingSetShape{256, 4, side_by_side}, WorkingSetShape{512, 4, side_by_side},
                                          WorkingSetShape{1024, 2, side_by_side}};
constexpr std::array merged_table = {WorkingSetShape{1024, 4, neighbours}, WorkingSetShape{1024, 2, neighbours},
                                     WorkingSetShape{1024, 8, neighbours}};
constexpr int max_working_set_threads = 1024;

/// Each thread reads group `first`, first + step, first + 2 step, ... of 16 bytes, from the start again behind the end.
template <int loads>
__global__ void __launch_bounds__(max_working_set_threads)
    working_set_kernel(const float4* __restrict__ data, unsigned groups, WorkingSetStart where, int rounds, float* sink,
                       ClockReading* clock) {
  unsigned first = blockIdx.x * blockDim.x;
  // Whole rounds of a block's threads, so that no warp's access begins within a line.
  if (where == neighbours)
    first =
        static_cast<unsigned>(static_cast<std::uint64_t>(groups / blockDim.x) * blockIdx.x / gridDim.x) * blockDim.x;
  unsigned i = (first + threadIdx.x) % groups;
  const unsigned step = (where == side_by_side ? gridDim.x : 1) * blockDim.x % groups;
  float sum = 0.0F;
  const ClockReading start = read_clocks();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    float4 v[loads];
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      v[k] = __ldcg(data + i);
      i += step;
      if (i >= groups) i -= groups;
    }
#pragma unroll
    for (int k = 0; k < loads; ++k) sum += add4(v[k]);
  }
  if (sum == never_read) *sink = sum;
  if (clock != nullptr) leave_reading(clock, start);
}

/// As many as run at once: a second wave would find what the first left in the cache. Of neighbours one on each
/// multiprocessor: two would ask for one line at the same time, which L1 sends for only once.
template <int loads>
cudaError_t working_set_blocks(WorkingSetShape shape, unsigned& blocks) {
  int device = 0;
  int multiprocessors = 0;
  int resident = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, working_set_kernel<loads>, shape.threads, 0);
  blocks = static_cast<unsigned>(multiprocessors * std::min(resident, shape.start == neighbours ? 1 : max_blocks));
  return error;
}

template <int loads>
cudaError_t launch_working_set_as(WorkingSetShape shape, const float* data, std::size_t groups, double min_bytes,
                                  float* sink, ClockReading* clock, cudaStream_t stream, Launched& launched) {
  unsigned blocks = 0;
  if (const cudaError_t error = working_set_blocks<loads>(shape, blocks); error != cudaSuccess) return error;
  const std::size_t threads = static_cast<std::size_t>(shape.threads) * blocks;
  if (shape.start == side_by_side && groups < threads) return cudaErrorInvalidValue;
  const double round = 16.0 * loads * static_cast<double>(threads);
  const int rounds = static_cast<int>(std::ceil(min_bytes / round));
  launched.work = round * rounds;
  launched.clock_readings = clock == nullptr ? 0 : static_cast<int>(blocks);
  working_set_kernel<loads><<<blocks, static_cast<unsigned>(shape.threads), 0, stream>>>(
      reinterpret_cast<const float4*>(data), static_cast<unsigned>(groups), shape.start, rounds, sink, clock);
  return cudaGetLastError();
}

constexpr std::array steps = {1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 256};
constexpr int intensity_threads = 256;
constexpr int loads = 4;

template <int multiply_adds>
__global__ void __launch_bounds__(intensity_threads)
    intensity_kernel(const float4* __restrict__ data, float factor, float* sink) {
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * intensity_threads * loads + threadIdx.x;
  float4 v[loads];
#pragma unroll
  for (int k = 0; k < loads; ++k) v[k] = data[first + static_cast<std::size_t>(k) * intensity_threads];
    // v = v factor + v, as the arithmetic probe.
#pragma unroll
  for (int i = 0; i < multiply_adds; ++i) {
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      v[k].x = fmaf(v[k].x, factor, v[k].x);
      v[k].y = fmaf(v[k].y, factor, v[k].y);
      v[k].z = fmaf(v[k].z, factor, v[k].z);
      v[k].w = fmaf(v[k].w, factor, v[k].w);
    }
  }
  // A maximum keeps all values and costs no multiply-add.
  float max = 0.0F;
#pragma unroll
  for (int k = 0; k < loads; ++k) max = fmaxf(fmaxf(max, fmaxf(v[k].x, v[k].y)), fmaxf(v[k].z, v[k].w));
  if (max == 1.2345678e30F) *sink = max;  // never so
}

using IntensityKernel = void (*)(const float4*, float, float*);

template <std::size_t... i>
constexpr std::array<IntensityKernel, steps.size()> kernels_of(std::index_sequence<i...>) {
  return {intensity_kernel<steps[i]>...};
}

}  // namespace

std::span<const MemoryShape> memory_shapes(MemoryPattern pattern) {
  using enum MemoryPattern;
  if (pattern == read) return read_shapes;
  if (pattern == write) return write_shapes;
  if (pattern == copy) return copy_shapes;
  if (pattern == triad) return triad_shapes;
  return {};
}

cudaError_t launch_memory(MemoryPattern pattern, MemoryShape shape, float* a, const float* b, const float* c,
                          std::size_t count, float* sink, cudaStream_t stream) {
  const auto tile = static_cast<std::size_t>(shape.threads) * static_cast<std::size_t>(shape.accesses) * 4;
  if (shape.threads < 32 || shape.accesses < 1 || shape.folds < 1 || count == 0 ||
      count % (tile * static_cast<std::size_t>(shape.folds)) != 0)
    return cudaErrorInvalidValue;
  const Arrays arrays = {reinterpret_cast<float4*>(a), reinterpret_cast<const float4*>(b),
                         reinterpret_cast<const float4*>(c), count / 4, sink};
  using enum MemoryPattern;
  if (pattern == read) return launch<read>(shape, arrays, stream);
  if (pattern == write) return launch<write>(shape, arrays, stream);
  if (pattern == copy) return launch<copy>(shape, arrays, stream);
  if (pattern == triad) return launch<triad>(shape, arrays, stream);
  return cudaErrorInvalidValue;
}

double memory_bytes(MemoryPattern pattern, std::size_t count) {
  const double array = 4.0 * static_cast<double>(count);
  using enum MemoryPattern;
  if (pattern == copy) return 2.0 * array;
  if (pattern == triad) return 3.0 * array;
  return array;
}

std::span<const WorkingSetShape> working_set_shapes() { return working_set_table; }
std::span<const WorkingSetShape> merged_working_set_shapes() { return merged_table; }

cudaError_t min_working_set(std::size_t& bytes) {
  bytes = 0;
  for (const WorkingSetShape shape : working_set_table) {
    unsigned blocks = 0;
    cudaError_t error = working_set_blocks<2>(shape, blocks);
    if (shape.loads == 4) error = working_set_blocks<4>(shape, blocks);
    if (shape.loads == 8) error = working_set_blocks<8>(shape, blocks);
    if (error != cudaSuccess) return error;
    bytes = std::max(bytes, std::size_t{16} * static_cast<std::size_t>(shape.threads) * blocks);
  }
  return cudaSuccess;
}

cudaError_t launch_working_set(WorkingSetShape shape, const float* data, std::size_t working_set_bytes,
                               double min_bytes, float* sink, ClockReading* clock, cudaStream_t stream,
                               Launched& launched) {
  const std::size_t groups = working_set_bytes / 16;
  if (working_set_bytes % 16 != 0 || groups == 0 || groups >= (std::size_t{1} << 31) || shape.threads < 32 ||
      shape.threads > max_working_set_threads)
    return cudaErrorInvalidValue;
  if (shape.loads == 2) return launch_working_set_as<2>(shape, data, groups, min_bytes, sink, clock, stream, launched);
  if (shape.loads == 4) return launch_working_set_as<4>(shape, data, groups, min_bytes, sink, clock, stream, launched);
  if (shape.loads == 8) return launch_working_set_as<8>(shape, data, groups, min_bytes, sink, clock, stream, launched);
  return cudaErrorInvalidValue;
}

std::span<const int> intensity_steps() { return steps; }

cudaError_t launch_intensity(int multiply_adds, const float* data, std::size_t count, float* sink,
                             cudaStream_t stream) {
  constexpr std::size_t tile = std::size_t{intensity_threads} * loads * 4;
  const auto step = std::find(steps.begin(), steps.end(), multiply_adds);
  if (count == 0 || count % tile != 0 || step == steps.end()) return cudaErrorInvalidValue;
  constexpr auto kernels = kernels_of(std::make_index_sequence<steps.size()>());
  kernels[static_cast<std::size_t>(
      step - steps.begin())]<<<static_cast<unsigned>(count / tile), intensity_threads, 0, stream>>>(
      reinterpret_cast<const float4*>(data), 1e-12F, sink);
  return cudaGetLastError();
}

}  // namespace gpubench::probes
