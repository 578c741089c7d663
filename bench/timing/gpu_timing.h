// SPDX-License-Identifier: Apache-2.0
// Timing operations on a GPU, by graphs and events of whatever vendor.
#pragma once

#include "bench/memory/cold_cache.h"
#include "bench/timing/kernel_overheads.h"
#include "bench/timing/timer.h"
#include "core/model/estimate.h"
#include "gpu/device.h"

namespace gpubench::bench {

/// A timer for an operation on the GPU.
struct DeviceTiming {
  std::unique_ptr<Timer> timer;                     ///< null when it cannot be had
  std::string reason;                               ///< then why
  std::optional<Estimate> kernel_overhead_seconds;  ///< what its kernels cost before and after their work; taken off
};

/// An execution that was captured, for all that look at it.
struct CapturedExecution {
  std::shared_ptr<Graph> graph;  ///< null where it cannot be captured
  GraphContent content;
  /// What one takes at most, launched and on the GPU alone: where batches begin. Zero where nobody has estimated it.
  double launched_seconds = 0.0;
  double on_gpu_seconds = 0.0;
  /// So that launching is more than a little of it.
  [[nodiscard]] bool is_short() const { return launched_seconds > 0.0 && launched_seconds < 0.2e-3; }
};

/// What one execution launches; absent where it cannot be captured.
struct LaunchedKernels {
  std::optional<Launches> launches;
  std::optional<Grid> grid;  ///< that of all its kernels, where they are alike
  bool nothing = false;      ///< the stream got no work at all
  /// Of each kernel in the order of launches; `blocks_per_multiprocessor` is 0 where the driver does not tell.
  std::vector<Grid> grids = {};
  std::optional<KernelGroup> only_command = std::nullopt;  ///< where it is one copy or memset
  CapturedExecution captured = {};
};

/// A short kernel that reads from L2, as an operation of that kernel would be run and timed.
struct KnownKernel {
  std::function<void()> execute;  ///< and waits
  std::function<std::function<void()>(std::int64_t executions)> chain;
  Estimate device_seconds;
};

/// What is timed.
struct TimedExecutions {
  Batch batch;
  std::function<void()> before = {};         ///< enqueues what precedes each execution, untimed: a reset, a flush
  const BufferRotation* rotation = nullptr;  ///< for `device`: caches are cold, each chain follows a flush
  /// One execution of `batch`, where that was captured before.
  std::optional<CapturedExecution> captured = std::nullopt;
};

/// How executions are kept cold.
struct ColdExecutions {
  BufferRotation rotation;
  std::function<void()> flush;  ///< enqueues a flush of the L2 on the stream
  /// What is enqueued before idle kernels that stand for the operation; the flush where it is empty.
  std::function<void()> before_idle = {};
  std::string note = {};  ///< added to the method
};

/// What is measured anew once in some seconds.
template <class Value>
class Lasting {
 public:
  template <class Measure>
  const Value& value(double now, double valid_seconds, Measure&& measure) {
    if (!value_ || now - time_ >= valid_seconds) {
      value_ = measure();
      time_ = now;
    }
    return *value_;
  }
  /// Whether it was measured at that moment.
  [[nodiscard]] bool is_of(double time) const { return value_ && time_ == time; }

 private:
  std::optional<Value> value_;
  double time_ = 0.0;
};

/// Timers for one GPU, which must outlive them. All members throw GpuError.
class GpuTiming {
 public:
  explicit GpuTiming(Gpu& gpu) : gpu_(gpu), overheads_(gpu) {}

  /// By one of the GPU's modes: `stream`, back to back, the stream filled ahead where it can be; `device`, alone,
  /// launches taken off; `latency`, on the host, one by one, from launch to finished; `call`, on the host, back to
  /// back; `graph`, the same of replays of a graph. Runs the operation a few times to find out how.
  DeviceTiming timing(TimingMode mode, TimedExecutions executions);
  /// Whether an execution returns only when the GPU is done, behind a kernel that takes longer than it. Enqueues two.
  [[nodiscard]] bool waits_for_gpu(const Batch& batch);
  /// Why nothing is to be captured from now on: a library that asks whether it is being captured may then launch other
  /// kernels, or leave a wait out. Empty: all may be.
  void forbid_capture(std::string why) { why_no_capture_ = std::move(why); }
  /// What the host takes for the launch of an empty kernel, in a loop of calls. Measured once in ten seconds: the
  /// host's clock may change.
  Estimate bare_launch_seconds();
  /// Looks at a captured execution.
  LaunchedKernels launched_by(const Batch& batch);
  /// Notes about how long one takes. Runs it and its graph a few times.
  void estimate(const Batch& batch, CapturedExecution& captured);
  /// Executions back to back, as one graph where they can be captured. Each call of the result runs them and waits; the
  /// first call also uploads the graph.
  std::function<void()> chain(const Batch& batch, std::int64_t executions);
  /// The harness's own, timed when this is called.
  KnownKernel known_kernel();

 private:
  /// Times by differences of graphs of two lengths where the operation can be captured, else of batches in a blocked
  /// stream. Copies and memsets go into batches, too, so that the engine runs them that runs them for the user.
  /// Operations of 2 ms or more: event pairs, less pairs around nothing. Runs the operation a few times first. With
  /// cold caches each chain follows a flush. Where buffers do not rotate, chains are of one execution and of none, and
  /// the overhead is that of idle kernels in their place.
  DeviceTiming device_timing(Batch batch, const CapturedExecution& captured, const ColdExecutions* cold);
  /// Two events around a batch that was enqueued while the stream was blocked, less two events around nothing. So the
  /// GPU never waits for the host, whose launches are a figure of their own (Timer::host_seconds). The stream is not
  /// blocked for an operation that cannot be captured: that time is the slower of host and GPU. One of very many
  /// launches is replayed as a graph. Executions each follow what `before`, if any, enqueues, untimed.
  std::unique_ptr<Timer> stream_timer(Batch batch, const CapturedExecution& captured, std::function<void()> before);

  std::unique_ptr<Graph> capture(const Batch& batch, std::int64_t executions) {
    return why_no_capture_.empty() ? gpu_.capture(batch, executions) : nullptr;
  }
  CapturedExecution captured(const Batch& batch);

  Gpu& gpu_;
  std::string why_no_capture_;
  KernelOverheads overheads_;
  Lasting<Estimate> bare_launch_seconds_;
  Lasting<double> nothing_seconds_;  ///< events around nothing in a held stream
};

}  // namespace gpubench::bench
