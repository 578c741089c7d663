// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/cuda/compute.h"
#include "kernels/probes/cuda/launch.cuh"

namespace gpubench::probes {
namespace {

constexpr int threads = 256;
constexpr int blocks_of_multiprocessor = 8;
constexpr int atomics_threads = 1024;
constexpr int additions = 32;         ///< of a thread in a pass of the loop
constexpr unsigned warp_stride = 32;  ///< counters from one warp's address to the next

/// A thread's counter. `warps` and `lanes` are known at run time alone, so that the compiler cannot see that threads
/// meet at one address and add for all of them at once.
__device__ __forceinline__ unsigned counter_of(unsigned thread, unsigned warps, unsigned lanes) {
  return thread / 32 * warps + thread % 32 * lanes;
}

struct Strides {
  unsigned warps;
  unsigned lanes;
  unsigned amount = 1;  ///< known at run time alone: to add a constant 1 shared memory has an instruction of its own
};
Strides strides_of(Contention contention) {
  using enum Contention;
  if (contention == one_address) return {0, 0};
  if (contention == one_per_warp) return {warp_stride, 0};
  return {32, 1};
}

__global__ void __launch_bounds__(threads)
    global_atomics_kernel(std::int64_t loops, unsigned* counters, Strides strides, ClockReading* clock) {
  unsigned* const counter = counters + counter_of(blockIdx.x * blockDim.x + threadIdx.x, strides.warps, strides.lanes);
  const ClockReading start = read_clocks();
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
#pragma unroll
    for (int k = 0; k < additions; ++k)
      asm volatile("red.global.add.u32 [%0], %1;" ::"l"(counter), "r"(strides.amount) : "memory");
  }
  leave_reading(clock, start);
}

/// Of floating-point numbers, with the number that was there or without.
template <bool returning>
__global__ void __launch_bounds__(threads) float_atomics_kernel(std::int64_t loops, float* counters, Strides strides,
                                                                float amount, void* sink, ClockReading* clock) {
  float* const counter = counters + counter_of(blockIdx.x * blockDim.x + threadIdx.x, strides.warps, strides.lanes);
  float sum = 0.0F;
  const ClockReading start = read_clocks();
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
#pragma unroll
    for (int k = 0; k < additions; ++k) {
      if constexpr (returning) {
        float before = 0.0F;
        asm volatile("atom.global.add.f32 %0, [%1], %2;" : "=f"(before) : "l"(counter), "f"(amount) : "memory");
        sum += before;
      } else {
        asm volatile("red.global.add.f32 [%0], %1;" ::"l"(counter), "f"(amount) : "memory");
      }
    }
  }
  leave_reading(clock, start);
  if (sum < 0.0F) *static_cast<float*>(sink) = sum;
}

__global__ void __launch_bounds__(atomics_threads)
    shared_atomics_kernel(std::int64_t loops, Strides strides, unsigned* sum, ClockReading* clock) {
  __shared__ unsigned counters[atomics_threads];
  counters[threadIdx.x] = 0;
  __syncthreads();
  const auto counter = static_cast<std::uint32_t>(
      __cvta_generic_to_shared(counters + counter_of(threadIdx.x, strides.warps, strides.lanes)));
  const ClockReading start = read_clocks();
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
#pragma unroll
    for (int k = 0; k < additions; ++k)
      asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(counter), "r"(strides.amount) : "memory");
  }
  __syncthreads();
  leave_reading(clock, start);
  if (sum != nullptr && blockIdx.x == 0) atomicAdd(sum, counters[threadIdx.x]);
}

}  // namespace

std::size_t atomics_bytes(int multiprocessors) {
  return sizeof(unsigned) * static_cast<std::size_t>(multiprocessors) * blocks_of_multiprocessor * threads;
}

Launched launch_global_atomics(Contention contention, void* counters, const LoopLaunch& launch) {
  return launch_loops(global_atomics_kernel, launch.multiprocessors * blocks_of_multiprocessor, threads,
                      additions * threads, launch, static_cast<unsigned*>(counters), strides_of(contention),
                      launch.clock);
}

Launched launch_float_atomics(Contention contention, bool returning, void* counters, const LoopLaunch& launch) {
  return launch_loops(returning ? float_atomics_kernel<true> : float_atomics_kernel<false>,
                      launch.multiprocessors * blocks_of_multiprocessor, threads, additions * threads, launch,
                      static_cast<float*>(counters), strides_of(contention), 1.0F, launch.sink, launch.clock);
}

Launched launch_shared_atomics(Contention contention, unsigned* sum, const LoopLaunch& launch) {
  return launch_loops(shared_atomics_kernel, launch.multiprocessors, atomics_threads, additions * atomics_threads,
                      launch, strides_of(contention), sum, launch.clock);
}

}  // namespace gpubench::probes
