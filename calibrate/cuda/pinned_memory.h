// SPDX-License-Identifier: Apache-2.0
// Host memory that the GPU reaches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>

#include "bench/cuda/cuda_error.h"

namespace gpubench::calibrate {

/// Pinned and mapped host memory, every page touched. Throws CudaError.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes) {
    GPUBENCH_CUDA_CHECK(cudaHostAlloc(&memory_, bytes, cudaHostAllocMapped));
    std::memset(memory_, 1, bytes);
  }
  ~PinnedMemory() { (void)cudaFreeHost(memory_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  [[nodiscard]] std::byte* on_host() const { return static_cast<std::byte*>(memory_); }
  /// The same memory as kernels address it.
  [[nodiscard]] std::byte* on_device() const {
    void* address = nullptr;
    GPUBENCH_CUDA_CHECK(cudaHostGetDevicePointer(&address, memory_, 0));
    return static_cast<std::byte*>(address);
  }

 private:
  void* memory_ = nullptr;
};

}  // namespace gpubench::calibrate
