// SPDX-License-Identifier: Apache-2.0
// Empties the L2 of a GPU of what others left in it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpubench/vectors.h"

namespace gpubench::bench {

/// Reads memory of its own, four times what the L2 holds, so that nearly all of what is left are clean lines of it (on
/// an H200 a seventh of dirty ones stays). Twice would do where the oldest lines are replaced; where any line may be,
/// as much reading leaves exp(-1.6) = 20 % of what was there (a fifth of what is read is still there from the flush
/// before), and four times would leave exp(-3.9) = 2 %.
class CacheFlush {
 public:
  /// Flushes once, so that nothing is loaded or allocated later. Throws OutOfMemory or CudaError.
  CacheFlush(std::size_t l2_bytes, cudaStream_t stream);
  /// Enqueues a flush. What follows on the stream finds the L2 flushed.
  void enqueue(cudaStream_t stream);
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

 private:
  DeviceVector<std::uint32_t> memory_;
  DeviceVector<std::uint32_t> sink_;
};

}  // namespace gpubench::bench
