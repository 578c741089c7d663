// SPDX-License-Identifier: Apache-2.0
// The clock that a GPU's multiprocessors run at during a sample, by their own counters.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/clocks/sm_notes.h"

namespace gpubench::bench {

/// Two tiny kernels, before and after a sample on its stream, have every multiprocessor they meet note its counters.
class SmClock {
 public:
  /// Runs both kernels once, so that their module is loaded. Throws CudaError.
  explicit SmClock(cudaStream_t stream);
  ~SmClock();
  SmClock(const SmClock&) = delete;
  SmClock& operator=(const SmClock&) = delete;

  /// Enqueue the two kernels. Throw CudaError.
  void begin();
  void end();
  /// Waits for the stream; then the clock between the two, as clock_of_sample tells it. Throws CudaError.
  [[nodiscard]] std::optional<double> hertz();

 private:
  cudaStream_t stream_;
  unsigned blocks_ = 0;
  std::uint32_t number_ = 0;         ///< of the sample
  SmNotes* device_notes_ = nullptr;  ///< one for each multiprocessor
  std::vector<SmNotes> host_notes_;
};

}  // namespace gpubench::bench
