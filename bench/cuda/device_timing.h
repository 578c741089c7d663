// SPDX-License-Identifier: Apache-2.0
// Chooses how an operation's own time on the GPU is taken.
#pragma once

#include <functional>

#include "bench/cuda/blocker.h"
#include "bench/gpu.h"
#include "bench/turns.h"

namespace gpubench::bench {

/// How executions are kept cold.
struct ColdExecutions {
  Turns turns;
  std::function<void()> flush;  ///< enqueues a flush of the L2 on the stream
};

/// Differences of graphs of two lengths where the operation can be captured; else of batches behind a held stream.
/// Operations of 2 ms or more: event pairs, less pairs around nothing. `one_execution_seconds` is an estimate.
/// With cold caches each chain follows a flush; where the buffers do not take turns, chains are of one execution and of
/// none, and the fixed cost is that of idle kernels in their place. Throws CudaError.
DeviceTiming device_timing(DeviceBatch batch, double one_execution_seconds, cudaStream_t stream, Blocker& blocker,
                           const ColdExecutions* cold = nullptr);

}  // namespace gpubench::bench
