// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/spin.h"

namespace gpubench::truth {
namespace {

__device__ unsigned long long global_nanoseconds() {
  unsigned long long time = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void spin_kernel(long long cycles, Reading* reading) {
  const long long start = clock64();
  const unsigned long long start_nanoseconds = global_nanoseconds();
  long long now = start;
  while (now - start < cycles) now = clock64();
  if (blockIdx.x == 0) *reading = {now - start, global_nanoseconds() - start_nanoseconds};
}

}  // namespace

cudaError_t launch_spin(long long cycles, int blocks, Reading* reading, cudaStream_t stream) {
  spin_kernel<<<static_cast<unsigned>(blocks), 1, 0, stream>>>(cycles, reading);
  return cudaGetLastError();
}

}  // namespace gpubench::truth
