// SPDX-License-Identifier: Apache-2.0
#include "bench/point_runner.h"

#include <benchmark/benchmark.h>
#include <cxxabi.h>
#include <fmt/format.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <new>
#include <random>
#include <system_error>
#include <thread>
#include <typeinfo>

#include "bench/google/google_compatibility.h"
#include "bench/memory/host_memory.h"
#include "bench/memory/page_faults.h"
#include "bench/timing/conditions.h"
#include "bench/timing/host_timer.h"
#include "core/base/load.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

using detail::Declaration;

/// Counters that were set through Google Benchmark, with the values that it would print.
void add_google_counters(const benchmark::State& google, const Summary* seconds, Measurement& measurement) {
  using Flags = benchmark::Counter::Flags;
  const auto iterations = static_cast<double>(google.max_iterations);
  for (const auto& [name, counter] : google.counters) {
    const auto has = [flags = counter.flags](Flags flag) { return (flags & flag) != 0; };
    const bool rate = has(benchmark::Counter::kIsRate);
    double value = counter.value;
    if (has(benchmark::Counter::kIsIterationInvariant)) value *= iterations;
    if (has(benchmark::Counter::kAvgIterations)) value /= iterations;
    if (rate && seconds == nullptr) continue;
    if (rate) value /= iterations * seconds->median;
    if (has(benchmark::Counter::kInvert)) value = 1.0 / value;
    if (!std::isfinite(value)) {
      measurement.absent_counters.push_back(
          {name, fmt::format("the operation set it to {}, which is no figure", value)});
      continue;
    }
    const bool known = contains(measurement.user_counters, name, &UserCounter::name);
    if (!known) measurement.user_counters.push_back({name, value, rate ? "1/s" : ""});
  }
}

/// A device time that cannot be told from nothing is no time.
std::string why_no_time(const Summary& seconds) {
  if (seconds.median > 0.0 && seconds.median_ci95.high > 0.0) return {};
  return fmt::format(
      "it takes no longer than empty kernels in its place (difference {:.1f} ns); is all its work on the stream that "
      "state.measure hands to it?",
      seconds.median * 1e9);
}

/// What a timer gave, but for its samples.
Timing timing_of(const Samples& samples, const Timer& timer) {
  Timing timing;
  timing.clock = timer.clock();
  timing.seconds = samples.summary();
  timing.block_sizes = samples.block_sizes;
  timing.dropped_samples = samples.dropped;
  timing.executions_per_sample = samples.executions_per_sample;
  timing.method = timer.method(samples.executions_per_sample);
  timing.stop_reason = samples.stop_reason;
  return timing;
}

/// What one clock that stands beside the first gave.
Timing timing_beside(TimingMode clock, const DeviceTiming& chosen, const Samples* samples) {
  Timing timing;
  if (samples != nullptr && !samples->failure) {
    timing = timing_of(*samples, *chosen.timer);
    timing.reason = why_no_time(*timing.seconds);
    if (!timing.reason.empty()) timing.seconds.reset();
  } else if (samples != nullptr) {
    try {
      std::rethrow_exception(samples->failure);
    } catch (...) {
      timing.reason = current_exception_text();
    }
  } else {
    timing.reason = chosen.reason;
  }
  timing.clock = clock;
  timing.kernel_overhead_seconds = chosen.kernel_overhead_seconds;
  return timing;
}

/// Sets blocks apart: what the system's scheduler does lasts for milliseconds. A first look cannot wait for its end.
std::function<void()> pause_of(const SamplingOptions& options) {
  return [pause = std::chrono::microseconds(options.brief ? 200 : 1000)] { std::this_thread::sleep_for(pause); };
}

std::unique_ptr<Timer> host_timer(const Declaration& declared, const Batch& batch, const ColdCache* cold) {
  std::function<void()> reset;
  if (declared.reset)
    reset = [&declared, cold] {
      declared.reset(nullptr);
      if (cold != nullptr) cold->prepare();
    };
  return std::make_unique<HostTimer>(
      [calls = declared.calls ? declared.calls : batch](std::int64_t executions) { calls(nullptr, executions); },
      reset);
}

