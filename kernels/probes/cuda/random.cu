// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "kernels/probes/access_order.h"
#include "kernels/probes/cuda/launch.cuh"
#include "kernels/probes/cuda/memory.h"

namespace gpubench::probes {
namespace {

constexpr std::array random_table = {RandomShape{256, 8, true}, RandomShape{256, 8, false}, RandomShape{256, 4, true},
                                     RandomShape{512, 16, true}};
constexpr std::array update_shapes = {RandomShape{256, 8}, RandomShape{1024, 4}};
constexpr int max_random_threads = 1024;
/// A sum that no data here gives. Comparing with it keeps the loads from being dropped.
constexpr std::uint32_t never_hit = 0x9E3779B9U;

/// Access number i of all threads goes to random_sector(i): places come from arithmetic alone, and no access waits for
/// another. `amount` is known at run time alone.
template <RandomAccess access, int in_flight, bool past_l1>
__global__ void __launch_bounds__(max_random_threads)
    random_kernel(std::int64_t loops, std::byte* data, std::uint32_t sectors, std::uint64_t amount, std::uint32_t* sink,
                  ClockReading* clock) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t sum = 0;
  const ClockReading start = read_clocks();
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
    std::uint32_t v[in_flight] = {};
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      std::byte* const place = data + static_cast<std::size_t>(random_sector(i, sectors)) * sector_bytes;
      i += threads;
      const auto* const word = reinterpret_cast<const std::uint32_t*>(place);
      if constexpr (access == RandomAccess::update)
        asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(place), "l"(amount) : "memory");
      else
        v[k] = past_l1 ? __ldcg(word) : *word;
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) sum += v[k];
  }
  if (access == RandomAccess::read && sum == never_hit) *sink = sum;
  leave_reading(clock, start);
}

/// As many blocks as run at once.
template <RandomAccess access, int in_flight, bool past_l1 = true>
Launched launch_as(RandomShape shape, void* data, std::uint32_t sectors, const LoopLaunch& launch) {
  const auto kernel = random_kernel<access, in_flight, past_l1>;
  return launch_loops(kernel, launch.multiprocessors * std::min(resident_blocks(kernel, shape.threads), max_blocks),
                      shape.threads, in_flight * shape.threads, launch, static_cast<std::byte*>(data), sectors, 1,
                      static_cast<std::uint32_t*>(launch.sink), launch.clock);
}

}  // namespace

std::span<const RandomShape> random_shapes(RandomAccess access) {
  if (access == RandomAccess::update) return update_shapes;
  return random_table;
}

Launched launch_random(RandomAccess access, RandomShape shape, void* data, std::size_t bytes,
                       const LoopLaunch& launch) {
  const std::size_t sectors = bytes / sector_bytes;
  const bool updates = access == RandomAccess::update;
  require(shape.threads >= 32 && shape.threads <= max_random_threads && sectors > 0 && sectors >> 32 == 0 &&
              (shape.in_flight == 4 || shape.in_flight == 8 || (shape.in_flight == 16 && !updates)),
          "random accesses");
  using enum RandomAccess;
  const auto as = updates                 ? (shape.in_flight == 8 ? launch_as<update, 8> : launch_as<update, 4>)
                  : shape.in_flight == 16 ? launch_as<read, 16>
                  : shape.in_flight == 4  ? launch_as<read, 4>
                  : shape.past_l1         ? launch_as<read, 8>
                                          : launch_as<read, 8, false>;
  return as(shape, data, static_cast<std::uint32_t>(sectors), launch);
}

}  // namespace gpubench::probes
