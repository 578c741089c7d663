// SPDX-License-Identifier: Apache-2.0
#include "calibrate/cuda/calibration_context.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "core/base/text.h"
#include "core/base/time.h"
#include "core/statistics/statistics.h"
#include "gpu/devices.h"
#include "gpu/readings.h"

namespace gpubench::calibrate {
namespace {

constexpr std::uint64_t clock_nanoseconds = 200'000;
constexpr double max_seconds_beside = 2e-3;
constexpr std::uint64_t any_throttle = bench::software_power_cap | bench::hardware_slowdown |
                                       bench::software_thermal_slowdown | bench::hardware_thermal_slowdown |
                                       bench::hardware_power_brake;

void take(Probe& probe, const Reading& reading) {
  probe.values.push_back(reading.value);
  if (reading.clock_hz) probe.clocks.push_back(*reading.clock_hz);
  if (reading.cycles) probe.cycles.push_back(*reading.cycles);
}

std::string clock_text(const Probe& probe) {
  if (!probe.enqueue) return "";
  if (probe.clock_readings > 0) return "; clock read in the probe's kernel on all multiprocessors";
  if (2 * probe.clocks_beside > static_cast<int>(probe.clocks.size()))
    return "; clock read on all multiprocessors by a thread beside a repetition of each sample";
  return "; clock read in a kernel right after each sample, so perhaps higher than during it";
}

/// Value, interval, clock and what follows from them. The interval goes from the smallest to the largest sample: of
/// nine that is the median's with 99.6 %. One of 95 % would be too narrow, because processes differ, too.
void sum_up(Ceiling& ceiling, const Probe& probe, const std::vector<double>& values, const std::vector<double>& clocks,
            int multiprocessors) {
  ceiling.value = statistics::median(values);
  const auto [min, max] = std::ranges::minmax(values);
  ceiling.ci95 = {min, max};
  ceiling.repeats = static_cast<int>(values.size());
  if (const double hertz = clocks.empty() ? 0.0 : statistics::median(clocks); hertz > 0.0) ceiling.clock_hz = hertz;
  ceiling.theoretical_limit = probe.limit;
  if (!ceiling.clock_hz || ceiling.unit == "s") return;
  const double all_clocks = *ceiling.clock_hz * multiprocessors;
  if (probe.limit_for_clock) ceiling.theoretical_limit = *probe.limit_for_clock * all_clocks;
  // Of what lies outside the multiprocessors it would be no property.
  if (probe.limit_for_clock || ceiling.group == CeilingGroup::compute || ceiling.group == CeilingGroup::atomics)
    ceiling.rate_per_clock = ceiling.value / all_clocks;
}

constexpr double trial_seconds = 1e-3;

/// 9 and 0 of "sm_90".
int capability_of(const Device& device) {
  return number_in<int>(
             std::string_view(device.architecture).substr(std::min<std::size_t>(3, device.architecture.size())))
      .value_or(0);
}

}  // namespace

ProbeClock::ProbeClock(bench::Gpu& gpu)
    : gpu_(gpu), readings_(static_cast<std::size_t>(gpu.device().units * probes::max_blocks)) {}

std::vector<probes::ClockReading> ProbeClock::last(int count) {
  std::vector<probes::ClockReading> readings(static_cast<std::size_t>(count));
  gpu_.wait();
  detail::copy_from_device(readings.data(), readings_.data(), readings.size() * sizeof(probes::ClockReading));
  return readings;
}

double ProbeClock::now() {
  probes::launch_clock(clock_nanoseconds, gpu_.device().units, readings_.data(), gpu_.stream());
  return read(gpu_.device().units);
}

std::optional<double> ProbeClock::during(const std::function<void()>& enqueue, double seconds,
                                         bench::EventTimer& timer) {
  const double beside = std::min(0.4 * seconds, max_seconds_beside);
  const int multiprocessors = gpu_.device().units;
  probes::launch_clock(static_cast<std::uint64_t>(1e9 * beside), multiprocessors, readings_.data(), side_.get());
  const double together = timer.seconds(enqueue);
  probes::wait_for_gpu();
  if (together > seconds + 0.5 * beside) return std::nullopt;  // it had to wait for the readers to end
  return read(multiprocessors);
}

Reading reading_over(const probes::ClockReading& passed, int count) {
  Reading reading;
  reading.value = 1e-9 * static_cast<double>(passed.nanoseconds) / count;
  reading.cycles = static_cast<double>(passed.cycles) / count;
  if (passed.nanoseconds > 0) reading.clock_hz = probes::mean_hertz({&passed, 1});
  return reading;
}

void SustainedLoad::visit(GpuCalibrationContext& bench, double share) try {
  const double seconds = share * probe_->sustained_seconds;
  const double start = steady_seconds();
  const double half = start + 0.5 * seconds;
  const std::size_t before = rates_.size();
  const std::size_t clocks_before = clocks_.size();
  double took = 0.0;
  while (rates_.size() < before + 3 || steady_seconds() < start + seconds) {
    const bool settled = steady_seconds() > half;
    took = bench.timer.seconds(probe_->enqueue);
    if (!settled) continue;
    rates_.push_back(*probe_->ceiling.work_per_run / took);
    if (probe_->clock_readings > 0) clocks_.push_back(bench.clock.read(probe_->clock_readings));
    throttled_ |= bench.gpu->throttle() & any_throttle;
  }
  rates_of_visits_.push_back(static_cast<std::int64_t>(rates_.size() - before));
  if (clocks_.size() == clocks_before)
    if (const auto beside = bench.clock.during(probe_->enqueue, took, bench.timer)) clocks_.push_back(*beside);
  // While the last repetition runs: idle, the board falls to a fraction of it.
  probe_->enqueue();
  power_ = bench.gpu->power();
  temperature_ = bench.gpu->temperature();
  bench.gpu->wait();
  seconds_ += seconds;
} catch (const GpuError& error) {
  failure_ = error.what();
}

Ceiling SustainedLoad::ceiling(int multiprocessors) const {
  Ceiling ceiling = probe_->ceiling;
  ceiling.resource = resource();
  ceiling.load = Load::sustained;
  sum_up(ceiling, *probe_, rates_, clocks_, multiprocessors);
  const std::size_t visits = rates_of_visits_.size();
  ceiling.ci95 = statistics::median_ci95(rates_, rates_of_visits_);
  ceiling.power_watts = power_;
  ceiling.temperature_celsius = temperature_;
  const std::string apart = visits > 1 ? fmt::format(" in {} visits apart", visits) : "";
  ceiling.method += fmt::format("; without rest, median of the {} samples in the second half of {}{}", rates_.size(),
                                format_seconds(seconds_, 2), apart);
  if (throttled_ != 0)
    ceiling.caveats.push_back(fmt::format("the driver held the clock back ({})", bench::throttle_text(throttled_)));
  return ceiling;
}

GpuCalibrationContext::GpuCalibrationContext(const Device& its_device, const CalibrationOptions& its_options)
    : CalibrationContext(its_device, its_options),
      index(number_in<int>(std::string_view(its_device.id).substr(gpu_prefix.size())).value_or(0)),
      major(capability_of(its_device) / 10),
      minor(capability_of(its_device) % 10),
      gpu(bench::open_gpu(its_device)),
      stream(gpu->stream()),
      timer(bench::event_timer(*gpu)),
      clock(*gpu),
      sink(2) {}

void GpuCalibrationContext::attempt(const std::vector<std::string>& resources, const std::function<void()>& part) {
  if (CalibrationContext::attempt(resources, part)) return;
  try {
    gpu->check_launches();
  } catch (const GpuError&) {  // told
  }
}

std::byte* GpuCalibrationContext::keep(std::size_t bytes) { return kept_.emplace_back(bytes).data(); }

GpuCalibrationContext::Sized GpuCalibrationContext::sized(const LoopKernel& kernel, double seconds) {
  Sized result;
  const auto run = [&] { result.seconds = timer.seconds([&] { result.launched = kernel(loops(result.loops)); }); };
  run();  // loads the kernel, too
  run();
  while (result.seconds < 0.5 * seconds && result.loops < std::int64_t{1} << 40) {
    const double more = std::clamp(seconds / std::max(result.seconds, 1e-6), 1.1, 1000.0);
    result.loops = static_cast<std::int64_t>(std::ceil(static_cast<double>(result.loops) * more));
    run();
  }
  return result;
}

void GpuCalibrationContext::add_loops(Probe probe, const LoopKernel& kernel, double seconds) {
  const Sized size = sized(kernel, seconds);
  probe.ceiling.work_per_run = size.launched.work;
  probe.clock_readings = size.launched.clock_readings;
  probe.enqueue = [this, kernel, count = size.loops] { (void)kernel(loops(count)); };
  probes.push_back(std::move(probe));
}

double GpuCalibrationContext::rate(const LoopKernel& kernel) {
  const Sized size = sized(kernel, trial_seconds);
  return size.launched.work / size.seconds;
}

std::size_t GpuCalibrationContext::fastest(std::size_t count, const std::function<double(std::size_t)>& rate) {
  std::optional<GpuError> failure;
  std::optional<std::size_t> best;
  double best_rate = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      if (const double found = rate(i); found > best_rate) {
        best_rate = found;
        best = i;
      }
    } catch (const GpuError& error) {
      if (!failure) failure = error;
    }
  }
  if (best) return *best;
  throw failure.value_or(GpuError("there is no kernel to try"));
}

