// SPDX-License-Identifier: Apache-2.0
// What work on a GPU is enqueued on.
#pragma once

// CUDA's own declaration, repeated so that host code needs no CUDA header.
using cudaStream_t = struct CUstream_st*;

namespace gpubench {

/// A stream of the GPU's vendor: CUDA's, so that an operation may take a cudaStream_t.
using Stream = cudaStream_t;

}  // namespace gpubench
