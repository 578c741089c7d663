// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/access_order.h"
#include "kernels/probes/cuda/launch.cuh"
#include "kernels/probes/cuda/memory.h"

namespace gpubench::probes {
namespace {

__global__ void chain_kernel(char* memory, std::uint32_t lines, int half_bits, std::uint64_t seed) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= lines) return;
  const std::uint32_t here = shuffled(i, lines, half_bits, seed);
  const std::uint32_t next = shuffled(i + 1 == lines ? 0 : i + 1, lines, half_bits, seed);
  *reinterpret_cast<char**>(memory + here * line_bytes) = memory + next * line_bytes;
}

template <ChaseCache cache>
__device__ __forceinline__ const char* follow(const char* p) {
  std::uint64_t next;
  if constexpr (cache == ChaseCache::all)
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(next) : "l"(p));
  else
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(next) : "l"(p));
  return reinterpret_cast<const char*>(next);
}

constexpr int warm_threads = 512;

template <ChaseCache cache>
__global__ void __launch_bounds__(warm_threads)
    chase_kernel(const char* memory, std::size_t from, std::size_t warm_bytes, int passes, const char** sink,
                 ClockReading* clock) {
  for (int round = 0; round < 2; ++round)
    for (std::size_t place = threadIdx.x * line_bytes; place < warm_bytes; place += warm_threads * line_bytes)
      if (follow<cache>(memory + place) == nullptr) *sink = memory;  // never so
  __syncthreads();
  if (threadIdx.x != 0) return;
  // The first pass is not timed: it fetches the loop's own instructions.
  const char* p = memory + from * line_bytes;
  ClockReading start;
#pragma unroll 1
  for (int pass = -1; pass < passes; ++pass) {
    if (pass == 0) start = read_clocks();
#pragma unroll
    for (int k = 0; k < chase_unroll; ++k) p = follow<cache>(p);
  }
  if (p == nullptr) *sink = p;  // never so: waits for the last load before the clocks are read
  leave_reading(clock, start);
  *sink = p;
}

constexpr int shared_words = 1024;

__global__ void shared_chase_kernel(int passes, std::uint32_t* sink, ClockReading* clock) {
  __shared__ std::uint32_t words[shared_words];
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(words));
  // 331 is odd, so a single cycle through all words.
  for (unsigned i = threadIdx.x; i < shared_words; i += blockDim.x) words[i] = base + 4 * ((i + 331) % shared_words);
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint32_t p = base;
  ClockReading start;
#pragma unroll 1
  for (int pass = -1; pass < passes; ++pass) {
    if (pass == 0) start = read_clocks();
#pragma unroll
    for (int k = 0; k < chase_unroll; ++k) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p));
  }
  if (p == 0xFFFFFFFFU) *sink = p;
  leave_reading(clock, start);
}

__global__ void clock_kernel(std::uint64_t nanoseconds, ClockReading* clock) {
  const ClockReading start = read_clocks();
  while (global_nanoseconds() - start.nanoseconds < nanoseconds) {
  }
  leave_reading(clock, start);
}

__global__ void empty_kernel() {}

}  // namespace

void launch_chain(void* memory, std::uint32_t lines, std::uint64_t seed, Stream stream) {
  require(lines >= 2 && lines <= (1U << 30), "a chain");
  const int half_bits = half_bits_for(lines);
  chain_kernel<<<(lines + 255) / 256, 256, 0, stream>>>(static_cast<char*>(memory), lines, half_bits, seed);
  check_launch();
}

void launch_chase(ChaseCache cache, const void* memory, std::size_t from, std::size_t warm_bytes, int steps, void* sink,
                  ClockReading* clock, Stream stream) {
  require(steps >= chase_unroll && steps % chase_unroll == 0, "a chase");
  const auto kernel = cache == ChaseCache::all ? chase_kernel<ChaseCache::all> : chase_kernel<ChaseCache::past_l1>;
  kernel<<<1, warm_threads, 0, stream>>>(static_cast<const char*>(memory), from, warm_bytes, steps / chase_unroll,
                                         static_cast<const char**>(sink), clock);
  check_launch();
}

void launch_shared_chase(int steps, void* sink, ClockReading* clock, Stream stream) {
  require(steps >= chase_unroll && steps % chase_unroll == 0, "a chase");
  shared_chase_kernel<<<1, 256, 0, stream>>>(steps / chase_unroll, static_cast<std::uint32_t*>(sink), clock);
  check_launch();
}

void launch_empty_blocks(int blocks, Stream stream) {
  empty_kernel<<<static_cast<unsigned>(blocks), threads_of_empty_block, 0, stream>>>();
  check_launch();
}

void launch_clock(std::uint64_t nanoseconds, int blocks, ClockReading* clock, Stream stream) {
  clock_kernel<<<static_cast<unsigned>(blocks), 1, 0, stream>>>(nanoseconds, clock);
  check_launch();
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
