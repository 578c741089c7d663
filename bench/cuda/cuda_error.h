// SPDX-License-Identifier: Apache-2.0
// CUDA errors as exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "gpubench/vectors.h"

namespace gpubench {

/// Throws CudaError naming the call, the error's name and its description; does nothing on success.
inline void check_cuda(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw CudaError(std::string(call) + " failed: " + cudaGetErrorName(error) + " (" + cudaGetErrorString(error) + ")");
}

/// After a kernel launch: throws CudaError when the launch itself was refused. Takes the error away, so that it is told
/// once.
inline void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw CudaError("launching " + std::string(kernel) + " failed: " + cudaGetErrorName(error) + " (" +
                  cudaGetErrorString(error) + ")");
}

}  // namespace gpubench

/// GPUBENCH_CUDA_CHECK(cudaMemcpy(...)) throws gpubench::CudaError with the call's own text when it does not return
/// cudaSuccess.
#define GPUBENCH_CUDA_CHECK(call) ::gpubench::check_cuda((call), #call)
