// SPDX-License-Identifier: Apache-2.0
// Kernels that move memory by bulk copies through shared memory (TMA, from compute capability 9.0 on): one thread a
// block asks for many bytes at a time. Plain C++ declarations; each launch is asynchronous on its stream and returns
// what the launch itself reported.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>

#include "kernels/probes/cuda_memory.h"

namespace gpubench::probes {

struct BulkShape {
  int bytes = 16384;  ///< of one copy
  int stages = 8;     ///< copies in flight in a block
  int blocks = 1;     ///< on each multiprocessor
};
/// Shapes worth trying for a pattern; none for the triad, which computes.
std::span<const BulkShape> bulk_shapes(MemoryPattern pattern);

/// What launch_memory does, for read, write and copy; `write` stores a pattern of `bytes` again and again. Arrays hold
/// `count` floats, a multiple of every shape's bytes (memory_granule is one). cudaErrorNotSupported where this build or
/// the GPU has no bulk copies, or a block has too little shared memory for the shape.
cudaError_t launch_bulk(MemoryPattern pattern, BulkShape shape, float* a, const float* b, std::size_t count,
                        int multiprocessors, cudaStream_t stream);

}  // namespace gpubench::probes
