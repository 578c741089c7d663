// SPDX-License-Identifier: Apache-2.0
#include "core/model/measurement.h"

#include <algorithm>
#include <tuple>

#include "core/model/run.h"

namespace gpubench {

// What the model's headers leave to one source (core/model/compiled_once.h).
GPUBENCH_DEFINE_VALUE(Run)
GPUBENCH_DEFINE_VALUE(Measurement)
GPUBENCH_DEFINE_VALUE(Calibration)
GPUBENCH_DEFINE_VALUE(Program)
GPUBENCH_DEFINE_VALUE(Verdict)

const Timing& Measurement::primary() const {
  static const Timing none;
  return timings.empty() ? none : timings.front();
}

Timing& Measurement::make_primary() { return timings.empty() ? timings.emplace_back() : timings.front(); }

std::string value_text(const Argument& argument) {
  return argument.text ? *argument.text : std::to_string(argument.value);
}

std::optional<double> share_under_load(const Measurement& measurement) {
  if (!measurement.conditions) return std::nullopt;
  const auto& [cores, gpu] = std::tie(measurement.conditions->core_share, measurement.conditions->gpu_share);
  const double share = std::min(cores.value_or(1.0), gpu.value_or(1.0));
  return share < min_core_share ? std::optional(share) : std::nullopt;
}

bool uses_one_thread(const Measurement& measurement) {
  constexpr double one = 1.1;  // what else a process does now and then is no second thread
  return measurement.conditions && measurement.conditions->threads_used && *measurement.conditions->threads_used <= one;
}

std::string_view what_it_shared(const Measurement& measurement) {
  return measurement.conditions && measurement.conditions->gpu_share ? "its GPU" : "its cores";
}

std::string_view primary_clock_name(const Measurement& measurement) {
  return measurement.timings.empty() ? std::string_view() : name_of(measurement.timings.front().clock);
}

const Timing* timing_by(const Measurement& measurement, TimingMode clock) {
  for (const Timing& timing : measurement.timings)
    if (timing.clock == clock) return &timing;
  return nullptr;
}

const Summary* seconds_by(const Measurement& measurement, TimingMode clock) {
  const Timing* const timing = timing_by(measurement, clock);
  return timing != nullptr && timing->seconds ? &*timing->seconds : nullptr;
}

std::optional<double> counter(const Measurement& measurement, std::string_view name) {
  for (const Counter& each : measurement.counters)
    if (each.name == name && each.value >= 0.0 && each.value <= max_figure) return each.value;
  return std::nullopt;
}

const Estimate* kernel_overhead_of(const Measurement& measurement) {
  const Timing* const timing = timing_by(measurement, TimingMode::device);
  return timing != nullptr && timing->kernel_overhead_seconds ? &*timing->kernel_overhead_seconds : nullptr;
}

}  // namespace gpubench