void GpuCalibrationContext::sample_rate(Probe& probe) {
  const double seconds = timer.seconds(probe.enqueue);
  probe.values.push_back(*probe.ceiling.work_per_run / seconds);
  if (probe.clock_readings > 0) {
    probe.clocks.push_back(clock.read(probe.clock_readings));
    return;
  }
  const auto hertz = clock.during(probe.enqueue, seconds, timer);
  if (hertz) ++probe.clocks_beside;
  probe.clocks.push_back(hertz ? *hertz : clock.now());
}

void GpuCalibrationContext::sample(Probe& probe) {
  if (!probe.failure.empty()) return;
  try {
    std::this_thread::sleep_for(std::chrono::duration<double>(probe.rest_seconds));
    if (probe.enqueue)
      sample_rate(probe);
    else
      take(probe, probe.measure());
  } catch (const std::runtime_error& error) {  // GpuError, OutOfMemory
    probe.failure = error.what();
    return;
  }
  const auto reasons = gpu->throttle() & any_throttle;
  if (reasons != 0) ++probe.throttled_samples;
  probe.throttled |= reasons;
  probe.temperature = gpu->temperature();
}

Ceiling GpuCalibrationContext::ceiling_of(const Probe& probe) const {
  Ceiling ceiling = probe.ceiling;
  sum_up(ceiling, probe, probe.values, probe.clocks, multiprocessors());
  if (!probe.cycles.empty()) ceiling.cycles = statistics::median(probe.cycles);
  ceiling.temperature_celsius = probe.temperature;
  ceiling.method +=
      fmt::format("; median of {} samples, interval from the smallest to the largest", probe.values.size());
  if (probe.rest_seconds > 0.0) ceiling.method += fmt::format(", {:.0f} ms idle before each", 1e3 * probe.rest_seconds);
  ceiling.method += clock_text(probe);
  if (probe.throttled_samples > 0)
    ceiling.caveats.push_back(fmt::format("the driver held the clock back ({}) at the end of {} of {} samples",
                                          bench::throttle_text(probe.throttled), probe.throttled_samples,
                                          probe.values.size()));
  return ceiling;
}

void GpuCalibrationContext::conclude(const Probe& probe) {
  if (!probe.failure.empty())
    absent(probe.ceiling.resource, probe.failure);
  else
    calibration.ceilings.push_back(ceiling_of(probe));
}

void GpuCalibrationContext::measure_now(Ceiling ceiling, std::function<Reading()> measure, int repeats) {
  Probe probe;
  probe.ceiling = std::move(ceiling);
  probe.measure = std::move(measure);
  const std::string resource = probe.ceiling.resource;
  attempt({resource}, [&] {
    for (int i = 0; i < repeats; ++i) sample(probe);
    conclude(probe);
  });
}

}  // namespace gpubench::calibrate
