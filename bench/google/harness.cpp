// SPDX-License-Identifier: Apache-2.0
#include "bench/google/harness.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "bench/clocks/condition_readings.h"
#include "bench/clocks/host_clock.h"
#include "bench/counters/inputs.h"
#include "bench/devices.h"
#include "bench/google/google_compatibility.h"
#include "bench/memory/buffer_copies.h"
#include "core/statistics/statistics.h"

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

std::vector<std::string> Harness::pass_warnings() const {
  return phase_ ? phase_->warnings() : std::vector<std::string>();
}

Harness::Scope::Scope(Harness& harness) : previous_(std::exchange(harness_in_charge(), &harness)) {}
Harness::Scope::~Scope() { harness_in_charge() = previous_; }

void Harness::run_point(benchmark::State& google, DeviceKind kind, const std::function<void(State&)>& operation,
                        GoogleBenchmark* registered) {
  if (Harness* harness = harness_in_charge()) {
    harness->run(google, kind, operation, registered);
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

void Harness::run(benchmark::State& google, DeviceKind kind, const std::function<void(State&)>& operation,
                  GoogleBenchmark* registered) {
  if (kind != device_.kind) {
    bench::skip_with_error(google, bench::other_device_message);
  } else if (mode_ == Mode::discover) {
    measurements_.emplace_back();
    registered_.push_back(registered);
    bench::skip_with_error(google, bench::tag_message(measurements_.size() - 1, "discovered"));
  } else {
    const std::size_t position = position_of(google);
    const Choice choice = chooser_ ? chooser_(position) : Choice{};
    if (choice.known != nullptr && mode_ == Mode::count) {
      if (watcher_) watcher_(position);
      count_known(google, operation, *choice.known, position);
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

std::size_t Harness::rounds() const { return phase_ && mode_ == Mode::count ? phase_->rounds() : 1; }

/// Measurements have their names now.
void Harness::keep_round() {
  for (std::size_t i = 0; i < positions_.size(); ++i)
    gone_over_.insert_or_assign(positions_[i], std::move(measurements_[i]));
  positions_.clear();
  measurements_.clear();
}

void Harness::begin_round(std::size_t round) {
  if (mode_ != Mode::count) return;
  keep_round();
  next_position_ = 0;
  if (phase_) phase_->begin(round);
}

void Harness::end_rounds() {
  if (mode_ != Mode::count) return;
  keep_round();
  for (auto& [position, measurement] : gone_over_) {
    if (phase_) phase_->finish(position, measurement);
    if (recorder_) recorder_(position, measurement);
    measurements_.push_back(std::move(measurement));
  }
  gone_over_.clear();
}

void Harness::count_known(benchmark::State& google, const std::function<void(State&)>& operation,
                          const Measurement& known, std::size_t position) {
  const auto before = gone_over_.find(position);
  current_ = before == gone_over_.end() ? known : before->second;
  current_.name.clear();  // the reporter names it anew
  positions_.push_back(position);
  if (current_.seconds && phase_) {
    State state(google, *this);
    try {
      if (gpu_ && gpu_->lost())
        phase_->give_up(current_, "an earlier error left the GPU unusable in this process");
      else if (const std::string* const reason = phase_->unavailable())
        phase_->give_up(current_, *reason);  // the operation need not even set itself up
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
  current_.cache_state = cold_ ? "cold" : "warm";
  // More than one iteration means that Google Benchmark, not the sampler, decides how often to measure.
  const auto given = options_.exact_samples;
  if (google.max_iterations > 1) options_.exact_samples = static_cast<std::int64_t>(google.max_iterations);

  State state(google, *this);
  const auto fail = [&](FailureKind kind, const std::string& message) { current_.failure = Failure{kind, message}; };
  if (gpu_ && gpu_->lost()) {
    fail(FailureKind::cuda_error,
         "not run: an earlier error made the GPU unusable in this process; --isolate keeps such errors apart");
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
      fail(FailureKind::out_of_memory, "this size does not fit into the host's memory");
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
  if (state.grid()) current_.grid = state.grid();
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

void Harness::set_cache_state(const std::string& cache_state) {
  cold_ = cache_state == "cold";
  if (const auto reason = bench::why_not_cold(device_); cold_ && reason) throw std::invalid_argument(*reason);
}

void Harness::run_first(State& state, const std::function<void()>& once) {
  once();
  state.buffers().mark_kept();  // what a check asks for after this is not the operation's
}

void Harness::run_once_and_check(State& state, const std::function<void()>& once) {
  if (current_.seconds)
    throw std::logic_error("the operation called state.measure twice; register two operations instead");
  run_first(state, once);
  if (state.check()) {
    if (const Check check = state.check()(); !check.passed)
      throw WrongResult(check.message.empty() ? "the check did not pass" : check.message);
    current_.verified = true;
  }
}

std::unique_ptr<bench::ColdCache> Harness::chill_device(State& state, const bench::DeviceBatch& batch) {
  if (!cold_) return nullptr;
  const auto run = [this, &batch](std::int64_t executions) {
    if (executions > 0) batch(gpu_->stream(), executions);
    gpu_->synchronize();
  };
  return std::make_unique<bench::ColdCache>(
      state.buffers(), state.declared_work(), [&run] { run(1); },
      bench::ColdCache::Means{detail::Memory::device, "L2", static_cast<double>(device_.last_level_cache_bytes),
                              [this] { return gpu_->free_bytes(); }, [this] { gpu_->flush_cache(); }, run});
}

std::unique_ptr<bench::ColdCache> Harness::chill_host(State& state, const std::function<void(std::int64_t)>& batch) {
  if (!cold_) return nullptr;
  const auto flush = [this] {
    if (!host_flush_) host_flush_.emplace(static_cast<std::size_t>(device_.last_level_cache_bytes));
    (*host_flush_)();
  };
  return std::make_unique<bench::ColdCache>(
      state.buffers(), state.declared_work(), [&batch] { batch(1); },
      bench::ColdCache::Means{detail::Memory::host,
                              "last-level cache",
                              static_cast<double>(device_.last_level_cache_bytes),
                              [] { return static_cast<double>(detail::free_host_bytes()); },
                              flush,
                              {}});
}

namespace {

/// A device time that cannot be told from nothing is no time.
std::string why_no_time(const Summary& seconds) {
  if (seconds.median > 0.0 && seconds.median_ci95.high > 0.0) return {};
  return fmt::format("it takes no longer than empty kernels in its place (difference {:.1f} ns)", seconds.median * 1e9);
}

/// What one clock that stands beside the first gave.
Timing timing_beside(const std::string& question, const bench::DeviceTiming& chosen, const bench::Samples* samples) {
  Timing timing;
  timing.clock = question;
  timing.reason = chosen.reason;
  timing.kernel_overhead_seconds = chosen.kernel_overhead_seconds;
  if (samples == nullptr) return timing;
  if (samples->failure) {
    try {
      std::rethrow_exception(samples->failure);
    } catch (const std::exception& error) {
      timing.reason = error.what();
    }
    return timing;
  }
  timing.executions_per_sample = samples->executions_per_sample;
  timing.method = chosen.clock->method(samples->executions_per_sample);
  timing.stop_reason = samples->stop_reason;
  timing.blocks = static_cast<std::int64_t>(samples->block_sizes.size());
  timing.dropped_samples = samples->dropped;
  const Summary seconds = samples->summary();
  timing.reason = why_no_time(seconds);
  if (timing.reason.empty()) timing.seconds = seconds;
  return timing;
}

}  // namespace

void Harness::set_main_timing(bench::Samples samples, const bench::Clock& clock) {
  current_.seconds = samples.summary();
  if (!samples.clocks_hz.empty()) {
    current_.clock_hz = statistics::median(samples.clocks_hz);
    current_.clock_hz_source = device_.kind == DeviceKind::cuda
                                   ? "median over samples, each by the cycle and nanosecond counters of the "
                                     "multiprocessors"
                                   : "median over samples, each by a chain of dependent additions right after it";
  }
  current_.samples_seconds = std::move(samples.seconds);
  current_.block_sizes = std::move(samples.block_sizes);
  current_.samples_clock_hz = std::move(samples.clocks_hz);
  current_.dropped_samples = samples.dropped;
  current_.executions_per_sample = samples.executions_per_sample;
  current_.stop_reason = samples.stop_reason;
  current_.clock = std::string(clock.question());
  current_.method = clock.method(samples.executions_per_sample);
}

/// A clock for the question, or null with the reason.
bench::DeviceTiming Harness::clock_for(const std::string& question, const bench::DeviceBatch& batch,
                                       const bench::ColdCache* cold) {
  bench::DeviceTiming timing;
  const bool device = question == "device";
  if (device)
    timing = cold != nullptr ? gpu_->cold_device_timing(batch, cold->turns()) : gpu_->device_timing(batch);
  else
    timing.clock = question == "latency" ? gpu_->latency_clock(batch) : gpu_->stream_clock(batch);
  if (cold != nullptr && timing.clock)
    timing.clock = std::make_unique<bench::ColdClock>(std::move(timing.clock), *cold, device);
  return timing;
}

bench::DeviceTiming Harness::clock_beside(const std::string& question, const bench::DeviceBatch& batch,
                                          const bench::ColdCache* cold) {
  try {
    return clock_for(question, batch, cold);
  } catch (const CudaError& error) {
    // The point keeps its other times, unless the GPU is lost for what comes after.
    if (gpu_->lost()) throw;
    bench::DeviceTiming none;
    none.reason = error.what();
    return none;
  }
}

void Harness::measure_device(State& state, const bench::DeviceBatch& batch) {
  if (!gpu_) throw std::logic_error("state.measure got an operation for a CUDA stream; register it with GPU_BENCHMARK");
  gpu_->settle();
  const auto once = [&] {
    batch(gpu_->stream(), 1);
    gpu_->synchronize();
  };
  if (mode_ == Mode::count) {
    if (cold_) run_first(state, once);
    return count_executions(state, once, chill_device(state, batch).get(), batch);
  }
  run_once_and_check(state, once);
  const bench::LaunchedKernels launched = gpu_->launched_by(batch);
  current_.launches = launched.launches;
  current_.grid = launched.grid;
  const auto cold = chill_device(state, batch);
  std::vector<bench::DeviceTiming> chosen;
  chosen.push_back(clock_for(clocks_.front(), batch, cold.get()));
  if (!chosen.front().clock)
    throw CudaError("no time by the clock '" + clocks_.front() + "': " + chosen.front().reason);
  for (std::size_t i = 1; i < clocks_.size(); ++i) chosen.push_back(clock_beside(clocks_[i], batch, cold.get()));
  std::vector<bench::Clock*> clocks;
  for (const auto& timing : chosen)
    if (timing.clock) clocks.push_back(timing.clock.get());

  DeviceConditions conditions;
  const auto samples =
      bench::AdaptiveSampler(options_, [&] { bench::add_reading(conditions, gpu_->conditions()); }).sample(clocks);
  current_.conditions = std::move(conditions);
  if (samples.front().failure) std::rethrow_exception(samples.front().failure);
  const bool any_failed = std::ranges::any_of(samples, [](const bench::Samples& s) { return s.failure != nullptr; });
  if (any_failed && gpu_->lost())
    for (const auto& each : samples)
      if (each.failure) std::rethrow_exception(each.failure);

  for (const auto& each : samples)
    if (!each.host_seconds.empty()) {
      const Summary launches = statistics::summarize(each.host_seconds);
      current_.launch_seconds = Estimate{launches.median, launches.median_ci95};
    }
  set_main_timing(samples.front(), *chosen.front().clock);
  current_.kernel_overhead_seconds = chosen.front().kernel_overhead_seconds;
  if (const std::string reason = why_no_time(*current_.seconds); !reason.empty())
    throw std::runtime_error("no time by the clock '" + clocks_.front() + "': " + reason);
  if (!current_.clock_hz && current_.conditions->sm_clock_hz) {
    const Interval& read = *current_.conditions->sm_clock_hz;
    current_.clock_hz = 0.5 * (read.low + read.high);
    current_.clock_hz_source = "middle of NVML's readings";
  }
  auto next = samples.begin() + 1;
  for (std::size_t i = 1; i < clocks_.size(); ++i)
    current_.other_clocks.push_back(timing_beside(clocks_[i], chosen[i], chosen[i].clock ? &*next++ : nullptr));
  measure_variants(state, [&](const State::OfferedVariant& variant) {
    if (!variant.device_batch) throw std::logic_error("a variant without a stream cannot be timed on a GPU");
    variant.device_batch(gpu_->stream(), 1);
    gpu_->synchronize();
    auto timing = clock_for("stream", variant.device_batch, nullptr);
    if (!timing.clock) throw std::runtime_error(timing.reason);
    return bench::AdaptiveSampler(options_, [] {}).sample(*timing.clock);
  });
}

void Harness::measure_variants(const State& state,
                               const std::function<bench::Samples(const State::OfferedVariant&)>& sample) {
  for (const auto& offered : state.variants()) {
    Variant variant{offered.perturbation, offered.remaining_fraction, std::nullopt, ""};
    try {
      if (cold_) throw std::runtime_error("variants are not timed with cold caches");
      const auto samples = sample(offered);
      if (samples.failure) std::rethrow_exception(samples.failure);
      variant.seconds = samples.summary();
    } catch (const CudaError&) {
      if (gpu_ && gpu_->lost()) throw;
      variant.reason = "the variant failed on the GPU";
    } catch (const std::exception& error) {
      variant.reason = error.what();
    }
    current_.variants.push_back(std::move(variant));
  }
}

void Harness::measure_host(State& state, const std::function<void(std::int64_t)>& batch) {
  if (gpu_) throw std::logic_error("state.measure got an operation without a stream; register it with HOST_BENCHMARK");
  const auto once = [&] { batch(1); };
  if (mode_ == Mode::count) {
    if (cold_) run_first(state, once);
    return count_executions(state, once, chill_host(state, batch).get());
  }
  run_once_and_check(state, once);
  const auto cold = chill_host(state, batch);
  std::unique_ptr<bench::Clock> clock = std::make_unique<bench::HostClock>(batch);
  if (cold) clock = std::make_unique<bench::ColdClock>(std::move(clock), *cold);
  // The pause sets blocks apart: what the system's scheduler does lasts for milliseconds.
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  set_main_timing(bench::AdaptiveSampler(options_, pause).sample(*clock), *clock);
  measure_variants(state, [&](const State::OfferedVariant& variant) {
    if (!variant.host_batch) throw std::logic_error("a variant for a stream cannot be timed on the host");
    variant.host_batch(1);
    bench::HostClock variant_clock(variant.host_batch);
    return bench::AdaptiveSampler(options_, pause).sample(variant_clock);
  });
}

void Harness::count_executions(const State& state, const std::function<void()>& once, const bench::ColdCache* cold,
                               const bench::DeviceBatch& batch) {
  if (cold != nullptr) {
    // A pass starts from what comes before a sample: its buffers' turn has come, and they are not in the caches.
    const bool in_turns = cold->turns().copies > 0;
    bench::Inputs inputs(in_turns ? std::vector<bench::BufferPlace>() : bench::places_of(state.buffers()));
    const auto prepare = [&] {
      inputs.restore();
      cold->prepare();
    };
    const auto keep_inputs = [&]() -> std::optional<std::string> {
      if (in_turns) return "with cold caches they have copies of its buffers in turns, which are not put back";
      return inputs.keep(once, 1);
    };
    bench::Replay replay = {prepare, once, keep_inputs};
    replay.point = positions_.back();
    phase_->fill(current_, replay);
    return;
  }
  // Timing runs executions back to back, each on what the one before left in memory and caches. So a pass is two
  // executions: one that leaves the caches as timing finds them, and one that is counted. Every pass begins with the
  // same contents, put back before the first of the two, so that the second follows an execution, and not a copy.
  constexpr int executions_a_pass = 2;
  bench::Inputs inputs(bench::places_of(state.buffers()));
  const auto prepare = [&] {
    inputs.restore();
    once();
  };
  bench::Replay replay = {prepare, once, [&] { return inputs.keep(once, executions_a_pass); }};
  replay.point = positions_.back();
  if (batch) {
    replay.chain = [this, &batch](std::int64_t executions) { return gpu_->chain(batch, executions); };
  }
  phase_->fill(current_, replay);
}

void Harness::skip(std::string reason) { current_.skipped = std::move(reason); }

}  // namespace gpubench
