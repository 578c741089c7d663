// SPDX-License-Identifier: Apache-2.0
// Kernels that move memory. Plain C++ declarations; each launch is asynchronous on its stream and
// returns what the launch itself reported.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>

#include "kernels/probes/cuda_clock.h"

namespace gpubench::probes {

enum class MemoryPattern { read, write, copy, triad };

/// How a kernel walks its arrays: each thread does `accesses` 16-byte accesses to each array it touches, a block's
/// threads side by side; the grid covers the arrays once. With `folds` > 1, consecutive blocks work in that many far
/// apart parts of the arrays.
struct MemoryShape {
  int threads = 256;
  int accesses = 1;
  int folds = 1;
};

/// Shapes worth trying. More bytes in flight help some GPUs, smaller blocks others.
std::span<const MemoryShape> memory_shapes(MemoryPattern pattern);

/// Every shape of memory_shapes takes arrays of a multiple of this many floats.
inline constexpr std::size_t memory_granule = std::size_t{1} << 20;

/// read: sums up b. write: stores to a, each element its own value in [1, 2). copy: a = b. triad: a = b + 2 c. Arrays
/// hold `count` floats (a multiple of 4 threads accesses folds) and are aligned to 16 bytes; those not used may be
/// null. `sink` is one float that is in truth never written.
cudaError_t launch_memory(MemoryPattern pattern, MemoryShape shape, float* a, const float* b, const float* c,
                          std::size_t count, float* sink, cudaStream_t stream);

/// Bytes that a launch moves: arrays read plus arrays written.
double memory_bytes(MemoryPattern pattern, std::size_t count);

/// Where the blocks of a working set's reader are. side_by_side: all together through the set, each block a part of
/// every stride. neighbours: each goes through all of it, from a start of its own close behind another's, so that the
/// GPU merges many of their requests on the way to L2.
enum class WorkingSetStart { side_by_side, neighbours };

/// How the GPU goes through a working set: each thread has `loads` 16-byte loads in flight.
struct WorkingSetShape {
  int threads = 256;  ///< of a block; as many blocks as run at once, of neighbours one on each multiprocessor
  int loads = 4;
  WorkingSetStart start = WorkingSetStart::side_by_side;
};
/// Shapes worth trying in which requests are not merged, the most promising first.
std::span<const WorkingSetShape> working_set_shapes();
/// Shapes in which they are.
std::span<const WorkingSetShape> merged_working_set_shapes();

/// Reads a working set again and again, past the L1 cache, until at least `min_bytes` have been read by all threads
/// together. `working_set_bytes` is a multiple of 16 and at least min_working_set. Each block leaves a reading in
/// `clock` (device memory for max_blocks on each multiprocessor), if not null. Work counts the bytes read.
cudaError_t launch_working_set(WorkingSetShape shape, const float* data, std::size_t working_set_bytes,
                               double min_bytes, float* sink, ClockReading* clock, cudaStream_t stream,
                               Launched& launched);
/// 16 bytes for each thread that the current GPU holds at once. In a smaller set several multiprocessors ask for one
/// line at the same time, and the GPU merges their requests: the rate is then more than L2 delivers.
cudaError_t min_working_set(std::size_t& bytes);

// Bulk copies through shared memory (TMA, from compute capability 9.0 on): one thread a block asks for many bytes at a
// time.

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

// Memory and arithmetic loaded together: each value read goes through so many multiply-adds.

/// Single-precision multiply-adds on each float that is read; n of them are n / 2 FLOP a byte. Ascending.
std::span<const int> intensity_steps();

/// Reads `count` floats once (a multiple of memory_granule) and does `multiply_adds` of intensity_steps on each.
cudaError_t launch_intensity(int multiply_adds, const float* data, std::size_t count, float* sink, cudaStream_t stream);

}  // namespace gpubench::probes
