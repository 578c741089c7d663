// SPDX-License-Identifier: Apache-2.0
// A copy: a kernel whose bytes are known.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gpubench::truth {

/// 16 bytes a thread; `bytes` is a multiple of 4096.
cudaError_t launch_copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

}  // namespace gpubench::truth
