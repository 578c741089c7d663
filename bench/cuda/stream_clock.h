// SPDX-License-Identifier: Apache-2.0
// The clock "stream": what each execution costs the GPU when they follow each other on one stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "bench/cuda/blocker.h"
#include "bench/gpu.h"

namespace gpubench::bench {

/// Two events around a batch that was enqueued while the stream was held, less two events around nothing: the GPU then
/// never waits for the host, whose launches scatter by several percent and are a figure of their own
/// (Timer::host_seconds). An operation that cannot be captured in a graph may wait for the GPU, and the stream is not
/// held for it, nor for one of very many launches: that figure is the slower of the two, host or GPU. Throws CudaError.
std::unique_ptr<Timer> stream_clock(DeviceBatch batch, cudaStream_t stream, Blocker& blocker);

/// The same for executions that each follow what `before` enqueues, which is not timed: two events around each, less
/// two events around nothing behind the same. Throws CudaError.
std::unique_ptr<Timer> stream_clock_behind(DeviceBatch batch, std::function<void()> before, cudaStream_t stream,
                                           Blocker& blocker);

}  // namespace gpubench::bench
