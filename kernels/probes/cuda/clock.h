// SPDX-License-Identifier: Apache-2.0
// The SM clock seen from inside kernels, and what launches of probes that loop have in common.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

namespace gpubench::probes {

/// Cycles of one multiprocessor and nanoseconds of the GPU's global timer over the same stretch of a kernel.
struct ClockReading {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;
};
/// Cycles over time of all readings together, in Hz; 0 without any time. Multiprocessors under load need not run at
/// quite the same clock, so that a single one's reading can be off by a percent.
double mean_hertz(std::span<const ClockReading> readings);

/// `blocks` blocks of one thread that read both clocks until `nanoseconds` have passed, and leave a reading each.
cudaError_t launch_clock(std::uint64_t nanoseconds, int blocks, ClockReading* clock, cudaStream_t stream);

inline constexpr int threads_of_empty_block = 256;
/// A kernel of so many blocks of `threads_of_empty_block` threads that end at once: it takes as long as starting them.
cudaError_t launch_empty_blocks(int blocks, cudaStream_t stream);

/// How many threads a probe runs with.
struct BlockShape {
  int threads = 256;
  int blocks = 1;  ///< on each multiprocessor
};
/// No BlockShape here has more blocks.
inline constexpr int max_blocks = 8;

/// A launch of a probe that does the same work `loops` times.
struct LoopLaunch {
  std::int64_t loops = 1;
  int multiprocessors = 1;        ///< of the GPU
  ClockReading* clock = nullptr;  ///< device memory: each block leaves a reading, of its own loop alone
  void* sink = nullptr;           ///< 16 bytes of device memory that are in truth never written
  cudaStream_t stream = nullptr;
};
/// What it does.
struct Launched {
  double work = 0.0;       ///< operations, bytes, ... of the launch
  int clock_readings = 0;  ///< how many readings it leaves, at most max_blocks for each multiprocessor
};

#if defined(__CUDACC__)
// For kernels: the two clocks around a loop.

__device__ __forceinline__ std::uint64_t global_nanoseconds() {
  std::uint64_t value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}

__device__ __forceinline__ ClockReading read_clocks() {
  return {static_cast<std::uint64_t>(clock64()), global_nanoseconds()};
}

/// The first thread of each block leaves what has passed since `start`.
__device__ __forceinline__ void leave_reading(ClockReading* clock, const ClockReading& start) {
  if (threadIdx.x != 0) return;
  const ClockReading end = read_clocks();
  clock[blockIdx.x] = {end.cycles - start.cycles, end.nanoseconds - start.nanoseconds};
}

/// Launches a kernel whose blocks each do so much `work` in a loop, and says what it does.
template <class... Parameters, class... Arguments>
cudaError_t launch_loops(void (*kernel)(std::int64_t, Parameters...), int blocks, int threads, double work,
                         const LoopLaunch& launch, Launched& launched, Arguments... arguments) {
  launched.clock_readings = blocks;
  launched.work = work * blocks * static_cast<double>(launch.loops);
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, launch.stream>>>(launch.loops,
                                                                                              arguments...);
  return cudaGetLastError();
}

#endif

}  // namespace gpubench::probes