/// Threads of OpenMP spin for milliseconds after what they did before. An operation may have some that never rest.
void let_other_threads_rest() {
  constexpr int looks = 100;
  for (int i = 0; i < looks && other_threads_run(); ++i) std::this_thread::sleep_for(std::chrono::microseconds(500));
}

/// How many threads an operation uses, without the flushes of a cold run, which take all.
std::optional<double> threads_between_flushes(const Declaration& declared, const Batch& batch) {
  constexpr double enough_seconds = 20e-3;
  const auto timer = host_timer(declared, batch, nullptr);
  let_other_threads_rest();
  const LoadReading before = read_load();
  const double end = timer->now() + enough_seconds;
  for (std::int64_t executions = 1; timer->now() < end; executions = std::min(2 * executions, timer->max_executions()))
    (void)timer->time(executions);
  return threads_used(before, read_load());
}

/// What a call takes that does nothing, called as the operation is.
Estimate empty_call_seconds(const Declaration& declared) {
  const auto in_cpp = [](std::int64_t calls) {
    for (std::int64_t i = 0; i < calls; ++i) asm volatile("" : : : "memory");
  };
  HostTimer timer(declared.empty_calls ? declared.empty_calls : in_cpp);
  SamplingOptions few;
  few.brief = true;
  const Summary seconds = statistics::summarize(AdaptiveSampler(few).sample(timer).seconds);
  return {seconds.median, seconds.median_ci95};
}

/// A replay that takes longer than the whole call has other kernels in it: the operation asked whether it was captured.
/// Then what the graph told is not of the operation as it is called.
void drop_what_differs_captured(Measurement& measurement) {
  constexpr double noticeable = 1.3;
  const Summary* const call = seconds_by(measurement, TimingMode::call);
  const Summary* const graph = seconds_by(measurement, TimingMode::graph);
  if (call == nullptr || graph == nullptr || graph->median_ci95.low < noticeable * call->median_ci95.high) return;
  measurement.launches.reset();
  measurement.grid.reset();
  measurement.kernels.clear();
  for (Timing& timing : measurement.timings)
    if (timing.clock == TimingMode::device) {
      timing.seconds.reset();
      timing.reason =
          fmt::format("captured in a CUDA graph it launches other kernels: a replay takes {}, the whole call {}",
                      format_seconds(graph->median), format_seconds(call->median));
    }
}

std::string no_time(TimingMode clock, const std::string& reason) {
  return fmt::format("no time by the clock '{}': {}", name_of(clock), reason);
}

}  // namespace

OpenDevice::OpenDevice(Device device, bool cold) : device_(std::move(device)), cold_(cold) {
  if (const auto reason = why_not_cold(device_); cold_ && reason) throw std::invalid_argument(*reason);
  if (device_.kind == DeviceKind::cpu) return;
  gpu_ = open_gpu(device_);
  timing_ = std::make_unique<GpuTiming>(*gpu_);
}

void OpenDevice::begin(const Declaration& declared) {
  const bool for_stream = declared.device == DeviceKind::gpu;
  if (for_stream && !gpu_)
    throw std::logic_error("state.measure got an operation for a CUDA stream; register it with GPU_BENCHMARK");
  if (!for_stream && gpu_)
    throw std::logic_error("state.measure got an operation without a stream; register it with HOST_BENCHMARK");
  if (declared.reset && declared.reset_device != declared.device)
    throw std::logic_error(for_stream
                               ? "state.reset got a callable without a stream; on a GPU it takes one, as measure does"
                               : "state.reset got a callable for a CUDA stream; on the host it takes nothing");
  if (gpu_) gpu_->settle();
}

