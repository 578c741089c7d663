// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/timer_steps.h"

namespace gpubench::bench {
namespace {

__device__ std::uint64_t global_timer() {
  std::uint64_t value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}

__global__ void timer_steps_kernel(std::uint64_t* values, int count) {
  // Some GPUs step their timer by a microsecond: the bound on reads is generous, yet it ends.
  constexpr int max_reads = 1 << 20;
  int seen = 0;
  std::uint64_t last = 0;
  for (int read = 0; read < max_reads && seen < count; ++read) {
    const std::uint64_t now = global_timer();
    if (now == last) continue;
    last = now;
    values[seen++] = now;
  }
  while (seen < count) values[seen++] = 0;
}

}  // namespace

cudaError_t read_timer_steps(std::uint64_t* values, int count, cudaStream_t stream) {
  timer_steps_kernel<<<1, 1, 0, stream>>>(values, count);
  return cudaGetLastError();
}

}  // namespace gpubench::bench
