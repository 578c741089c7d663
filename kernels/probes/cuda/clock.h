// SPDX-License-Identifier: Apache-2.0
// The SM clock seen from inside kernels, and what launches of probes that loop have in common. Here and in the headers
// beside this one each launch is asynchronous on its stream and throws GpuError where it is refused.
#pragma once

#include <cstdint>
#include <span>

#include "gpubench/error.h"
#include "gpubench/stream.h"

namespace gpubench::probes {

/// This GPU, or the code built for it, has no such instruction.
struct NotOnThisGpu : GpuError {
  using GpuError::GpuError;
};

/// Cycles of one multiprocessor and nanoseconds of the GPU's global timer over the same stretch of a kernel.
struct ClockReading {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;
};
/// Cycles over time of all readings together, in Hz; 0 without any time. Multiprocessors under load need not run at
/// quite the same clock, so that a single one's reading can be off by a percent.
double mean_hertz(std::span<const ClockReading> readings);

/// `blocks` blocks of one thread that read both clocks until `nanoseconds` have passed, and leave a reading each.
void launch_clock(std::uint64_t nanoseconds, int blocks, ClockReading* clock, Stream stream);

inline constexpr int threads_of_empty_block = 256;
/// A kernel of so many blocks of `threads_of_empty_block` threads that end at once: it takes as long as starting them.
void launch_empty_blocks(int blocks, Stream stream);

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
  Stream stream = nullptr;
};
/// What it does.
struct Launched {
  double work = 0.0;       ///< operations, bytes, ... of the launch
  int clock_readings = 0;  ///< how many readings it leaves, at most max_blocks for each multiprocessor
};

}  // namespace gpubench::probes
