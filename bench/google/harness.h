// SPDX-License-Identifier: Apache-2.0
// Measures operations on one device and collects what it measured.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/clocks/sampler.h"
#include "bench/clocks/timer.h"
#include "bench/google/post_timing_pass.h"
#include "bench/gpu.h"
#include "bench/memory/cold_cache.h"
#include "core/model/device.h"
#include "core/model/measurement.h"
#include "gpubench/benchmark.h"
#include "gpubench/state.h"

namespace gpubench {

/// Google Benchmark calls an operation through a bare function, so the harness in charge is found through a pointer
/// that a Scope sets. Without one (a program that runs Google Benchmark's own main) each point makes a harness of its
/// own.
class Harness {
 public:
  enum class Mode {
    measure,
    discover,  ///< nothing runs: points are only named
    recall,    ///< nothing runs: the chooser knows all points already
    count,     ///< the points that the chooser knows run again for a phase after timing; their times stay
  };

  /// Names the regime of a fresh measurement for Google Benchmark's label; may be empty.
  using Labeller = std::function<std::string(const Measurement&)>;
  /// What becomes of a point: it is measured, or left out of the run, or it is known from before.
  struct Choice {
    bool leave_out = false;
    const Measurement* known = nullptr;
  };
  // Each is called with the point's position among those that bench::discover names for the same filter; that holds as
  // long as Google Benchmark does not interleave repetitions at random. Each may be empty.
  using Chooser = std::function<Choice(std::size_t position)>;
  /// Called before a point is measured.
  using Watcher = std::function<void(std::size_t position)>;
  /// Called after a point was measured, before it has its name. Again for the same position when Google Benchmark asks
  /// for a longer measurement of it, which supersedes the first. In Mode::count after the last round, for all points.
  using Recorder = std::function<void(std::size_t position, const Measurement&)>;

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

  /// The clocks to ask on a GPU: the first is the primary one, whose samples are kept. Verdicts rest on Clock::stream,
  /// so it is asked in any case. On the host there is one clock.
  void set_clocks(std::vector<Clock> clocks);
  /// "warm": executions find what the ones before left in the caches. "cold": they find none of their data there.
  /// Throws std::invalid_argument where that cannot be had (bench::why_not_cold).
  void set_cache_state(const std::string& cache_state);
  void set_labeller(Labeller labeller) { labeller_ = std::move(labeller); }
  void set_chooser(Chooser chooser) { chooser_ = std::move(chooser); }
  void set_watcher(Watcher watcher) { watcher_ = std::move(watcher); }
  void set_recorder(Recorder recorder) { recorder_ = std::move(recorder); }

  /// What Mode::count runs points again for.
  void set_pass(std::unique_ptr<bench::PostTimingPass> phase) { phase_ = std::move(phase); }
  /// How often that phase goes over all points; once in other modes.
  [[nodiscard]] std::size_t rounds() const;
  /// To be called before each round, and after the last.
  void begin_round(std::size_t round);
  void end_rounds();
  /// What that phase tells the run.
  [[nodiscard]] std::vector<std::string> pass_warnings() const;

  /// What the registered function does: runs one point inside Google Benchmark's state.
  static void run_point(benchmark::State& google, DeviceKind kind, const std::function<void(State&)>& operation,
                        GoogleBenchmark* registered);

  /// In Mode::discover: what each of the measurements was registered as.
  [[nodiscard]] const std::vector<GoogleBenchmark*>& registered() const { return registered_; }

  /// Measurements in the order taken; their names are filled in by the reporter that sees them.
  [[nodiscard]] std::vector<Measurement>& measurements() { return measurements_; }
  [[nodiscard]] const Device& device() const { return device_; }
  /// True once an error has left the GPU unusable in this process.
  [[nodiscard]] bool gpu_lost() const { return gpu_ && gpu_->lost(); }
  /// The reporter has seen all repetitions of one set of arguments: the next call is of another point.
  void end_of_instance() { in_instance_ = false; }

  // For State.
  void measure_device(State& state, const bench::DeviceBatch& batch);
  void measure_host(State& state, const std::function<void(std::int64_t)>& batch);
  void skip(std::string reason);

 private:
  std::size_t position_of(const benchmark::State& google);
  void run(benchmark::State& google, DeviceKind kind, const std::function<void(State&)>& operation,
           GoogleBenchmark* registered);
  void execute(benchmark::State& google, const std::function<void(State&)>& operation);
  void hand_over(benchmark::State& google, const Measurement& measurement, std::size_t index) const;
  void count_known(benchmark::State& google, const std::function<void(State&)>& operation, const Measurement& known,
                   std::size_t position);
  void keep_round();
  std::unique_ptr<bench::ColdCache> chill_device(State& state, const bench::DeviceBatch& batch);
  std::unique_ptr<bench::ColdCache> chill_host(State& state, const std::function<void(std::int64_t)>& batch);
  void count_executions(const State& state, const std::function<void()>& once, const bench::ColdCache* cold,
                        const bench::DeviceBatch& batch = {});
  static void run_first(State& state, const std::function<void()>& once);
  void run_once_and_check(State& state, const std::function<void()>& once);
  void measure_variants(const State& state, const std::function<bench::Samples(const State::OfferedVariant&)>& sample);
  void set_primary_timing(bench::Samples samples, const bench::Timer& timer);
  bench::DeviceTiming clock_for(Clock clock, const bench::DeviceBatch& batch, const bench::ColdCache* cold);
  bench::DeviceTiming clock_beside(Clock clock, const bench::DeviceBatch& batch, const bench::ColdCache* cold);

  Device device_;
  bench::SamplingOptions options_;
  Mode mode_;
  std::vector<Clock> clocks_ = {Clock::stream, Clock::device};
  bool cold_ = false;
  std::optional<bench::HostFlush> host_flush_;  // made when first needed
  Labeller labeller_;
  Chooser chooser_;
  Watcher watcher_;
  Recorder recorder_;
  std::size_t next_position_ = 0;
  bool in_instance_ = false;
  std::int64_t last_iterations_ = 0;
  std::unique_ptr<bench::Gpu> gpu_;
  std::unique_ptr<bench::PostTimingPass> phase_;  // ends before the GPU is let go
  std::vector<std::size_t> positions_;            // in Mode::count, of the round's measurements
  std::map<std::size_t, Measurement> gone_over_;  // by position, as the rounds before left them
  std::vector<Measurement> measurements_;
  std::vector<GoogleBenchmark*> registered_;
  Measurement current_;
};

}  // namespace gpubench

namespace gpubench::bench {

/// How a point's index travels through Google Benchmark to the reporter: as a counter, or at the head of an error
/// message.
inline constexpr const char* point_counter = "gpubench_point";
/// Error text that stands for "this operation belongs to another kind of device": reporters drop such runs.
inline constexpr const char* other_device_message = "gpubench: another kind of device";
/// The same for a point that the chooser left out.
inline constexpr const char* left_out_message = "gpubench: left out";
/// "gpubench point 12: message"
std::string tag_message(std::size_t index, const std::string& message);
struct TaggedMessage {
  std::optional<std::size_t> index;
  std::string message;
};
TaggedMessage untag_message(const std::string& text);

}  // namespace gpubench::bench
