// SPDX-License-Identifier: Apache-2.0
// Blocks that end at once: a grid of them takes as long as starting them does.
#pragma once

#include <cuda_runtime_api.h>

namespace gpubench::probes {

inline constexpr int threads_of_empty_block = 256;

/// A kernel of so many blocks of `threads_of_empty_block` threads that do nothing. Asynchronous on its stream; returns
/// what the launch itself reported.
cudaError_t launch_empty_blocks(int blocks, cudaStream_t stream);

}  // namespace gpubench::probes
