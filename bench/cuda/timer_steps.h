// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gpubench::bench {

/// One thread reads %globaltimer until it has seen `count` different values (or has read it 2^20 times) and writes them
/// to `values`, those it did not see as 0. Asynchronous on the stream.
cudaError_t read_timer_steps(std::uint64_t* values, int count, cudaStream_t stream);

}  // namespace gpubench::bench
