// SPDX-License-Identifier: Apache-2.0
// What goes wrong on a device.
#pragma once

#include <stdexcept>

namespace gpubench {

/// Not enough memory: the point fails, and the run goes on.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown on an error of the GPU's runtime, driver or libraries; the message names the call and the error.
struct GpuError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
using CudaError = GpuError;  ///< by CUDA's name

}  // namespace gpubench
