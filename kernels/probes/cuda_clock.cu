// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/cuda_clock.h"

namespace gpubench::probes {
namespace {

__global__ void clock_kernel(std::uint64_t nanoseconds, ClockReading* clock) {
  const ClockReading start = read_clocks();
  while (global_nanoseconds() - start.nanoseconds < nanoseconds) {
  }
  leave_reading(clock, start);
}

__global__ void empty_kernel() {}

}  // namespace

cudaError_t launch_empty_blocks(int blocks, cudaStream_t stream) {
  empty_kernel<<<static_cast<unsigned>(blocks), threads_of_empty_block, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t launch_clock(std::uint64_t nanoseconds, int blocks, ClockReading* clock, cudaStream_t stream) {
  clock_kernel<<<static_cast<unsigned>(blocks), 1, 0, stream>>>(nanoseconds, clock);
  return cudaGetLastError();
}

double mean_hertz(std::span<const ClockReading> readings) {
  double cycles = 0.0;
  double nanoseconds = 0.0;
  for (const auto& reading : readings) {
    cycles += static_cast<double>(reading.cycles);
    nanoseconds += static_cast<double>(reading.nanoseconds);
  }
  return nanoseconds > 0.0 ? 1e9 * cycles / nanoseconds : 0.0;
}

}  // namespace gpubench::probes
