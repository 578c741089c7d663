// SPDX-License-Identifier: Apache-2.0
// Chains of executions in a stream that is held while it is filled.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>

#include "bench/timing/difference_timer.h"
#include "gpu/device.h"

namespace gpubench::bench {

/// What cold caches ask of a chain.
struct ColdStart {
  std::function<void()> flush;  ///< enqueues a flush on the chain's stream; may be empty
  std::int64_t longest = std::numeric_limits<std::int64_t>::max();  ///< so many executions after a flush are cold
};

/// Chains in a blocked stream, each behind a flush where that is asked for, and the time from the first event to the
/// last: one graph for each length or, for operations that cannot be captured, plain launches.
class BlockedStreamTimer final : public ChainTimer {
 public:
  /// `graph_nodes`: of one execution; 0 for plain launches.
  BlockedStreamTimer(Gpu& gpu, Batch batch, std::int64_t graph_nodes, ColdStart cold = {})
      : gpu_(gpu),
        batch_(std::move(batch)),
        graph_nodes_(graph_nodes),
        cold_(std::move(cold)),
        clock_notes_(gpu.clock_notes()) {}
  /// Throws GpuError when the operation kept the host waiting while the stream was blocked.
  Pair time(std::int64_t short_length, std::int64_t long_length) override;
  [[nodiscard]] std::int64_t longest() const override;
  [[nodiscard]] std::optional<double> device_clock_hz() override { return clock_notes_.hertz(); }
  [[nodiscard]] std::string chains() const override {
    return graph_nodes_ > 0 ? "CUDA graphs" : std::string(blocked_batches);
  }
  double now() override { return gpu_.now(); }

 private:
  /// Makes the graphs: nothing may load, allocate or wait while the stream is blocked.
  void prepare(std::int64_t short_length, std::int64_t long_length);
  void enqueue(std::int64_t length);

  Gpu& gpu_;
  Batch batch_;
  std::int64_t graph_nodes_;
  ColdStart cold_;
  ClockNotes clock_notes_;
  std::unique_ptr<Event> start_ = gpu_.event();
  std::unique_ptr<Event> middle_ = gpu_.event();
  std::unique_ptr<Event> second_start_ = gpu_.event();  ///< after the flush between the chains
  std::unique_ptr<Event> end_ = gpu_.event();
  std::map<std::int64_t, std::unique_ptr<Graph>> graphs_;  ///< by length
};

}  // namespace gpubench::bench
