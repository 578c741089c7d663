// SPDX-License-Identifier: Apache-2.0
// Kernels that read what lies inside one multiprocessor: L1, shared memory, constant memory. Plain C++ declarations;
// each launch is asynchronous on its stream and returns what the launch itself reported.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <string>

#include "kernels/probes/cuda_clock.h"

namespace gpubench::probes {

/// How a multiprocessor reads its working set.
struct CacheShape {
  int threads = 1024;     ///< of the one block on each multiprocessor
  int access_bytes = 16;  ///< 4, 8 or 16 a thread
};
/// Shapes worth trying, the most promising first.
std::span<const CacheShape> cache_shapes();
/// "16-byte loads, 8 in flight a thread, 1024 threads on each multiprocessor"
std::string cache_shape_text(CacheShape shape);

/// A working set is a multiple of this.
inline constexpr std::size_t cache_granule = 8192;

/// Each multiprocessor reads a set of `set_bytes` of its own again and again, through L1. `data` holds that for all
/// multiprocessors. Work counts bytes. A shape whose threads together take more than the set is refused.
cudaError_t launch_cache(CacheShape shape, const void* data, std::size_t set_bytes, const LoopLaunch& launch,
                         Launched& launched);

/// How many of a warp's threads ask the same bank of shared memory for different words: 1, none: 16-byte loads; 2 or
/// 32: 4-byte loads. Work counts the bytes that the threads get.
cudaError_t launch_shared(int conflicts, const LoopLaunch& launch, Launched& launched);

/// Every warp reads one address of a constant array of 4 KiB after the other, 16 bytes for all its threads. Work counts
/// these once for each warp.
cudaError_t launch_constant(const LoopLaunch& launch, Launched& launched);

}  // namespace gpubench::probes
