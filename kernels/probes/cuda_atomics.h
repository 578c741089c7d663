// SPDX-License-Identifier: Apache-2.0
// Atomic additions by contention, and what blocks of a cooperative grid pay to wait for each other. Plain C++
// declarations; each launch is asynchronous on its stream and returns what the launch itself reported.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "kernels/probes/cuda_clock.h"

namespace gpubench::probes {

/// Where the threads of the grid (of the block, in shared memory) add: all at one address; those of each warp at one of
/// their own, 128 bytes apart; each at its own, side by side.
enum class Contention { one_address, one_per_warp, spread };
inline constexpr std::array contention_names = {std::string_view("one"), std::string_view("warp"),
                                                std::string_view("spread")};
constexpr std::string_view name_of(Contention contention) {
  return contention_names[static_cast<std::size_t>(contention)];
}

/// Bytes of counters that launch_global_atomics adds to.
std::size_t atomics_bytes(int multiprocessors);
/// 32-bit additions of 1 without a result, by every thread of a full GPU, 32 a loop. `counters` is device memory of
/// atomics_bytes. Work counts additions.
cudaError_t launch_global_atomics(Contention contention, void* counters, const LoopLaunch& launch, Launched& launched);
/// The same in shared memory, a block on each multiprocessor. The first block's sum over all its counters goes to
/// `sum`, a device counter, if not null.
cudaError_t launch_shared_atomics(Contention contention, unsigned* sum, const LoopLaunch& launch, Launched& launched);

/// A cooperative grid, a block of 256 threads on each multiprocessor, that waits for all its blocks `loops` times. Work
/// counts these waits. cudaErrorNotSupported where the GPU cannot launch cooperatively.
cudaError_t launch_grid_syncs(const LoopLaunch& launch, Launched& launched);

}  // namespace gpubench::probes
