// SPDX-License-Identifier: Apache-2.0
// Chains of executions on the GPU, for the difference clock.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/cuda/blocker.h"
#include "bench/cuda/handles.h"
#include "bench/cuda/idle_kernels.h"
#include "bench/difference_clock.h"
#include "bench/gpu.h"

namespace gpubench::bench {

/// Captures `executions` executions; absent when the operation cannot be captured (it synchronises, allocates, or works
/// on streams that the capture does not follow). Throws CudaError when the GPU is in trouble beyond that.
std::optional<Graph> capture(const DeviceBatch& batch, std::int64_t executions, cudaStream_t stream);

/// What the two kinds of chain share: three events in a held stream.
class HeldTimer : public ChainTimer {
 public:
  HeldTimer(cudaStream_t stream, Blocker& blocker) : stream_(stream), blocker_(blocker) {}
  /// Throws CudaError when the operation kept the host waiting while the stream was held.
  Pair time(std::int64_t short_length, std::int64_t long_length) final;

 protected:
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  /// Everything that may load, allocate or wait happens here.
  virtual void prepare(std::int64_t short_length, std::int64_t long_length) = 0;
  virtual void enqueue(std::int64_t length) = 0;

 private:
  cudaStream_t stream_;
  Blocker& blocker_;
  Event start_;
  Event middle_;
  Event end_;
};

/// One graph for each length, kept.
class GraphChains final : public HeldTimer {
 public:
  GraphChains(cudaStream_t stream, Blocker& blocker, DeviceBatch batch, std::int64_t nodes_per_execution)
      : HeldTimer(stream, blocker), batch_(std::move(batch)), nodes_per_execution_(nodes_per_execution) {}
  [[nodiscard]] std::int64_t longest() const override;
  [[nodiscard]] std::string chains() const override { return "CUDA graphs"; }

 private:
  void prepare(std::int64_t short_length, std::int64_t long_length) override;
  void enqueue(std::int64_t length) override;

  DeviceBatch batch_;
  std::int64_t nodes_per_execution_;
  std::map<std::int64_t, GraphExec> graphs_;
};

/// Plain launches behind a held stream, for operations that cannot be captured.
class LaunchChains final : public HeldTimer {
 public:
  LaunchChains(cudaStream_t stream, Blocker& blocker, DeviceBatch batch)
      : HeldTimer(stream, blocker), batch_(std::move(batch)) {}
  /// A stream takes some 1000 launches before the host has to wait, and an execution may be several.
  [[nodiscard]] std::int64_t longest() const override { return 100; }
  [[nodiscard]] std::string chains() const override { return std::string(held_batches); }

 private:
  void prepare(std::int64_t, std::int64_t) override {}
  void enqueue(std::int64_t length) override {
    if (length > 0) batch_(stream(), length);
  }

  DeviceBatch batch_;
};

}  // namespace gpubench::bench
