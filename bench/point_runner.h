// SPDX-License-Identifier: Apache-2.0
// Runs one point: set-up, check, clocks, variants, cold caches.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/clocks/sampler.h"
#include "bench/clocks/timer.h"
#include "bench/declaration.h"
#include "bench/gpu.h"
#include "bench/memory/cold_cache.h"
#include "core/model/device.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

/// One call of a registered operation: a point that may be run.
struct PointCall {
  benchmark::State& google;
  const std::function<void(State&)>& operation;
  /// In the order of the point's name; without names where they are not known.
  std::vector<Argument> arguments;
  /// That Google Benchmark asks for; 1 leaves it to the sampler.
  std::int64_t iterations = 1;
  bool unoptimized_code = false;
};

/// A device that is open for measuring, with warm or cold caches.
class OpenDevice {
 public:
  /// Opens a GPU. Throws CudaError; std::invalid_argument where caches cannot be kept cold (bench::why_not_cold).
  OpenDevice(Device device, bool cold);

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] bool is_cold() const { return cold_; }
  /// Null on the host.
  [[nodiscard]] Gpu* gpu() { return gpu_.get(); }
  /// True once an error has left the GPU unusable in this process.
  [[nodiscard]] bool is_lost() { return gpu_ && gpu_->lost(); }

  /// Refuses a batch for another kind of device than this, and a reset for another than its batch.
  void check(const detail::Declaration& declared, bool for_stream) const;
  /// One execution behind its reset, and the wait for its end.
  void execute(const detail::Declaration& declared, const DeviceBatch& device, const HostBatch& host);
  /// One reset, and the wait for its end; nothing where there is none.
  void reset(const detail::Declaration& declared);
  /// What keeps caches cold for an operation that has run before; null where they are to be warm.
  std::unique_ptr<ColdCache> chill(detail::Declaration& declared, const DeviceBatch& device, const HostBatch& host);

 private:
  Device device_;
  bool cold_;
  std::unique_ptr<Gpu> gpu_;
  std::optional<HostFlush> host_flush_;  ///< made when first needed
};

/// A result that the check refused; it ends the point.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Calls the operation's check. Returns whether it has one; throws WrongResult.
bool verify(const detail::Declaration& declared);

/// Calls the operation with a State whose `measure` calls `on_measure`. What it declares, and its failure, go into the
/// measurement.
void call_operation(const PointCall& call, Measurement& measurement, bool gpu_was_lost,
                    const std::function<void(detail::Declaration&, const DeviceBatch&, const HostBatch&)>& on_measure);

/// Runs a point once, in a profiler range of this name, and checks its result. Untimed: the point is marked as skipped
/// unless it fails.
Measurement run_once(OpenDevice& device, const PointCall& call, const std::string& name);

/// Times points.
class PointRunner {
 public:
  struct Settings {
    SamplingOptions sampling = {};
    /// Of a GPU: the first gives a point's time, the others stand beside it. Verdicts need Clock::stream, so it is
    /// always among them.
    std::vector<Clock> clocks = {Clock::stream, Clock::device};
    /// Executions find none of their data in the caches.
    bool cold = false;
  };
  PointRunner(Device device, Settings settings);

  /// What an operation throws becomes the measurement's failure. The name is left empty.
  Measurement run(const PointCall& call);
  [[nodiscard]] bool gpu_lost() { return device_.is_lost(); }

 private:
  void measure(detail::Declaration& declared, const DeviceBatch& device, const HostBatch& host);
  void time_on_gpu(detail::Declaration& declared, const DeviceBatch& batch);
  void time_on_host(detail::Declaration& declared, const HostBatch& batch);
  void time_variants(const detail::Declaration& declared);
  DeviceTiming timer_for(Clock clock, const detail::Declaration& declared, const DeviceBatch& batch,
                         const ColdCache* cold);
  void add_clock_rate(const Samples& samples);

  OpenDevice device_;
  Settings settings_;
  SamplingOptions sampling_;  ///< of the point that runs
  Measurement current_;
};

}  // namespace gpubench::bench
