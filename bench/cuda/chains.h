// SPDX-License-Identifier: Apache-2.0
// Chains of executions on the GPU, for the difference clock.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/clocks/difference_clock.h"
#include "bench/cuda/handles.h"
#include "bench/cuda/harness_kernels.h"
#include "bench/gpu.h"

namespace gpubench::bench {

/// Captures `executions` executions; absent when the operation cannot be captured (it synchronises, allocates, or works
/// on other streams). Throws CudaError.
std::optional<Graph> capture(const DeviceBatch& batch, std::int64_t executions, cudaStream_t stream);

/// What cold caches ask of a chain.
struct Chill {
  std::function<void()> flush;  ///< enqueues a flush on the chain's stream; may be empty
  std::int64_t longest = std::numeric_limits<std::int64_t>::max();  ///< so many executions after a flush are cold
};

/// Chains in a held stream, each behind a flush where that is asked for, and the clock from the first event to the
/// last: one graph for each length or, for operations that cannot be captured, plain launches.
class HeldChains final : public ChainTimer {
 public:
  /// `graph_nodes`: of one execution; 0 for plain launches.
  HeldChains(cudaStream_t stream, Blocker& blocker, DeviceBatch batch, std::int64_t graph_nodes, Chill chill = {})
      : stream_(stream),
        blocker_(blocker),
        batch_(std::move(batch)),
        graph_nodes_(graph_nodes),
        chill_(std::move(chill)),
        sm_clock_(stream) {}
  /// Throws CudaError when the operation kept the host waiting while the stream was held.
  Pair time(std::int64_t short_length, std::int64_t long_length) override;
  [[nodiscard]] std::int64_t longest() const override;
  [[nodiscard]] std::optional<double> device_clock_hz() override { return sm_clock_.hertz(); }
  [[nodiscard]] std::string chains() const override {
    return graph_nodes_ > 0 ? "CUDA graphs" : std::string(held_batches);
  }

 private:
  /// Makes the graphs: nothing may load, allocate or wait while the stream is held.
  void prepare(std::int64_t short_length, std::int64_t long_length);
  void enqueue(std::int64_t length);

  cudaStream_t stream_;
  Blocker& blocker_;
  DeviceBatch batch_;
  std::int64_t graph_nodes_;
  Chill chill_;
  SmClock sm_clock_;
  Event start_;
  Event middle_;
  Event second_start_;  ///< after the flush between the chains
  Event end_;
  std::map<std::int64_t, GraphExec> graphs_;  ///< by length
};

}  // namespace gpubench::bench
