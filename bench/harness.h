// SPDX-License-Identifier: Apache-2.0
// Measures operations on one device and collects what it measured.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/clock.h"
#include "bench/gpu.h"
#include "bench/metrics/counter_phase.h"
#include "bench/sampler.h"
#include "gpubench/device.h"
#include "gpubench/measurement.h"
#include "gpubench/state.h"

namespace gpubench {

/// Google Benchmark calls an operation through a bare function, so the harness in charge is found through a pointer
/// that a Scope sets. Without one (a program that runs Google Benchmark's own main) each point makes a harness of its
/// own.
class Harness {
 public:
  enum class Mode { measure, discover };

  /// Names the regime of a fresh measurement for Google Benchmark's label; may be empty.
  using Labeller = std::function<std::string(const Measurement&)>;
  /// Called before each point with how many points went before it; may be empty.
  using Watcher = std::function<void(std::size_t done)>;

  Harness(Device device, bench::SamplingOptions options, Mode mode = Mode::measure);
  ~Harness();
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  /// While it lives, operations that Google Benchmark calls are measured by this harness.
  class Scope {
   public:
    explicit Scope(Harness& harness);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Harness* previous_;
  };

  /// The clocks to ask on a GPU, of "device", "stream" and "latency": the first gives a measurement's samples, the others
  /// stand beside it. Verdicts rest on "stream", so it is asked in any case. On the host there is one clock.
  void set_clocks(std::vector<std::string> clocks);
  void set_labeller(Labeller labeller) { labeller_ = std::move(labeller); }
  void set_watcher(Watcher watcher) { watcher_ = std::move(watcher); }

  /// Has these metrics (as bench::parse_metrics gives them) counted after the timing of each point. `open` is for
  /// tests.
  void count(std::vector<std::string> metrics, bench::CounterPhase::Opener open = bench::open_metric_source);
  /// Why counters that were asked for are missing, each reason once.
  [[nodiscard]] std::vector<std::string> counter_warnings() const;

  /// What the registered function does: runs one point inside Google Benchmark's state.
  static void run_point(benchmark::State& google, DeviceKind kind, const std::function<void(State&)>& operation);

  /// Measurements in the order taken; their names are filled in by the reporter that sees them.
  [[nodiscard]] std::vector<Measurement>& measurements() { return measurements_; }
  [[nodiscard]] const Device& device() const { return device_; }

  // For State.
  void measure_device(State& state, const bench::DeviceBatch& batch);
  void measure_host(State& state, const std::function<void(std::int64_t)>& batch);
  void skip(std::string reason);

 private:
  void run(benchmark::State& google, DeviceKind kind, const std::function<void(State&)>& operation);
  void execute(benchmark::State& google, const std::function<void(State&)>& operation);
  void hand_over(benchmark::State& google, const Measurement& measurement, std::size_t index) const;
  void run_once_and_check(const State& state, const std::function<void()>& once);
  void set_main_timing(const bench::Samples& samples, const bench::Clock& clock);
  Timing beside(const std::string& question, const bench::DeviceBatch& batch);

  Device device_;
  bench::SamplingOptions options_;
  Mode mode_;
  std::vector<std::string> clocks_ = {"stream", "device"};
  Labeller labeller_;
  Watcher watcher_;
  std::unique_ptr<bench::Gpu> gpu_;
  std::optional<bench::CounterPhase> counters_;  // ends before the GPU is let go
  std::vector<Measurement> measurements_;
  Measurement current_;
};

}  // namespace gpubench

namespace gpubench::bench {

/// How a point's index travels through Google Benchmark to the reporter: as a counter, or at the head of an error
/// message.
inline constexpr const char* point_counter = "gpubench_point";
/// Error text that stands for "this operation belongs to another kind of device": reporters drop such runs.
inline constexpr const char* other_device_message = "gpubench: another kind of device";
/// "gpubench point 12: message"
std::string tag_message(std::size_t index, const std::string& message);
struct TaggedMessage {
  std::optional<std::size_t> index;
  std::string message;
};
TaggedMessage untag_message(const std::string& text);

}  // namespace gpubench::bench
