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
/// on streams that the capture does not follow). Throws CudaError when the GPU is in trouble beyond that.
std::optional<Graph> capture(const DeviceBatch& batch, std::int64_t executions, cudaStream_t stream);

/// What cold caches ask of a chain; nothing where they may be warm.
struct Chill {
  std::function<void()> flush;  ///< enqueues a flush on the chain's stream; may be empty
  std::int64_t longest = std::numeric_limits<std::int64_t>::max();  ///< so many executions after a flush are cold
};

/// What the two kinds of chain share: events in a held stream, a flush before each chain where that is asked for, and
/// the clock from the first event to the last.
class HeldTimer : public ChainTimer {
 public:
  HeldTimer(cudaStream_t stream, Blocker& blocker, Chill chill)
      : stream_(stream), blocker_(blocker), chill_(std::move(chill)), sm_clock_(stream) {}
  /// Throws CudaError when the operation kept the host waiting while the stream was held.
  Pair time(std::int64_t short_length, std::int64_t long_length) final;
  [[nodiscard]] std::int64_t longest() const final { return std::min(max_enqueued(), chill_.longest); }
  [[nodiscard]] std::optional<double> device_clock_hz() final { return sm_clock_.hertz(); }

 protected:
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  /// Longest chain that can be enqueued while the stream is held.
  [[nodiscard]] virtual std::int64_t max_enqueued() const = 0;
  /// Everything that may load, allocate or wait happens here.
  virtual void prepare(std::int64_t short_length, std::int64_t long_length) = 0;
  virtual void enqueue(std::int64_t length) = 0;

 private:
  cudaStream_t stream_;
  Blocker& blocker_;
  Chill chill_;
  SmClock sm_clock_;
  Event start_;
  Event middle_;
  Event second_start_;  ///< after the flush between the chains
  Event end_;
};

/// One graph for each length, kept.
class GraphChains final : public HeldTimer {
 public:
  GraphChains(cudaStream_t stream, Blocker& blocker, DeviceBatch batch, std::int64_t nodes_per_execution,
              Chill chill = {})
      : HeldTimer(stream, blocker, std::move(chill)),
        batch_(std::move(batch)),
        nodes_per_execution_(nodes_per_execution) {}
  [[nodiscard]] std::string chains() const override { return "CUDA graphs"; }

 private:
  [[nodiscard]] std::int64_t max_enqueued() const override;
  void prepare(std::int64_t short_length, std::int64_t long_length) override;
  void enqueue(std::int64_t length) override;

  DeviceBatch batch_;
  std::int64_t nodes_per_execution_;
  std::map<std::int64_t, GraphExec> graphs_;
};

/// Plain launches behind a held stream, for operations that cannot be captured.
class LaunchChains final : public HeldTimer {
 public:
  LaunchChains(cudaStream_t stream, Blocker& blocker, DeviceBatch batch, Chill chill = {})
      : HeldTimer(stream, blocker, std::move(chill)), batch_(std::move(batch)) {}
  [[nodiscard]] std::string chains() const override { return std::string(held_batches); }

 private:
  /// A stream takes some 1000 launches before the host has to wait, and an execution may be several.
  [[nodiscard]] std::int64_t max_enqueued() const override { return 100; }
  void prepare(std::int64_t, std::int64_t) override {}
  void enqueue(std::int64_t length) override {
    if (length > 0) batch_(stream(), length);
  }

  DeviceBatch batch_;
};

}  // namespace gpubench::bench
