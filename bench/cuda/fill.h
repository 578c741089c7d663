// SPDX-License-Identifier: Apache-2.0
// The harness's own kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpubench/vectors.h"

namespace gpubench::bench {

/// Standard normal data (int32: uniform), element by element from the seed alone. Asynchronous on the stream.
cudaError_t fill_random(void* pointer, Element element, std::size_t count, std::uint64_t seed, cudaStream_t stream);
/// One block of 32 threads that return at once.
cudaError_t launch_nothing(cudaStream_t stream);

}  // namespace gpubench::bench
