// SPDX-License-Identifier: Apache-2.0
#include "calibrate/gpu/gpu_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>

#include "core/statistics/statistics.h"
#include "gpu/devices.h"
#include "gpu/readings.h"

namespace gpubench::calibrate {
namespace {

void take(Probe& probe, const Reading& reading) {
  probe.values.push_back(reading.value);
  if (reading.clock_hz) probe.clocks.push_back(*reading.clock_hz);
  if (reading.cycles) probe.cycles.push_back(*reading.cycles);
}

/// 95 % interval of the mean of the visits.
Interval over_visits(std::span<const double> values) {
  std::vector<double> visits;
  for (std::size_t i = 0; i < power_visits; ++i) {
    const std::size_t begin = values.size() * i / power_visits, end = values.size() * (i + 1) / power_visits;
    if (begin < end) visits.push_back(statistics::median(values.subspan(begin, end - begin)));
  }
  return statistics::mean_ci95(visits);
}

std::string clock_text(const Probe& probe) {
  if (!probe.enqueue) return "";
  if (probe.clock_readings > 0) return "; clock read in the probe's kernel on all multiprocessors";
  if (2 * probe.clocks_beside > static_cast<int>(probe.clocks.size()))
    return "; clock read on all multiprocessors by a thread beside a repetition of each sample";
  return "; clock read in a kernel right after each sample, so perhaps higher than during it";
}

}  // namespace

const std::uint64_t any_throttle = bench::software_power_cap | bench::hardware_slowdown |
                                   bench::software_thermal_slowdown | bench::hardware_thermal_slowdown |
                                   bench::hardware_power_brake;

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

GpuCalibration::GpuCalibration(const Device& its_device, const CalibrationOptions& its_options)
    : CalibrationContext(its_device, its_options),
      gpu(bench::open_gpu(its_device)),
      stream(gpu->stream()),
      timer(bench::event_timer(*gpu)) {}

void GpuCalibration::attempt(const std::vector<std::string>& resources, const std::function<void()>& part) {
  if (CalibrationContext::attempt(resources, part)) return;
  try {
    gpu->check_launches();
  } catch (const GpuError&) {  // told
  }
}

void GpuCalibration::prepare_probes() {
  if (probes.empty()) {
    const auto before = static_cast<std::ptrdiff_t>(calibration.absent.size());
    add_probes();
    without_probe_.assign(calibration.absent.begin() + before, calibration.absent.end());
    return;
  }
  for (Probe& probe : probes) static_cast<ProbeSamples&>(probe) = {};
  for (const AbsentCeiling& one : without_probe_) absent(one.resource, one.reason);
}

void GpuCalibration::sample_rate(Probe& probe) {
  const double seconds = timer.seconds(probe.enqueue);
  probe.values.push_back(*probe.ceiling.work_per_run / seconds);
  if (probe.clock_readings > 0) {
    probe.clocks.push_back(sm_clock().read(probe.clock_readings));
    return;
  }
  const auto hertz = sm_clock().during(probe.enqueue, seconds, timer);
  if (hertz) ++probe.clocks_beside;
  probe.clocks.push_back(hertz ? *hertz : sm_clock().now());
}

void GpuCalibration::sample(Probe& probe) {
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

Ceiling GpuCalibration::ceiling_of(const Probe& probe) const {
  Ceiling ceiling = probe.ceiling;
  sum_up(ceiling, probe, probe.values, probe.clocks, multiprocessors());
  if (!probe.cycles.empty()) ceiling.cycles = statistics::median(probe.cycles);
  ceiling.temperature_celsius = probe.temperature;
  ceiling.method +=
      fmt::format("; median of {} samples, interval from the smallest to the largest", probe.values.size());
  if (probe.by_power()) {
    const Interval visits = over_visits(probe.values);
    ceiling.ci95 = {std::max(std::min(ceiling.ci95.low, visits.low), 0.0), std::max(ceiling.ci95.high, visits.high)};
    ceiling.method += fmt::format(" and over {} visits apart", power_visits);
  }
  if (probe.rest_seconds > 0.0) ceiling.method += fmt::format(", {:.0f} ms idle before each", 1e3 * probe.rest_seconds);
  ceiling.method += clock_text(probe);
  if (probe.throttled_samples > 0)
    ceiling.caveats.push_back(fmt::format("the driver held the clock back ({}) at the end of {} of {} samples",
                                          bench::throttle_text(probe.throttled), probe.throttled_samples,
                                          probe.values.size()));
  return ceiling;
}

void GpuCalibration::conclude(const Probe& probe) {
  if (!probe.failure.empty())
    absent(probe.ceiling.resource, probe.failure);
  else
    calibration.ceilings.push_back(ceiling_of(probe));
}

void GpuCalibration::measure_now(Ceiling ceiling, std::function<Reading()> measure, int repeats) {
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
