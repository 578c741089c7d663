// SPDX-License-Identifier: Apache-2.0
// The harness's own kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpubench/contents.h"

namespace gpubench::bench {

/// Normal or uniform numbers, element by element from the seed alone; `bytes` is the size of one. Asynchronous.
cudaError_t draw(void* pointer, detail::ElementKind kind, detail::Filling filling, std::size_t bytes, std::size_t count,
                 std::uint64_t seed, cudaStream_t stream);
/// One block of 32 threads that return at once.
cudaError_t launch_nothing(cudaStream_t stream);

}  // namespace gpubench::bench
