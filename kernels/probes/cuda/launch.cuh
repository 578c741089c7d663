// SPDX-License-Identifier: Apache-2.0
// For the sources of kernels: errors, the two clocks around a loop, and the launch of a kernel that loops.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "kernels/probes/cuda/clock.h"

namespace gpubench::probes {

/// Throws GpuError where a call failed, and forgets the error, which a later call would tell again.
inline void check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  throw GpuError(what + " failed: " + cudaGetErrorName(error) + " (" + cudaGetErrorString(error) + ")");
}
inline void check_launch() { check(cudaGetLastError(), "launching a probe"); }
/// For arguments.
inline void require(bool sound, const char* what) {
  if (!sound) throw GpuError(std::string(what) + ": these arguments have no launch");
}

inline int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}
inline int attribute(cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, current_device()), "cudaDeviceGetAttribute");
  return value;
}

template <class Kernel>
cudaFuncAttributes attributes_of(Kernel kernel) {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
    (void)cudaGetLastError();
    throw NotOnThisGpu("this build has no code of it for this GPU");
  }
  check(error, "cudaFuncGetAttributes");
  return attributes;
}
/// Throws NotOnThisGpu where the kernel was compiled for an architecture before `first`, and is empty there.
inline void require_architecture(const cudaFuncAttributes& attributes, int first) {
  if (attributes.ptxVersion >= first) return;
  throw NotOnThisGpu("it needs compute capability " + std::to_string(first / 10) + "." + std::to_string(first % 10));
}

/// Blocks of a kernel that run at once on a multiprocessor.
template <class Kernel>
int resident_blocks(Kernel kernel, int threads) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0), "asking for the occupancy");
  return blocks;
}

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
Launched launch_loops(void (*kernel)(std::int64_t, Parameters...), int blocks, int threads, double work,
                      const LoopLaunch& launch, Arguments... arguments) {
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, launch.stream>>>(launch.loops,
                                                                                              arguments...);
  check_launch();
  return {work * blocks * static_cast<double>(launch.loops), blocks};
}

}  // namespace gpubench::probes
