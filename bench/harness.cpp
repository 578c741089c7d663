// SPDX-License-Identifier: Apache-2.0
#include "bench/harness.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "bench/devices.h"
#include "bench/google_compatibility.h"
#include "bench/host_clock.h"
#include "statistics/statistics.h"

namespace gpubench {
namespace {

Harness*& harness_in_charge() {
  static Harness* current = nullptr;
  return current;
}

/// For a program that runs Google Benchmark's own main: the first device of the kind.
Device device_of_kind(DeviceKind kind) {
  if (kind == DeviceKind::cpu) return bench::host_device();
  return bench::choose_devices("cuda:0").front();
}

/// A result that the check refused; it ends the point before timing.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr std::string_view tag_head = "gpubench point ";

}  // namespace

namespace bench {

std::string tag_message(std::size_t index, const std::string& message) {
  return fmt::format("{}{}: {}", tag_head, index, message);
}

TaggedMessage untag_message(const std::string& text) {
  if (!text.starts_with(tag_head)) return {std::nullopt, text};
  std::size_t index = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + tag_head.size(), end, index);
  if (error != std::errc() || !std::string_view(rest, end).starts_with(": ")) return {std::nullopt, text};
  return {index, std::string(rest + 2, end)};
}

}  // namespace bench

Harness::Harness(Device device, bench::SamplingOptions options, Mode mode)
    : device_(std::move(device)), options_(options), mode_(mode) {
  if ((mode_ == Mode::measure || mode_ == Mode::count) && device_.kind == DeviceKind::cuda)
    gpu_ = bench::open_gpu(device_);
}

Harness::~Harness() = default;

std::vector<std::string> Harness::phase_warnings() const {
  return phase_ ? phase_->warnings() : std::vector<std::string>();
}

Harness::Scope::Scope(Harness& harness) : previous_(std::exchange(harness_in_charge(), &harness)) {}
Harness::Scope::~Scope() { harness_in_charge() = previous_; }

void Harness::run_point(benchmark::State& google, DeviceKind kind, const std::function<void(State&)>& operation) {
  if (Harness* harness = harness_in_charge()) {
    harness->run(google, kind, operation);
    return;
  }
  try {
    Harness alone(device_of_kind(kind), {});
    alone.execute(google, operation);
  } catch (const bench::NoSuchDevice& error) {
    bench::skip_with_error(google, error.what());
  }
}

std::size_t Harness::position_of(const benchmark::State& google) {
  // Repetitions follow each other with equal iterations. More of them without a report between means that Google
  // Benchmark found the first repetition too short (an operation with a MinTime of its own) and asks for the same
  // again.
  const bool again = in_instance_ && google.max_iterations > last_iterations_;
  in_instance_ = true;
  last_iterations_ = google.max_iterations;
  if (!again) ++next_position_;
  return next_position_ - 1;
}

void Harness::run(benchmark::State& google, DeviceKind kind, const std::function<void(State&)>& operation) {
  if (kind != device_.kind) {
    bench::skip_with_error(google, bench::other_device_message);
  } else if (mode_ == Mode::discover) {
    measurements_.emplace_back();
    bench::skip_with_error(google, bench::tag_message(measurements_.size() - 1, "discovered"));
  } else {
    const std::size_t position = position_of(google);
    const Choice choice = chooser_ ? chooser_(position) : Choice{};
    if (choice.known != nullptr && mode_ == Mode::count) {
      if (watcher_) watcher_(position);
      count_known(google, operation, *choice.known);
      if (recorder_) recorder_(position, measurements_.back());
    } else if (choice.known != nullptr) {
      measurements_.push_back(*choice.known);
      measurements_.back().name.clear();  // the reporter names it anew, unless a longer one supersedes it
      hand_over(google, measurements_.back(), measurements_.size() - 1);
    } else if (choice.leave_out || mode_ == Mode::recall || mode_ == Mode::count) {
      bench::skip_with_error(google, bench::left_out_message);
    } else {
      if (watcher_) watcher_(position);
      execute(google, operation);
      if (recorder_) recorder_(position, measurements_.back());
    }
  }
}