void OpenDevice::execute(const Batch& batch) {
  batch(gpu_ ? gpu_->stream() : nullptr, 1);
  if (gpu_) gpu_->synchronize();
}

void OpenDevice::add_conditions(DeviceConditions& conditions) {
  constexpr double valid_seconds = 20e-3;
  const double now = gpu_->now();
  const DeviceConditions* const last = &conditions_.value(now, valid_seconds, [&] { return gpu_->conditions(); });
  if (conditions.readings == 0 || conditions_.is_of(now)) add_reading(conditions, *last);
}

void OpenDevice::add_share(std::chrono::system_clock::time_point since, DeviceConditions& conditions) {
  constexpr double valid_seconds = 0.15;  // NVML takes a sample every sixth of a second or less often
  const DeviceConditions& share = share_.value(gpu_->now(), valid_seconds, [&] {
    DeviceConditions fresh;
    gpu_->add_share(since, fresh);
    return fresh;
  });
  conditions.gpu_share = share.gpu_share;
  conditions.gpu_share_absent_reason = share.gpu_share_absent_reason;
}

void OpenDevice::reset(const Declaration& declared) {
  if (declared.reset) execute([&](Stream stream, std::int64_t) { declared.reset(stream); });
}

void OpenDevice::execute(const Declaration& declared, const Batch& batch) {
  reset(declared);
  execute(batch);
}

std::unique_ptr<ColdCache> OpenDevice::make_cold(Declaration& declared, const Batch& batch) {
  if (!cold_) return nullptr;
  ColdCache::Means means;
  means.bytes = static_cast<double>(device_.last_level_cache_bytes);
  if (declared.reset) means.why_no_rotation = "its inputs are reset before each execution";
  if (!gpu_) {
    means.memory = detail::Memory::host;
    means.cache = "last-level cache";
    means.free_bytes = [] { return static_cast<double>(detail::free_host_bytes()); };
    means.flush = [this] {
      if (!host_flush_) host_flush_.emplace(static_cast<std::size_t>(device_.last_level_cache_bytes));
      (*host_flush_)();
    };
  } else {
    means.memory = detail::Memory::device;
    means.cache = "L2";
    means.free_bytes = [this] { return gpu_->free_bytes(); };
    means.flush = [this] { gpu_->flush_cache(); };
    means.settle = [this, batch](std::int64_t executions) {
      if (executions > 0) batch(gpu_->stream(), executions);
      gpu_->synchronize();
    };
  }
  return std::make_unique<ColdCache>(
      declared.buffers, declared.work, [&] { execute(declared, batch); }, std::move(means));
}

std::string current_exception_text() {
  const auto type = [](const std::type_info& info) { return demangled(info.name()); };
  try {
    throw;
  } catch (const std::exception& error) {
    if (*error.what() != '\0') return error.what();
    return fmt::format("it threw a {} without a message", type(typeid(error)));
  } catch (const char* text) {
    return fmt::format("it threw the text '{}'", text == nullptr ? "" : text);
  } catch (const std::string& text) {
    return fmt::format("it threw the text '{}'", text);
  } catch (...) {
    const std::type_info* const info = abi::__cxa_current_exception_type();
    return fmt::format("it threw a value of type {}; throw a std::exception, whose message is shown here",
                       info == nullptr ? "unknown" : type(*info));
  }
}

/// What an operation may leave otherwise than it was, and the next must not find: it is timed as if it were alone.
class Surroundings {
 public:
  Surroundings() = default;
  Surroundings& operator=(Surroundings&&) = delete;  ///< not copied, not moved
  ~Surroundings() {
    std::filesystem::current_path(folder_, none_);  // the names of outputs are relative to it
    omp_set_num_threads(threads_);
    if (has_cores_) ::sched_setaffinity(0, sizeof cores_, &cores_);
  }

