// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "kernels/probes/cuda/compute.h"
#include "kernels/probes/cuda/launch.cuh"

namespace gpubench::probes {
namespace {

constexpr int threads = 256;
constexpr int blocks_of_multiprocessor = 8;
constexpr int additions = 32;         ///< of a thread in a pass of the loop
constexpr unsigned warp_stride = 32;  ///< counters from one warp's address to the next

/// Known at run time alone, so that the compiler cannot see that threads meet at one address and add for all of them at
/// once.
struct Strides {
  unsigned warps;
  unsigned lanes;
};
Strides strides_of(Contention contention) {
  using enum Contention;
  if (contention == one_address) return {0, 0};
  if (contention == one_per_warp) return {warp_stride, 0};
  return {32, 1};
}

template <class T>
__global__ void __launch_bounds__(threads)
    atomics_kernel(std::int64_t loops, T* counters, Strides strides, T amount, ClockReading* clock) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  T* const counter = counters + thread / 32 * strides.warps + thread % 32 * strides.lanes;
  const ClockReading start = read_clocks();
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
#pragma unroll
    for (int k = 0; k < additions; ++k) {
      if constexpr (std::is_same_v<T, float>)
        asm volatile("red.global.add.f32 [%0], %1;" ::"l"(counter), "f"(amount) : "memory");
      else
        asm volatile("red.global.add.u32 [%0], %1;" ::"l"(counter), "r"(amount) : "memory");
    }
  }
  leave_reading(clock, start);
}

}  // namespace

std::size_t atomics_bytes(int multiprocessors) {
  return sizeof(unsigned) * static_cast<std::size_t>(multiprocessors) * blocks_of_multiprocessor * threads;
}

template <class T>
Launched launch_atomics(Contention contention, void* counters, const LoopLaunch& launch) {
  return launch_loops(atomics_kernel<T>, launch.multiprocessors * blocks_of_multiprocessor, threads,
                      additions * threads, launch, static_cast<T*>(counters), strides_of(contention), T{1},
                      launch.clock);
}
template Launched launch_atomics<unsigned>(Contention, void*, const LoopLaunch&);
template Launched launch_atomics<float>(Contention, void*, const LoopLaunch&);

}  // namespace gpubench::probes
