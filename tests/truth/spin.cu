// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/spin.h"

namespace gpubench::truth {
namespace {

__device__ unsigned long long global_nanoseconds() {
  unsigned long long time = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__device__ long long spin(long long cycles) {
  const long long start = clock64();
  long long now = start;
  while (now - start < cycles) now = clock64();
  return now - start;
}

__global__ void spin_kernel(long long cycles) { spin(cycles); }

__global__ void reading_spin_kernel(long long cycles, Reading* reading) {
  const unsigned long long start = global_nanoseconds();
  const long long seen = spin(cycles);
  if (blockIdx.x == 0) *reading = {seen, global_nanoseconds() - start};
}

}  // namespace

cudaError_t launch_spin(long long cycles, int blocks, cudaStream_t stream) {
  spin_kernel<<<static_cast<unsigned>(blocks), 1, 0, stream>>>(cycles);
  return cudaGetLastError();
}

cudaError_t launch_reading_spin(long long cycles, int blocks, Reading* reading, cudaStream_t stream) {
  reading_spin_kernel<<<static_cast<unsigned>(blocks), 1, 0, stream>>>(cycles, reading);
  return cudaGetLastError();
}

}  // namespace gpubench::truth
