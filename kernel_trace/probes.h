// SPDX-License-Identifier: Apache-2.0
// CUDA's errors as exceptions, and what the probes find out about a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string>

#include "gpubench/vectors.h"
#include "kernel_trace/decode.h"

namespace gpubench::kernel_trace {

inline std::string cuda_text(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + " (" + cudaGetErrorString(error) + ")";
}
inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  throw CudaError(std::string(call) + " failed: " + cuda_text(error));
}
#define GPUBENCH_TRACE_CHECK(call) ::gpubench::kernel_trace::check((call), #call)

/// Spins for a millisecond between two readings. Throws CudaError.
std::optional<Rate> measure_rate();

/// Asks the GPU for its timer, 50 times, and takes the answer that came soonest. Absent where none comes in a second.
/// Throws CudaError.
std::optional<HostMoment> measure_host_clock();

}  // namespace gpubench::kernel_trace
