// SPDX-License-Identifier: Apache-2.0
// For kernels: the two clocks around a loop.
#pragma once

#include "kernels/probes/cuda_clock.h"

namespace gpubench::probes {

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

}  // namespace gpubench::probes
