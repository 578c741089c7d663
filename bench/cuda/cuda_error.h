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

/// After a kernel launch: throws CudaError when the launch itself was refused, and clears the error.
inline void check_launch(const char* kernel) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    check_cuda(error, ("launching " + std::string(kernel)).c_str());
}

/// An attribute of a device. Throws CudaError.
inline int device_attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}
/// The same of the current device.
inline int device_attribute(cudaDeviceAttr which) {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  return device_attribute(which, device);
}

}  // namespace gpubench

/// GPUBENCH_CUDA_CHECK(cudaMemcpy(...)) throws gpubench::CudaError with the call's text unless it returns cudaSuccess.
#define GPUBENCH_CUDA_CHECK(call) ::gpubench::check_cuda((call), #call)