void Harness::count_known(benchmark::State& google, const std::function<void(State&)>& operation,
                          const Measurement& known) {
  current_ = known;
  current_.name.clear();  // the reporter names it anew
  if (current_.seconds && phase_) {
    State state(google, *this);
    try {
      if (gpu_ && gpu_->lost())
        phase_->give_up(current_, "an earlier error left the GPU unusable in this process");
      else
        operation(state);
    } catch (const std::exception& error) {
      phase_->give_up(current_, error.what());
    }
  }
  measurements_.push_back(std::move(current_));
  hand_over(google, measurements_.back(), measurements_.size() - 1);
}

void Harness::execute(benchmark::State& google, const std::function<void(State&)>& operation) {
  current_ = Measurement{};
  current_.device = device_.id;
  current_.cache_state = "warm";
  // More than one iteration means that Google Benchmark, not the sampler, decides how often to measure.
  const auto given = options_.exact_samples;
  if (google.max_iterations > 1) options_.exact_samples = static_cast<std::int64_t>(google.max_iterations);

  State state(google, *this);
  const auto fail = [&](FailureKind kind, const std::string& message) { current_.failure = Failure{kind, message}; };
  if (gpu_ && gpu_->lost()) {
    fail(FailureKind::cuda_error, "not run: an earlier error left the GPU unusable in this process");
  } else {
    try {
      operation(state);
      if (bench::has_error(google))
        fail(FailureKind::error, "the operation called SkipWithError");
      else if (!current_.seconds && !current_.skipped)
        fail(FailureKind::error, "the operation returned without calling state.measure");
    } catch (const WrongResult& error) {
      fail(FailureKind::wrong_result, error.what());
    } catch (const OutOfMemory& error) {
      fail(FailureKind::out_of_memory, error.what());
    } catch (const std::bad_alloc&) {
      fail(FailureKind::out_of_memory, "the host's memory does not hold this size");
    } catch (const CudaError& error) {
      fail(FailureKind::cuda_error, error.what());
    } catch (const std::exception& error) {
      fail(FailureKind::error, error.what());
    }
  }
  if (current_.failure) {
    current_.seconds.reset();
    current_.samples_seconds.clear();
  }
  options_.exact_samples = given;
  current_.work = state.work();
  measurements_.push_back(std::move(current_));
  hand_over(google, measurements_.back(), measurements_.size() - 1);
}