 private:
  std::error_code none_;
  std::filesystem::path folder_ = std::filesystem::current_path(none_);
  int threads_ = omp_get_max_threads();
  cpu_set_t cores_ = {};
  bool has_cores_ = ::sched_getaffinity(0, sizeof cores_, &cores_) == 0;
};

bool verify(const Declaration& declared) {
  if (!declared.check) return false;
  if (const Check check = declared.check(); !check.passed)
    throw WrongResult(check.message.empty() ? "the check did not pass" : check.message);
  return true;
}

void call_operation(const PointCall& call, Measurement& measurement, bool gpu_was_lost,
                    const std::function<void(Declaration&, const Batch&)>& on_measure) {
  constexpr const char* looped =
      "it loops over state.google() itself; leave that loop out, as state.measure repeats the operation, or register "
      "it with BENCHMARK";
  constexpr const char* measured_twice = "the operation called state.measure twice; register two operations instead";
  bool twice = false;
  Declaration declared{&call.google, call.arguments, [&](Declaration& all, const Batch& batch) {
                         twice = std::exchange(all.measured, true);
                         if (twice) throw std::logic_error(measured_twice);
                         if (has_looped(*all.google)) throw std::logic_error(looped);
                         if (all.skipped || has_error(*all.google)) return;  // or it called SkipWithError before
                         on_measure(all, batch);
                       }};
  State state(declared);
  const auto fail = [&](FailureKind kind, const std::string& message) {
    constexpr std::size_t max_message = 4000;
    measurement.failure = Failure{kind, shorten(message, max_message)};
  };
  if (gpu_was_lost) {
    fail(FailureKind::cuda_error,
         "not run: an earlier error made the GPU unusable in this process; --isolate keeps such errors apart");
  } else if (!call.refused.empty()) {
    fail(FailureKind::error, call.refused);
  } else {
    const Surroundings surroundings;
    try {
      call.operation(state);
      if (has_error(call.google))
        fail(FailureKind::error, skipped_by_operation);
      else if (has_looped(call.google))
        fail(FailureKind::error, looped);
      else if (!declared.measured && !declared.skipped)
        fail(FailureKind::error, "the operation returned without calling state.measure");
    } catch (const WrongResult& error) {
      fail(FailureKind::wrong_result, error.what());
    } catch (const OutOfMemory& error) {
      fail(FailureKind::out_of_memory, error.what());
    } catch (const std::bad_alloc&) {
      fail(FailureKind::out_of_memory, "this size does not fit into the host's memory");
    } catch (const GpuError& error) {
      fail(FailureKind::cuda_error, error.what());
    } catch (...) {
      fail(FailureKind::error, current_exception_text());
    }
    if (twice) fail(FailureKind::error, measured_twice);
  }
  measurement.skipped = declared.skipped;
  measurement.work = declared.work_with_footprint();
  if (declared.grid) measurement.grid = declared.grid;
  measurement.label = declared.label;
  measurement.user_counters = std::move(declared.counters);
  measurement.phases = std::move(declared.phases);
  measurement.unoptimized_code = !call.code.optimized;
  if (call.kind == DeviceKind::cpu) measurement.compiled_vectors = call.code.vectors;
}

Measurement run_once(OpenDevice& device, const PointCall& call, const std::string& name, int executions) {
  Measurement measurement;
  call_operation(call, measurement, device.is_lost(), [&](Declaration& declared, const Batch& batch) {
    device.begin(declared);
    for (int i = 0; i < executions; ++i) {
      device.reset(declared);
      const ProfilerRange range(name);
      device.execute(batch);
    }
    (void)verify(declared);
  });
  if (!measurement.failure && !measurement.skipped) measurement.skipped = "run once, not timed";
  return measurement;
}

void fail(Measurement& measurement, FailureKind kind, const std::string& message) {
  measurement.failure = Failure{kind, std::string(message)};
  if (measurement.timings.empty()) return;
  Timing& timing = measurement.timings.front();
  timing.seconds.reset();
  timing.samples_seconds.clear();
  timing.samples_clock_hz.clear();
  timing.block_sizes.clear();
}

