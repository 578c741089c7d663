// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/probes/cuda/launch.cuh"
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

template <MemoryPattern pattern>
void launch(MemoryShape shape, const Arrays& arrays, Stream stream) {
  require(shape.accesses == 1 || shape.accesses == 4 || shape.accesses == 8 || shape.accesses == 16, "memory accesses");
  const auto kernel = shape.accesses == 1   ? memory_kernel<pattern, 1>
                      : shape.accesses == 4 ? memory_kernel<pattern, 4>
                      : shape.accesses == 8 ? memory_kernel<pattern, 8>
                                            : memory_kernel<pattern, 16>;
  const auto blocks = static_cast<unsigned>(arrays.groups / static_cast<std::size_t>(shape.threads * shape.accesses));
  kernel<<<blocks, static_cast<unsigned>(shape.threads), 0, stream>>>(arrays.a, arrays.b, arrays.c,
                                                                      static_cast<unsigned>(shape.folds), arrays.sink);
  check_launch();
}

constexpr std::array working_set_table = {WorkingSetShape{256, 4}, WorkingSetShape{512, 4}, WorkingSetShape{1024, 2}};
constexpr int max_working_set_threads = 1024;

/// Each thread reads group `first`, first + step, first + 2 step, ... of 16 bytes, from the start again behind the end.
template <int loads>
__global__ void __launch_bounds__(max_working_set_threads)
    working_set_kernel(const float4* __restrict__ data, unsigned groups, int rounds, float* sink, ClockReading* clock) {
  unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) % groups;
  const unsigned step = gridDim.x * blockDim.x % groups;
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

auto working_set_kernel_of(int loads) {
  require(loads == 2 || loads == 4, "loads of a working set");
  return loads == 2 ? working_set_kernel<2> : working_set_kernel<4>;
}

/// As many as run at once: a second wave would find what the first left in the cache.
unsigned working_set_blocks(WorkingSetShape shape) {
  const auto kernel = working_set_kernel_of(shape.loads);
  return static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount) *
                               std::min(resident_blocks(kernel, shape.threads), max_blocks));
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

void launch_memory(MemoryPattern pattern, MemoryShape shape, float* a, const float* b, const float* c,
                   std::size_t count, float* sink, Stream stream) {
  const auto tile = static_cast<std::size_t>(shape.threads) * static_cast<std::size_t>(shape.accesses) * 4;
  require(shape.threads >= 32 && shape.accesses >= 1 && shape.folds >= 1 && count > 0 &&
              count % (tile * static_cast<std::size_t>(shape.folds)) == 0,
          "a pass over memory");
  const Arrays arrays = {reinterpret_cast<float4*>(a), reinterpret_cast<const float4*>(b),
                         reinterpret_cast<const float4*>(c), count / 4, sink};
  using enum MemoryPattern;
  if (pattern == read) return launch<read>(shape, arrays, stream);
  if (pattern == write) return launch<write>(shape, arrays, stream);
  if (pattern == copy) return launch<copy>(shape, arrays, stream);
  launch<triad>(shape, arrays, stream);
}

double memory_bytes(MemoryPattern pattern, std::size_t count) {
  const double array = 4.0 * static_cast<double>(count);
  using enum MemoryPattern;
  if (pattern == copy) return 2.0 * array;
  if (pattern == triad) return 3.0 * array;
  return array;
}

std::span<const WorkingSetShape> working_set_shapes() { return working_set_table; }

std::size_t min_working_set() {
  std::size_t bytes = 0;
  for (const WorkingSetShape shape : working_set_table)
    bytes = std::max(bytes, std::size_t{16} * static_cast<std::size_t>(shape.threads) * working_set_blocks(shape));
  return bytes;
}

Launched launch_working_set(WorkingSetShape shape, const float* data, std::size_t working_set_bytes, double min_bytes,
                            float* sink, ClockReading* clock, Stream stream) {
  const std::size_t groups = working_set_bytes / 16;
  require(working_set_bytes % 16 == 0 && groups > 0 && groups < (std::size_t{1} << 31) && shape.threads >= 32 &&
              shape.threads <= max_working_set_threads,
          "reads of a working set");
  const unsigned blocks = working_set_blocks(shape);
  const std::size_t threads = static_cast<std::size_t>(shape.threads) * blocks;
  require(groups >= threads, "reads of so small a working set");
  const double round = 16.0 * shape.loads * static_cast<double>(threads);
  const int rounds = static_cast<int>(std::ceil(min_bytes / round));
  working_set_kernel_of(shape.loads)<<<blocks, static_cast<unsigned>(shape.threads), 0, stream>>>(
      reinterpret_cast<const float4*>(data), static_cast<unsigned>(groups), rounds, sink, clock);
  check_launch();
  return {round * rounds, clock == nullptr ? 0 : static_cast<int>(blocks)};
}

std::span<const int> intensity_steps() { return steps; }

void launch_intensity(int multiply_adds, const float* data, std::size_t count, float* sink, Stream stream) {
  constexpr std::size_t tile = std::size_t{intensity_threads} * loads * 4;
  const auto step = std::find(steps.begin(), steps.end(), multiply_adds);
  require(count > 0 && count % tile == 0 && step != steps.end(), "reads with arithmetic");
  constexpr auto kernels = kernels_of(std::make_index_sequence<steps.size()>());
  const auto kernel = kernels[static_cast<std::size_t>(step - steps.begin())];
  kernel<<<static_cast<unsigned>(count / tile), intensity_threads, 0, stream>>>(reinterpret_cast<const float4*>(data),
                                                                                1e-12F, sink);
  check_launch();
}

}  // namespace gpubench::probes
