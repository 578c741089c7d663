// SPDX-License-Identifier: Apache-2.0
// A pointer chase: one thread, each access depending on the one before. Plain C++ declarations; each launch is
// asynchronous on its stream and returns what the launch itself reported.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/probes/cuda_clock.h"

namespace gpubench::probes {

/// Distance between the pointers of a chain.
inline constexpr std::size_t line_bytes = 128;

/// What the chase goes past: nothing, so that small sets lie in L1; or L1.
enum class ChaseCache { all, past_l1 };

/// Writes to the start of each of `lines` lines a pointer to another, so that they form one cycle in random order (a
/// pseudo-random permutation drawn by `seed`). Any memory that the current GPU can write.
cudaError_t launch_chain(void* memory, std::uint32_t lines, std::uint64_t seed, cudaStream_t stream);

/// Follows a chain of launch_chain for `steps` steps from its `from`-th line. One block reads all `warm_bytes` of it
/// before, twice over, so that what fits into caches is there, and on the near side; 0 for none. Leaves cycles and
/// nanoseconds of the steps in `clock`, and in `sink` (8 bytes) the address of the line that would come next.
cudaError_t launch_chase(ChaseCache cache, const void* memory, std::size_t from, std::size_t warm_bytes, int steps,
                         void* sink, ClockReading* clock, cudaStream_t stream);

/// The same in shared memory: a chain of 4 KiB.
cudaError_t launch_shared_chase(int steps, void* sink, ClockReading* clock, cudaStream_t stream);

/// steps of a chase are done in whole passes of so many.
inline constexpr int chase_unroll = 32;

}  // namespace gpubench::probes