OpenDevice::~OpenDevice() {
  if (!is_lost()) return;
  (void)timing_.release();
  (void)gpu_.release();
}

bool PointRunner::asks_for(TimingMode clock) const { return contains(settings_.clocks, clock); }

PointRunner::PointRunner(Device device, Settings settings)
    : PointRunner(std::make_shared<OpenDevice>(std::move(device), settings.cold), std::move(settings)) {}

PointRunner::PointRunner(std::shared_ptr<OpenDevice> device, Settings settings)
    : device_(std::move(device)), settings_(std::move(settings)) {
  const bool as_called = asks_for(TimingMode::call);
  for (const TimingMode clock : {TimingMode::stream, TimingMode::device})
    if (!asks_for(clock) && (as_called || clock == TimingMode::stream)) settings_.clocks.push_back(clock);
}

Measurement PointRunner::run(const PointCall& call) {
  current_ = Measurement{};
  current_.device = device_->device().id;
  current_.cache_state = device_->is_cold() ? "cold" : "warm";
  sampling_ = settings_.sampling;
  if (call.iterations > 1) sampling_.exact_samples = call.iterations;
  sampling_.min_seconds = std::max(sampling_.min_seconds, call.min_seconds);
  sampling_.min_warm_up_seconds = std::max(sampling_.min_warm_up_seconds, call.min_warm_up_seconds);
  const double start = steady_seconds();
  call_operation(call, current_, device_->is_lost(), [&](Declaration& declared, const Batch& batch) {
    current_.set_up_seconds = steady_seconds() - start;
    measure(declared, batch);
  });
  add_google_counters(call.google, current_.seconds() ? &*current_.seconds() : nullptr, current_);
  if (current_.failure) fail(current_, current_.failure->kind, current_.failure->message);
  if (current_.skipped) current_.timings.clear();
  return std::move(current_);
}

void PointRunner::measure(Declaration& declared, const Batch& batch) {
  device_->begin(declared);
  if (declared.fill_inputs && !declared.check)
    throw std::logic_error("state.inputs needs state.verify: nothing else looks at the results");
  if (declared.fill_inputs) declared.fill_inputs(0);
  device_->execute(declared, batch);
  declared.buffers.mark_kept();  // what a check asks for after this is not the operation's
  current_.verified = verify(declared);
  if (device_->gpu() == nullptr)
    time_on_host(declared, batch);
  else
    time_on_gpu(declared, batch);
  if (declared.fill_inputs || settings_.verify_every) verify_after_timing(declared, batch);
  time_variants(declared);
}

/// Not the first, which was timed.
std::int64_t another_set(std::int64_t sets) {
  static std::mt19937_64 random{std::random_device{}()};
  return std::uniform_int_distribution<std::int64_t>(1, sets - 1)(random);
}

void PointRunner::verify_after_timing(const Declaration& declared, const Batch& batch) {
  if (!declared.check) return;
  const std::int64_t sets = std::max<std::int64_t>(declared.input_pool, 1);
  std::int64_t first = 0;
  std::int64_t last = sets - 1;
  if (sets > 1 &&
      !settings_.verify_every)  // one that the operation cannot know, and that is not what it was timed with
    first = last = another_set(sets);
  for (std::int64_t set = last; set >= first; --set) {
    if (declared.fill_inputs) declared.fill_inputs(set);
    device_->execute(declared, batch);
    try {
      (void)verify(declared);
    } catch (const WrongResult& error) {
      const std::string inputs =
          declared.fill_inputs ? fmt::format(" for inputs {} of {}", set, declared.input_pool) : "";
      throw WrongResult(fmt::format("right before timing, wrong after it{}: {}", inputs, error.what()));
    }
  }
}

