// SPDX-License-Identifier: Apache-2.0
// One GPU as the rest of the house sees it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/time.h"
#include "core/model/device.h"
#include "core/model/measurement.h"
#include "gpu/event.h"
#include "gpu/graph.h"
#include "gpubench/error.h"
#include "gpubench/stream.h"

namespace gpubench::bench {

using detail::Batch;

/// What enqueues the tiny kernels before and after work that note its clock, and the clock once all is done.
struct ClockNotes {
  std::function<void()> begin;
  std::function<void()> end;
  std::function<std::optional<double>()> hertz;
};

/// One GPU, selected for this thread, with a stream of its own. All members throw GpuError on an error of the GPU.
class Gpu {
 public:
  explicit Gpu(Device device) : device_(std::move(device)) {}
  virtual ~Gpu() = default;
  Gpu& operator=(Gpu&&) = delete;  ///< not copied, not moved

  [[nodiscard]] const Device& device() const { return device_; }
  /// Selects it for this thread again, which may be another one. False once it is lost: then open it anew.
  [[nodiscard]] virtual bool resume() { return !lost(); }
  /// Until then its stream is no thread's working one.
  virtual void rest() {}
  /// Brings this process to where a program with several streams comes to after some launches: each of its kernels
  /// takes 0.2 us more from then on (docs/results/h200/README.md), so times before and after that would differ.
  virtual void use_several_streams() {}
  [[nodiscard]] virtual Stream stream() const = 0;
  /// Waits for the stream.
  virtual void wait() = 0;
  /// The same, and reports what went wrong on it.
  virtual void synchronize() = 0;
  /// Reports a launch that was refused.
  virtual void check_launches() = 0;
  /// Waits for all streams.
  virtual void wait_for_all() = 0;
  /// Waits for everything on the GPU, other streams and the clearing of freed memory (Scrubbing) included.
  virtual void settle() = 0;
  /// True once an error has left the GPU unusable for the rest of the process.
  virtual bool lost() = 0;
  /// The host's clock, in seconds.
  virtual double now() { return steady_seconds(); }

  [[nodiscard]] virtual std::unique_ptr<Event> event() = 0;
  /// Captures `executions` executions; null when the operation cannot be captured (it synchronises, allocates, or works
  /// on other streams).
  virtual std::unique_ptr<Graph> capture(const Batch& batch, std::int64_t executions) = 0;
  /// Blocks the stream while `enqueue` fills it, or until that throws, so that the work then runs without waiting for
  /// the host. A block ends by itself after a time, or an operation that waits for the GPU would never return.
  virtual void block_while(const std::function<void()>& enqueue) = 0;
  /// After a synchronisation: throws when the last block ended by itself.
  virtual void check_blocked() = 0;
  /// Notes that all who ask for them share, one sample after the other. The first time waits for the stream.
  virtual ClockNotes clock_notes() = 0;

  /// An empty kernel of one block of 32 threads.
  virtual void launch_nothing(Stream stream) = 0;
  /// A kernel of this shape whose threads only wait for so many SM cycles.
  virtual void launch_idle(const LaunchShape& shape, long long cycles, Stream stream) = 0;
  /// By how many cycles the longest waiting warp of such a launch overstays: the median over some launches. Waits.
  virtual double overstay_cycles(const LaunchShape& shape, long long cycles) = 0;
  /// A short kernel that reads a quarter of a megabyte from L2.
  virtual Batch short_reads() = 0;
  /// Enqueues a flush of the L2.
  virtual void flush_cache() = 0;
  /// So many different readings of the GPU's nanosecond counter in a row; 0 for those that did not come.
  virtual std::vector<std::uint64_t> timer_readings(int count) = 0;
  /// Free memory, in bytes.
  virtual double free_bytes() = 0;

  /// One reading by the driver's management library. Never throws for lack of it.
  virtual DeviceConditions conditions() = 0;
  /// The same, each by itself, which is quick: bits as in gpu/readings.h, degrees Celsius and W.
  virtual std::uint64_t throttle() { return 0; }
  virtual std::optional<double> temperature() { return std::nullopt; }
  virtual std::optional<double> power() { return std::nullopt; }
  /// What share of the GPU this process had since a time: DeviceConditions::gpu_share, or why it is not known.
  virtual void add_share(std::chrono::system_clock::time_point since, DeviceConditions& conditions) = 0;

 private:
  Device device_;
};

/// Of the GPU's stream.
inline EventTimer event_timer(Gpu& gpu) { return {gpu.stream(), gpu.event(), gpu.event()}; }

}  // namespace gpubench::bench
