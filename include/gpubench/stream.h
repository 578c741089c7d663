// SPDX-License-Identifier: Apache-2.0
// What work on a GPU is enqueued on.
#pragma once

#include <cstdint>
#include <functional>

// CUDA's own declaration, repeated so that host code needs no CUDA header.
using cudaStream_t = struct CUstream_st*;

namespace gpubench {

/// A stream of the GPU's vendor: CUDA's, so that an operation may take a cudaStream_t.
using Stream = cudaStream_t;

namespace detail {
/// Runs an operation so many times: on a stream, or on the host, which needs none.
using Batch = std::function<void(Stream stream, std::int64_t executions)>;
}  // namespace detail

}  // namespace gpubench