void PointRunner::add_primary_timing(const Samples& samples, const Timer& timer) {
  Timing& timing = current_.timings.emplace_back(timing_of(samples, timer));
  timing.samples_seconds = samples.seconds;
  timing.samples_clock_hz = samples.clocks_hz;
  if (samples.clocks_hz.empty()) return;
  current_.clock_hz = statistics::median(samples.clocks_hz);
  current_.clock_hz_source = device_->device().kind == DeviceKind::gpu
                                 ? "median over samples, each by the cycle and nanosecond counters of the "
                                   "multiprocessors"
                                 : "median over samples, each by a chain of dependent additions right after it";
}

DeviceTiming PointRunner::timer_for(TimingMode clock, const Declaration& declared, const Batch& batch,
                                    const ColdCache* cold, std::optional<CapturedExecution> captured) {
  Gpu& gpu = *device_->gpu();
  const bool as_called = clock == TimingMode::call && declared.calls;
  TimedExecutions executions{as_called ? declared.calls : batch};
  executions.captured = std::move(captured);
  const bool resets = declared.reset != nullptr;
  if (resets)
    executions.before = [&gpu, &declared, flushes = cold != nullptr] {
      declared.reset(gpu.stream());
      if (flushes) gpu.flush_cache();
    };
  else if (cold != nullptr)
    executions.rotation = &cold->rotation();
  DeviceTiming timing = device_->timing()->timing(clock, std::move(executions));
  if (cold != nullptr && timing.timer)
    timing.timer = std::make_unique<ColdTimer>(std::move(timing.timer), *cold, clock == TimingMode::device || resets);
  return timing;
}

void PointRunner::time_on_gpu(Declaration& declared, const Batch& batch) {
  Gpu& gpu = *device_->gpu();
  const bool as_called = asks_for(TimingMode::call);
  const bool waits = as_called && !declared.reset && device_->timing()->waits_for_gpu(batch);
  device_->timing()->forbid_capture(waits ? "it waits for the GPU before it returns" : "");
  LaunchedKernels launched = device_->timing()->launched_by(batch);
  if (launched.nothing)
    throw std::runtime_error(
        "it enqueued nothing on the stream that state.measure hands to it; launch all its work on that stream");
  current_.launches = launched.launches;
  current_.grid = launched.grid;
  if (launched.only_command) current_.kernels = {*launched.only_command};
  try {
    if (asks_for(TimingMode::device) && !declared.reset && !waits)
      device_->timing()->estimate(batch, launched.captured);
  } catch (const GpuError&) {
    if (device_->is_lost()) throw;  // else the clocks that fail say why
  }
  const auto cold = device_->make_cold(declared, batch);
  const auto& asked = settings_.clocks;
  std::vector<DeviceTiming> chosen;
  for (const TimingMode clock : asked) {
    try {
      chosen.push_back(timer_for(clock, declared, batch, cold.get(), launched.captured));
    } catch (const GpuError& error) {
      // The point keeps its other times, unless the GPU is lost for what comes after.
      if (chosen.empty() || device_->is_lost()) throw;
      chosen.emplace_back().reason = error.what();
    }
    if (!chosen.front().timer) throw GpuError(no_time(clock, chosen.front().reason));
  }
  std::vector<Timer*> timers;
  for (const auto& timing : chosen)
    if (timing.timer) timers.push_back(timing.timer.get());

  DeviceConditions conditions;
  const auto start = std::chrono::system_clock::now();
  auto samples = AdaptiveSampler(sampling_, [&] { device_->add_conditions(conditions); }).sample(timers);
  device_->add_share(start, conditions);
  current_.conditions = std::move(conditions);
  if (samples.front().failure) std::rethrow_exception(samples.front().failure);
  const auto failed = std::ranges::find_if(samples, [](const Samples& each) { return each.failure != nullptr; });
  if (failed != samples.end() && gpu.lost()) std::rethrow_exception(failed->failure);

  for (const auto& each : samples)
    if (!each.host_seconds.empty()) {
      const Summary launches = statistics::summarize(each.host_seconds);
      current_.launch_seconds = Estimate{launches.median, launches.median_ci95};
    }
  if (as_called) current_.bare_launch_seconds = device_->timing()->bare_launch_seconds();
  add_primary_timing(samples.front(), *chosen.front().timer);
  current_.timings.front().kernel_overhead_seconds = chosen.front().kernel_overhead_seconds;
  if (const std::string reason = why_no_time(*current_.seconds()); !reason.empty())
    throw std::runtime_error(no_time(asked.front(), reason));
  if (!current_.clock_hz && current_.conditions->sm_clock_hz) {
    const Interval& read = *current_.conditions->sm_clock_hz;
    current_.clock_hz = 0.5 * (read.low + read.high);
    current_.clock_hz_source = "middle of NVML's readings";
  }
  auto next = samples.begin() + 1;
  for (std::size_t i = 1; i < asked.size(); ++i)
    current_.timings.push_back(timing_beside(asked[i], chosen[i], chosen[i].timer ? &*next++ : nullptr));
  drop_what_differs_captured(current_);
}

