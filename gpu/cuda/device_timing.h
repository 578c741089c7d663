// SPDX-License-Identifier: Apache-2.0
// Operations captured in CUDA graphs, what such a graph consists of, and timing by chains of executions.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>

#include "bench/timing/timer.h"
#include "gpu/cuda/handles.h"
#include "gpu/cuda/harness_kernels.h"
#include "gpu/devices.h"
#include "bench/memory/cold_cache.h"

namespace gpubench::bench {

/// Captures `executions` executions; absent when the operation cannot be captured (it synchronises, allocates, or works
/// on other streams). Throws CudaError.
std::optional<Graph> capture(const DeviceBatch& batch, std::int64_t executions, cudaStream_t stream);

struct GraphKernel {
  LaunchShape shape;
  /// Blocks that fit on a multiprocessor at once; absent where the driver does not tell.
  std::optional<int> blocks_per_multiprocessor;
  std::optional<int> local_bytes;  ///< of a thread; likewise
};

struct GraphContent {
  std::vector<GraphKernel> kernels;  ///< in the order they run
  int commands = 0;                  ///< copies and fills: in a graph another engine may run them than in a stream
  std::optional<KernelGroup> only_command;  ///< where the graph is one copy or fill and nothing else
  int other_nodes = 0;                      ///< those, host functions, ...: they have no empty counterpart
  /// Why its kernels' overheads do not add up (branches, programmatic dependent launches); empty when they do.
  std::string entangled;
};

/// Reads the nodes of a graph, those of child graphs included. Throws CudaError.
GraphContent content_of(cudaGraph_t graph);

/// What its kernels launch on a GPU of so many multiprocessors; copies and fills are not among them.
Launches launches_of(const GraphContent& content, int multiprocessors);
/// Of each kernel; `blocks_per_multiprocessor` is 0 where it is not known.
std::vector<Grid> grids_of(const GraphContent& content);
/// The grid that all kernels have; absent where they differ or blocks_per_multiprocessor is not known.
std::optional<Grid> common_grid_of(const GraphContent& content);

/// What cold caches ask of a chain.
struct Chill {
  std::function<void()> flush;  ///< enqueues a flush on the chain's stream; may be empty
  std::int64_t longest = std::numeric_limits<std::int64_t>::max();  ///< so many executions after a flush are cold
};

/// Chains in a held stream, each behind a flush where that is asked for, and the clock from the first event to the
/// last: one graph for each length or, for operations that cannot be captured, plain launches.
class BlockedStreamTimer final : public ChainTimer {
 public:
  /// `graph_nodes`: of one execution; 0 for plain launches.
  BlockedStreamTimer(cudaStream_t stream, Blocker& blocker, DeviceBatch batch, std::int64_t graph_nodes, Chill chill = {})
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

/// What kernels of certain launch shapes cost before and after their work. Measured once for each set of shapes, and
/// again when the cost of one shape has changed, as it does once a process uses a second stream (handles.h).
class KernelOverheads {
 public:
  KernelOverheads(cudaStream_t stream, Blocker& blocker) : stream_(stream), blocker_(blocker) {}
  /// single: one execution behind each flush; behind_kernel: one behind an empty kernel.
  enum class ChainKind { graphs, launches, single, behind_kernel };
  /// In seconds, for these kernels one after the other. `flush` is called for single ones. Throws CudaError.
  Estimate of(const std::vector<LaunchShape>& shapes, ChainKind kind, const std::function<void()>& flush);
  /// The same of one execution, whatever is known; absent where device_timing would not take one of graphs off.
  std::optional<double> anew(const DeviceBatch& batch);
  /// Of one execution of kernels that can be captured, without their overhead, as device_timing has it.
  Estimate device_seconds(const DeviceBatch& batch);

 private:
  struct Entry {
    std::vector<LaunchShape> shapes;
    ChainKind kind;
    Estimate seconds;
  };
  [[nodiscard]] std::unique_ptr<ChainTimer> idle_timer(const std::vector<LaunchShape>& shapes, ChainKind kind,
                                                       const std::function<void()>& flush, long long cycles) const;
  void forget_if_changed();

  cudaStream_t stream_;
  Blocker& blocker_;
  std::vector<Entry> known_;
  std::unique_ptr<ChainTimer> watched_;  ///< kernels of one block that end at once
  double watched_seconds_ = 0.0;         ///< what one of them took when the rest was measured
};

/// How executions are kept cold.
struct ColdExecutions {
  BufferRotation turns;
  std::function<void()> flush;  ///< enqueues a flush of the L2 on the stream
  /// What is enqueued before idle kernels that stand for the operation; the flush where it is empty.
  std::function<void()> before_idle = {};
  std::string note = {};  ///< added to the method
};

/// Times by differences of graphs of two lengths where the operation can be captured, else of batches behind a held
/// stream. Copies and fills go into batches, too, so that the engine runs them that runs them for the user. Operations
/// of 2 ms or more: event pairs, less pairs around nothing. Runs the operation a few times first. With cold caches each
/// chain follows a flush. Where buffers do not take turns, chains are of one execution and of none, and the overhead is
/// that of idle kernels in their place. Throws CudaError.
DeviceTiming device_timing(DeviceBatch batch, cudaStream_t stream, Blocker& blocker, KernelOverheads& overheads,
                           const ColdExecutions* cold = nullptr);

/// Two events around a batch that was enqueued while the stream was held, less two events around nothing. So the GPU
/// never waits for the host, whose launches are a figure of their own (Timer::host_seconds). The stream is not held for
/// an operation that cannot be captured, nor for one of very many launches: that time is the slower of host and GPU.
/// Executions each follow what `before`, if any, enqueues, untimed. Throws CudaError.
std::unique_ptr<Timer> stream_clock(DeviceBatch batch, std::function<void()> before, cudaStream_t stream,
                                    Blocker& blocker);

}  // namespace gpubench::bench
