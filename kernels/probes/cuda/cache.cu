// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "kernels/probes/cuda/launch.cuh"
#include "kernels/probes/cuda/memory.h"

namespace gpubench::probes {
namespace {

constexpr std::array shape_table = {CacheShape{1024}, CacheShape{512}};
constexpr int access_bytes = 16;
constexpr int in_flight = 8;
constexpr int max_cache_threads = 1024;
/// A value that no data here combines to. Comparing with it keeps the loads from being dropped.
constexpr std::uint32_t never_cached = 0x9E3779B9U;

/// Loads in PTX: a compiler could take ordinary ones of the same address out of the loop, and the assembler all but
/// volatile ones of shared memory.
__device__ __forceinline__ std::uint32_t load_global_16(const char* address) {
  std::uint32_t v, w, x, y;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "l"(address));
  return v ^ w ^ x ^ y;
}
template <bool one_word>
__device__ __forceinline__ std::uint32_t load_shared(std::uint32_t address) {
  std::uint32_t v, w = 0, x = 0, y = 0;
  if constexpr (one_word)
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v) : "r"(address));
  else
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v), "=r"(w), "=r"(x), "=r"(y)
                 : "r"(address));
  return v ^ w ^ x ^ y;
}

/// The block goes through its set in order, all its threads side by side, from the start again behind the end.
__global__ void __launch_bounds__(max_cache_threads)
    cache_kernel(std::int64_t loops, const char* data, unsigned set_bytes, std::uint32_t* sink, ClockReading* clock) {
  const char* const mine = data + static_cast<std::size_t>(blockIdx.x) * set_bytes + threadIdx.x * access_bytes;
  const unsigned step = blockDim.x * access_bytes;
  std::uint32_t sum = 0;
  // The first pass fills the cache.
  for (unsigned place = 0; place + step <= set_bytes; place += step) sum ^= load_global_16(mine + place);
  __syncthreads();
  unsigned place = 0;
  const ClockReading start = read_clocks();
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
#pragma unroll
    for (int k = 0; k < 4 * in_flight; ++k) {
      sum ^= load_global_16(mine + place);
      place += step;
      if (place >= set_bytes) place = 0;
    }
  }
  __syncthreads();
  leave_reading(clock, start);
  if (sum == never_cached) *sink = sum;
}

constexpr int shared_threads = 1024;
constexpr int shared_bytes = 32768;

template <bool one_word>
__global__ void __launch_bounds__(shared_threads)
    shared_kernel(std::int64_t loops, std::uint32_t* sink, ClockReading* clock) {
  __shared__ __align__(16) std::uint32_t words[shared_bytes / 4];
  for (unsigned i = threadIdx.x; i < shared_bytes / 4; i += shared_threads) words[i] = i * 2654435761U;
  __syncthreads();
  const std::uint32_t address = static_cast<std::uint32_t>(__cvta_generic_to_shared(words)) +
                                (one_word ? threadIdx.x / 32 * 128 : threadIdx.x * access_bytes);
  std::uint32_t sum = 0;
  const ClockReading start = read_clocks();
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
#pragma unroll
    for (int k = 0; k < 4 * in_flight; ++k)
      sum ^= load_shared<one_word>(address ^ static_cast<unsigned>(k % 2 * (shared_bytes / 2)));
  }
  __syncthreads();
  leave_reading(clock, start);
  if (sum == never_cached) *sink = sum;
}

}  // namespace

std::span<const CacheShape> cache_shapes() { return shape_table; }

std::string cache_shape_text(CacheShape shape) {
  return std::to_string(access_bytes) + "-byte loads, 32 in a pass of the loop, one block of " +
         std::to_string(shape.threads) + " threads on each multiprocessor";
}

Launched launch_cache(CacheShape shape, const void* data, std::size_t set_bytes, const LoopLaunch& launch) {
  const auto step = static_cast<std::size_t>(shape.threads * access_bytes);
  require(shape.threads >= 32 && shape.threads <= max_cache_threads && set_bytes >= step && set_bytes % step == 0 &&
              set_bytes <= (std::size_t{1} << 30),
          "reads of a cache");
  // All of the memory that L1 and shared memory have in common.
  check(cudaFuncSetAttribute(cache_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 0), "cudaFuncSetAttribute");
  return launch_loops(cache_kernel, launch.multiprocessors, shape.threads, access_bytes * 4 * in_flight * shape.threads,
                      launch, static_cast<const char*>(data), static_cast<unsigned>(set_bytes),
                      static_cast<std::uint32_t*>(launch.sink), launch.clock);
}

template <bool one_word>
Launched launch_shared(const LoopLaunch& launch) {
  return launch_loops(shared_kernel<one_word>, launch.multiprocessors, shared_threads,
                      (one_word ? 1 : access_bytes) * 4 * in_flight * shared_threads, launch,
                      static_cast<std::uint32_t*>(launch.sink), launch.clock);
}
template Launched launch_shared<false>(const LoopLaunch&);
template Launched launch_shared<true>(const LoopLaunch&);

}  // namespace gpubench::probes