void PointRunner::time_on_host(Declaration& declared, const Batch& batch) {
  const auto cold = device_->make_cold(declared, batch);
  std::unique_ptr<Timer> timer = host_timer(declared, batch, cold.get());
  if (cold) timer = std::make_unique<ColdTimer>(std::move(timer), *cold, declared.reset != nullptr);
  let_other_threads_rest();
  const LoadReading before = read_load();
  const Samples samples = AdaptiveSampler(sampling_, pause_of(sampling_)).sample(*timer);
  const LoadReading after = read_load();
  const auto share = core_share(before, after);
  const bool flushes = cold && !cold->rotation().endless;
  const auto threads = flushes ? threads_between_flushes(declared, batch) : threads_used(before, after);
  if (share || threads) {
    current_.conditions.emplace();
    current_.conditions->core_share = share;
    current_.conditions->threads_used = threads;
  }
  current_.empty_call_seconds = empty_call_seconds(declared);
  add_primary_timing(samples, *timer);
  if (!(current_.seconds()->median > 0.0))  // of operations with a reset: less than reading the clock twice
    throw std::runtime_error(no_time(TimingMode::host, "it takes no longer than reading the clock"));
  if (!cold && !declared.reset) current_.page_faults = page_faults_of(*timer, samples.executions_per_sample);
}

void PointRunner::time_variants(const Declaration& declared) {
  const auto sample = [&](const detail::OfferedVariant& offered) {
    const bool on_host = device_->gpu() == nullptr;
    if (offered.device != declared.device)
      throw std::logic_error(on_host ? "a variant for a stream cannot be timed on the host"
                                     : "a variant without a stream cannot be timed on a GPU");
    device_->execute(declared, offered.batch);
    if (on_host)
      return AdaptiveSampler(sampling_, pause_of(sampling_)).sample(*host_timer(declared, offered.batch, nullptr));
    auto timing = timer_for(TimingMode::stream, declared, offered.batch, nullptr);
    if (!timing.timer) throw std::runtime_error(timing.reason);
    return AdaptiveSampler(sampling_, [] {}).sample(*timing.timer);
  };
  for (const auto& offered : declared.variants) {
    Variant variant{offered.kind, offered.remaining_fraction, std::nullopt, ""};
    try {
      if (device_->is_cold()) throw std::runtime_error("variants are not timed with cold caches");
      const auto samples = sample(offered);
      if (samples.failure) std::rethrow_exception(samples.failure);
      variant.seconds = samples.summary();
    } catch (const GpuError&) {
      if (device_->is_lost()) throw;
      variant.reason = "the variant failed on the GPU";
    } catch (...) {
      variant.reason = current_exception_text();
    }
    current_.variants.push_back(std::move(variant));
  }
}

}  // namespace gpubench::bench