void Harness::hand_over(benchmark::State& google, const Measurement& measurement, std::size_t index) const {
  if (measurement.failure || measurement.skipped) {
    const std::string& message = measurement.failure ? measurement.failure->message : *measurement.skipped;
    const bool tagged = harness_in_charge() == this;
    bench::skip_with_error(google, tagged ? bench::tag_message(index, message) : message);
    return;
  }
  std::size_t next = 0;
  const bool by_sample = options_.exact_samples || google.max_iterations > 1;
  for (auto iteration : google) {
    (void)iteration;
    const auto& samples = measurement.samples_seconds;
    google.SetIterationTime(by_sample && next < samples.size() ? samples[next] : measurement.seconds->median);
    ++next;
  }
  const double iterations = static_cast<double>(google.iterations());
  if (measurement.work.bytes() > 0.0)
    google.SetBytesProcessed(static_cast<std::int64_t>(measurement.work.bytes() * iterations));
  if (const double flops = measurement.work.total_flops(); flops > 0.0)
    google.counters["FLOP"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
  if (harness_in_charge() == this) google.counters[bench::point_counter] = static_cast<double>(index);
  if (labeller_) google.SetLabel(labeller_(measurement));
}

void Harness::set_clocks(std::vector<std::string> clocks) {
  clocks_ = std::move(clocks);
  if (std::find(clocks_.begin(), clocks_.end(), "stream") == clocks_.end()) clocks_.emplace_back("stream");
}

void Harness::run_once_and_check(const State& state, const std::function<void()>& once) {
  if (current_.seconds)
    throw std::logic_error("the operation called state.measure twice; register two operations instead");
  once();
  if (state.check()) {
    if (const Check check = state.check()(); !check.passed)
      throw WrongResult(check.message.empty() ? "the check did not pass" : check.message);
    current_.verified = true;
  }
}

void Harness::set_main_timing(bench::Samples samples, const bench::Clock& clock) {
  current_.seconds = statistics::summarize(samples.seconds);
  current_.samples_seconds = std::move(samples.seconds);
  current_.executions_per_sample = samples.executions_per_sample;
  current_.stop_reason = samples.stop_reason;
  current_.clock = std::string(clock.question());
  current_.method = clock.method(samples.executions_per_sample);
}

namespace {

/// A clock for the question, or null with the reason.
bench::DeviceTiming clock_for(const std::string& question, const bench::DeviceBatch& batch, bench::Gpu& gpu) {
  if (question == "device") return gpu.device_timing(batch);
  bench::DeviceTiming timing;
  timing.clock = question == "latency" ? gpu.latency_clock(batch) : gpu.stream_clock(batch);
  return timing;
}

/// A device time that cannot be told from nothing is no time.
std::string why_no_time(const Summary& seconds) {
  if (seconds.median > 0.0 && seconds.median_ci95.high > 0.0) return {};
  return fmt::format("it takes no longer than kernels that do nothing in its place (difference {:.1f} ns)",
                     seconds.median * 1e9);
}

}  // namespace

Timing Harness::beside(const std::string& question, const bench::DeviceBatch& batch) {
  Timing timing;
  timing.clock = question;
  try {
    const auto chosen = clock_for(question, batch, *gpu_);
    timing.reason = chosen.reason;
    timing.fixed_seconds = chosen.fixed_seconds;
    if (!chosen.clock) return timing;
    const auto samples = bench::AdaptiveSampler(options_).sample(*chosen.clock);
    timing.executions_per_sample = samples.executions_per_sample;
    timing.method = chosen.clock->method(samples.executions_per_sample);
    timing.stop_reason = samples.stop_reason;
    const auto seconds = statistics::summarize(samples.seconds);
    timing.reason = why_no_time(seconds);
    if (timing.reason.empty()) timing.seconds = seconds;
  } catch (const CudaError& error) {
    // The point keeps the time it has, unless the GPU is lost for what comes after.
    if (gpu_->lost()) throw;
    timing.reason = error.what();
  }
  return timing;
}

void Harness::measure_device(State& state, const bench::DeviceBatch& batch) {
  if (!gpu_) throw std::logic_error("state.measure got an operation for a CUDA stream; register it with GPU_BENCHMARK");
  const auto once = [&] {
    batch(gpu_->stream(), 1);
    gpu_->synchronize();
  };
  if (mode_ == Mode::count) return count_executions(once);
  run_once_and_check(state, once);
  const auto chosen = clock_for(clocks_.front(), batch, *gpu_);
  if (!chosen.clock) throw CudaError("no time by the clock '" + clocks_.front() + "': " + chosen.reason);
  set_main_timing(bench::AdaptiveSampler(options_).sample(*chosen.clock), *chosen.clock);
  current_.fixed_seconds = chosen.fixed_seconds;
  if (const std::string reason = why_no_time(*current_.seconds); !reason.empty())
    throw std::runtime_error("no time by the clock '" + clocks_.front() + "': " + reason);
  current_.clock_hz = gpu_->sm_clock_hz();
  for (std::size_t i = 1; i < clocks_.size(); ++i) current_.other_clocks.push_back(beside(clocks_[i], batch));
}

void Harness::measure_host(State& state, const std::function<void(std::int64_t)>& batch) {
  if (gpu_) throw std::logic_error("state.measure got an operation without a stream; register it with HOST_BENCHMARK");
  const auto once = [&] { batch(1); };
  if (mode_ == Mode::count) return count_executions(once);
  run_once_and_check(state, once);
  bench::HostClock clock(batch);
  set_main_timing(bench::AdaptiveSampler(options_).sample(clock), clock);
}

void Harness::count_executions(const std::function<void()>& once) {
  // Timing runs executions back to back on whatever the one before left in memory and caches. So does this: each pass
  // starts from what one more execution left, and what is counted is what was timed.
  phase_->fill(current_, {once, once});
}

void Harness::skip(std::string reason) { current_.skipped = std::move(reason); }

}  // namespace gpubench
