// SPDX-License-Identifier: Apache-2.0
// Timing points: calls of registered operations.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/declaration.h"
#include "bench/memory/cold_cache.h"
#include "bench/timing/gpu_timing.h"
#include "bench/timing/sampler.h"
#include "core/model/device.h"
#include "gpu/devices.h"
#include "gpubench/benchmark.h"

namespace gpubench::bench {

/// One call of a registered operation: a point that may be run.
struct PointCall {
  benchmark::State& google;
  const std::function<void(State&)>& operation;
  /// In the order of the point's name; without names where they are not known.
  std::vector<Argument> arguments;
  DeviceKind kind = DeviceKind::cpu;
  /// That the operation was registered with; 1 leaves it to the sampler.
  std::int64_t iterations = 1;
  double min_seconds = 0.0;          ///< sampling takes at least this long
  double min_warm_up_seconds = 0.0;  ///< so does what comes before it
  Code code = {};
  std::string refused = {};  ///< why this point cannot be measured, as it was registered
};

/// The failure of a point whose operation called SkipWithError and gave a message to Google Benchmark alone.
inline constexpr const char* skipped_by_operation = "the operation called SkipWithError";

/// A device that is open for measuring, with warm or cold caches.
class OpenDevice {
 public:
  /// Opens a GPU. Throws GpuError; std::invalid_argument where caches cannot be kept cold (bench::why_not_cold).
  OpenDevice(Device device, bool cold);
  /// A GPU that is lost keeps its handles: they may be of a context that is gone.
  ~OpenDevice();
  OpenDevice& operator=(OpenDevice&&) = delete;  ///< not copied, not moved

  /// Makes it this thread's again, between `rest` and the next one. False where it cannot be used any more.
  [[nodiscard]] bool resume() { return !gpu_ || resume_gpu(*gpu_); }
  void rest() {
    if (gpu_) gpu_->rest();
  }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] bool is_cold() const { return cold_; }
  /// Null on the host.
  [[nodiscard]] Gpu* gpu() { return gpu_.get(); }
  /// Null on the host.
  [[nodiscard]] GpuTiming* timing() { return timing_.get(); }
  /// True once an error has left the GPU unusable in this process.
  [[nodiscard]] bool is_lost() { return gpu_ && gpu_->lost(); }

  /// Waits for all that is under way, and refuses a batch for another kind of device than this, and a reset for another
  /// than its batch.
  void begin(const detail::Declaration& declared);
  /// One execution, and the wait for its end.
  void execute(const Batch& batch);
  /// The same behind its reset.
  void execute(const detail::Declaration& declared, const Batch& batch);
  /// One reset, and the wait for its end; nothing where there is none.
  void reset(const detail::Declaration& declared);
  /// Adds a reading of a GPU's conditions, at most once in 20 ms: the driver takes milliseconds for a new one. The
  /// first may be as old.
  void add_conditions(DeviceConditions& conditions);
  /// As Gpu::add_share, of a short while ago where it was asked for then.
  void add_share(std::chrono::system_clock::time_point since, DeviceConditions& conditions);
  /// What keeps caches cold for an operation that has run before; null where they are to be warm.
  std::unique_ptr<ColdCache> make_cold(detail::Declaration& declared, const Batch& batch);

 private:
  Device device_;
  bool cold_;
  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<GpuTiming> timing_;
  std::optional<HostFlush> host_flush_;  ///< made when first needed
  Lasting<DeviceConditions> conditions_;
  Lasting<DeviceConditions> share_;
};

/// A result that the check refused; it ends the point.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Calls the operation's check. Returns whether it has one; throws WrongResult.
bool verify(const detail::Declaration& declared);

/// What an exception that is being handled says of itself, whatever its type.
std::string current_exception_text();

/// Calls the operation with a State whose `measure` calls `on_measure`. What it declares, and its failure, go into the
/// measurement.
void call_operation(const PointCall& call, Measurement& measurement, bool gpu_was_lost,
                    const std::function<void(detail::Declaration&, const Batch&)>& on_measure);

/// Notes a failure; a point that failed has no time.
void fail(Measurement& measurement, FailureKind kind, const std::string& message);

/// Runs a point once or several times, each in a profiler range of this name, and checks its result. Untimed: the point
/// is marked as skipped unless it fails.
Measurement run_once(OpenDevice& device, const PointCall& call, const std::string& name, int executions);

struct RunnerSettings {
  SamplingOptions sampling = {};
  /// Of a GPU: the first gives a point's time, the others stand beside it. Verdicts need TimingMode::stream, so it is
  /// always among them; those of calls need TimingMode::device as well.
  std::vector<TimingMode> clocks = {TimingMode::stream, TimingMode::device};
  /// Executions find none of their data in the caches.
  bool cold = false;
  /// Results are checked after timing too, for each set of inputs.
  bool verify_every = false;
};

/// Times points.
class PointRunner {
 public:
  using Settings = RunnerSettings;
  PointRunner(Device device, Settings settings);
  /// On one that is open, and may have been so for earlier points; as cold as that.
  PointRunner(std::shared_ptr<OpenDevice> device, Settings settings);

  /// What an operation throws becomes the measurement's failure. The name is left empty.
  Measurement run(const PointCall& call);
  [[nodiscard]] bool gpu_lost() { return device_->is_lost(); }

 private:
  void measure(detail::Declaration& declared, const Batch& batch);
  void time_on_gpu(detail::Declaration& declared, const Batch& batch);
  void time_on_host(detail::Declaration& declared, const Batch& batch);
  void time_variants(const detail::Declaration& declared);
  /// Checks again what the operation gives after it was timed. Throws WrongResult.
  void verify_after_timing(const detail::Declaration& declared, const Batch& batch);
  /// `captured`: one execution of `batch`, where that was captured before.
  DeviceTiming timer_for(TimingMode clock, const detail::Declaration& declared, const Batch& batch,
                         const ColdCache* cold, std::optional<CapturedExecution> captured = std::nullopt);
  [[nodiscard]] bool asks_for(TimingMode clock) const;
  /// Of the first clock, with its samples and the clock rate that they saw.
  void add_primary_timing(const Samples& samples, const Timer& timer);

  std::shared_ptr<OpenDevice> device_;
  Settings settings_;
  SamplingOptions sampling_;  ///< of the point that runs
  Measurement current_;
};

}  // namespace gpubench::bench
