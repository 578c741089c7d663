// SPDX-License-Identifier: Apache-2.0
// Kernels that move memory or wait for it.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/probes/cuda/clock.h"

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
void launch_memory(MemoryPattern pattern, MemoryShape shape, float* a, const float* b, const float* c,
                   std::size_t count, float* sink, Stream stream);

/// Bytes that a launch moves: arrays read plus arrays written.
double memory_bytes(MemoryPattern pattern, std::size_t count);

/// How the GPU goes through a working set: all blocks side by side, each thread with `loads` 16-byte loads in flight.
struct WorkingSetShape {
  int threads = 256;  ///< of a block; as many blocks as run at once
  int loads = 4;
};
/// Shapes worth trying, the most promising first.
std::span<const WorkingSetShape> working_set_shapes();

/// Reads a working set again and again, past the L1 cache, until at least `min_bytes` have been read by all threads
/// together. `working_set_bytes` is a multiple of 16 and at least min_working_set. Each block leaves a reading in
/// `clock` (device memory for max_blocks on each multiprocessor), if not null. Work counts the bytes read.
Launched launch_working_set(WorkingSetShape shape, const float* data, std::size_t working_set_bytes, double min_bytes,
                            float* sink, ClockReading* clock, Stream stream);
/// 16 bytes for each thread that the current GPU holds at once. In a smaller set several multiprocessors ask for one
/// line at the same time, and the GPU merges their requests: the rate is then more than L2 delivers.
std::size_t min_working_set();

// Random accesses: each to one sector of 32 bytes.

/// read: 4 bytes. update: adds 1 to 8 bytes, atomically and without asking for the result.
enum class RandomAccess { read, update };

/// How each thread goes about it; as many blocks as run at once.
struct RandomShape {
  int threads = 256;    ///< of a block
  int in_flight = 8;    ///< accesses that a thread starts before it uses what the first gave
  bool past_l1 = true;  ///< reads: L1 keeps nothing of them
};
/// Shapes worth trying.
std::span<const RandomShape> random_shapes(RandomAccess access);

/// Accesses all over `bytes` of `data`, at places that random_sector of access_order.h gives. Work counts accesses.
Launched launch_random(RandomAccess access, RandomShape shape, void* data, std::size_t bytes, const LoopLaunch& launch);

// Memory and arithmetic loaded together: each value read goes through so many multiply-adds.

/// Single-precision multiply-adds on each float that is read; n of them are n / 2 FLOP a byte. Ascending.
std::span<const int> intensity_steps();

/// Reads `count` floats once (a multiple of memory_granule) and does `multiply_adds` of intensity_steps on each.
void launch_intensity(int multiply_adds, const float* data, std::size_t count, float* sink, Stream stream);

// What lies inside one multiprocessor: L1 and shared memory.

/// How a multiprocessor reads its working set, by 16-byte loads.
struct CacheShape {
  int threads = 1024;  ///< of the one block on each multiprocessor
};
/// Shapes worth trying, the most promising first.
std::span<const CacheShape> cache_shapes();
/// "16-byte loads, 8 in flight a thread, 1024 threads on each multiprocessor"
std::string cache_shape_text(CacheShape shape);

/// Each multiprocessor reads a set of `set_bytes` of its own again and again, through L1. `data` holds that for all
/// multiprocessors. Work counts bytes. A shape whose threads together take more than the set is refused.
Launched launch_cache(CacheShape shape, const void* data, std::size_t set_bytes, const LoopLaunch& launch);

/// 16-byte loads from shared memory without bank conflicts; work counts the bytes that the threads get. Or loads of one
/// word by all threads of a warp, which take instructions as short as any; work counts one operation for each thread.
template <bool one_word>
Launched launch_shared(const LoopLaunch& launch);

// Pointer chases: one thread, each access depending on the one before.

/// Distance between the pointers of a chain.
inline constexpr std::size_t line_bytes = 128;

/// What the chase goes past: nothing, so that small sets lie in L1; or L1.
enum class ChaseCache { all, past_l1 };

/// Writes to the start of each of `lines` lines a pointer to another, so that they form one cycle in random order (a
/// pseudo-random permutation drawn by `seed`). Any memory that the current GPU can write.
void launch_chain(void* memory, std::uint32_t lines, std::uint64_t seed, Stream stream);

/// Follows a chain of launch_chain for `steps` steps from its `from`-th line. One block reads all `warm_bytes` of it
/// before, twice over, so that what fits into caches is there, and on the near side; 0 for none. Leaves cycles and
/// nanoseconds of the steps in `clock`, and in `sink` (8 bytes) the address of the line that would come next.
void launch_chase(ChaseCache cache, const void* memory, std::size_t from, std::size_t warm_bytes, int steps, void* sink,
                  ClockReading* clock, Stream stream);

/// The same in shared memory: a chain of 4 KiB.
void launch_shared_chase(int steps, void* sink, ClockReading* clock, Stream stream);

/// steps of a chase are done in whole passes of so many.
inline constexpr int chase_unroll = 32;

}  // namespace gpubench::probes
