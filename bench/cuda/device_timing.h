// SPDX-License-Identifier: Apache-2.0
// Chooses how an operation's own time on the GPU is taken.
#pragma once

#include <vector>

#include "bench/cuda/blocker.h"
#include "bench/cuda/idle_kernels.h"
#include "bench/gpu.h"

namespace gpubench::bench {

/// What kernels of certain launch shapes cost before and after their work. Measured once for each set of shapes.
class FixedCosts {
 public:
  FixedCosts(cudaStream_t stream, Blocker& blocker) : stream_(stream), blocker_(blocker) {}
  enum class Chains { graphs, launches };
  /// In seconds, for these kernels one after the other. Throws CudaError.
  Estimate of(const std::vector<LaunchShape>& shapes, Chains chains);

 private:
  struct Entry {
    std::vector<LaunchShape> shapes;
    Chains chains;
    Estimate seconds;
  };
  cudaStream_t stream_;
  Blocker& blocker_;
  std::vector<Entry> known_;
};

/// Differences of graphs of two lengths where the operation can be captured; else of batches behind a held stream.
/// Operations of 2 ms or more: event pairs, less pairs around nothing. It runs the operation
/// a few times to find out. Throws CudaError.
DeviceTiming device_timing(DeviceBatch batch, cudaStream_t stream, Blocker& blocker, FixedCosts& fixed_costs);

}  // namespace gpubench::bench
