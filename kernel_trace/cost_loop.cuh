// SPDX-License-Identifier: Apache-2.0
// What an event costs: two around 64 dependent multiply-adds, in a loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "gpubench/kernel_trace.cuh"

namespace gpubench::kernel_trace {

inline constexpr int cost_iterations = 200;

enum class CostOf { begin_and_end, scope, ends_alone };

/// `clocks` takes three numbers of each warp: its SM, and when it entered and left the loop.
template <class Method, CostOf what>
__global__ void cost_loop(View view, std::uint64_t* clocks, float* sink) {
  Method trace(view);
  float x = static_cast<float>(threadIdx.x);
  __syncthreads();
  const auto start = static_cast<std::uint64_t>(clock64());
  const auto work = [&] {
#pragma unroll
    for (int k = 0; k < 64; ++k) x = x * 1.0001F + 0.5F;
  };
#pragma unroll 1
  for (int i = 0; i < cost_iterations; ++i) {
    if constexpr (what == CostOf::scope) {
      const auto scope = trace.scope(0);
      (void)scope;
      work();
    } else {
      trace.begin(0);
      if constexpr (what == CostOf::begin_and_end) work();
      trace.end(0);
    }
  }
  const auto stop = static_cast<std::uint64_t>(clock64());
  if (x == -1.0F) *sink = x;
  if (threadIdx.x % 32 == 0) {
    std::uint64_t* const mine = clocks + 3 * (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
    mine[0] = detail::sm_id();
    mine[1] = start;
    mine[2] = stop;
  }
}

/// From an SM's first start to its last end, the mean of SMs: warps that run ahead of others do not count less.
inline double mean_clocks_of_sms(std::span<const std::uint64_t> clocks) {
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> of_sm;
  for (std::size_t i = 0; i + 2 < clocks.size(); i += 3) {
    auto& [from, to] = of_sm.emplace(clocks[i], std::pair(clocks[i + 1], clocks[i + 2])).first->second;
    from = std::min(from, clocks[i + 1]);
    to = std::max(to, clocks[i + 2]);
  }
  double sum = 0.0;
  for (const auto& [sm, span] : of_sm) sum += static_cast<double>(span.second - span.first);
  return sum / static_cast<double>(of_sm.size());
}

}  // namespace gpubench::kernel_trace
