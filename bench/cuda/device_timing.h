// SPDX-License-Identifier: Apache-2.0
// Chooses how an operation's own time on the GPU is taken.
#pragma once

#include "bench/cuda/blocker.h"
#include "bench/gpu.h"

namespace gpubench::bench {

/// Differences of graphs of two lengths where the operation can be captured; else of batches behind a held stream.
/// Operations of 2 ms or more: event pairs, less pairs around nothing. `one_execution_seconds` is an estimate.
/// Throws CudaError.
DeviceTiming device_timing(DeviceBatch batch, double one_execution_seconds, cudaStream_t stream, Blocker& blocker);

}  // namespace gpubench::bench
