// SPDX-License-Identifier: Apache-2.0
#include "bench/clocks/condition_readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace gpubench::bench {
namespace {

void widen(std::optional<Interval>& sum, const std::optional<Interval>& reading) {
  if (!reading) return;
  if (!sum)
    sum = reading;
  else
    sum = Interval{std::min(sum->low, reading->low), std::max(sum->high, reading->high)};
}

constexpr const char* power_cap = "power cap";

std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

void add_reading(DeviceConditions& sum, const DeviceConditions& reading) {
  sum.readings += reading.readings;
  widen(sum.sm_clock_hz, reading.sm_clock_hz);
  widen(sum.memory_clock_hz, reading.memory_clock_hz);
  widen(sum.power_watts, reading.power_watts);
  widen(sum.temperature_celsius, reading.temperature_celsius);
  for (const std::string& reason : reading.throttle_reasons)
    if (std::ranges::find(sum.throttle_reasons, reason) == sum.throttle_reasons.end())
      sum.throttle_reasons.push_back(reason);
  if (sum.absent_reason.empty()) sum.absent_reason = reading.absent_reason;
}

std::vector<std::string> condition_warnings(const std::vector<const Measurement*>& measurements) {
  struct Held {
    std::size_t points = 0;
    std::optional<Interval> clock_hz;
    std::optional<Interval> celsius;
  };
  std::map<std::string, Held> held_by;  // by "cuda:0 and the reason"
  struct Dropped {
    std::int64_t samples = 0;
    std::size_t points = 0;
  };
  std::map<std::string, Dropped> dropped_on;
  for (const Measurement* measurement : measurements) {
    std::int64_t dropped = 0;
    for (const Timing& timing : measurement->timings) dropped += timing.dropped_samples;
    if (dropped > 0 && measurement->conditions) {
      Dropped& entry = dropped_on[measurement->device];
      entry.samples += dropped;
      ++entry.points;
    }
    if (!measurement->conditions) continue;
    for (const std::string& reason : measurement->conditions->throttle_reasons) {
      if (reason == power_cap) continue;
      Held& held = held_by[fmt::format("The clocks of {} were held down by {}", measurement->device, reason)];
      ++held.points;
      widen(held.clock_hz, measurement->conditions->sm_clock_hz);
      widen(held.celsius, measurement->conditions->temperature_celsius);
    }
  }
  std::vector<std::string> warnings;
  for (const auto& [what, held] : held_by) {
    std::string text = fmt::format("{} around {}", what, counted(static_cast<std::int64_t>(held.points), "point"));
    if (held.clock_hz)
      text += fmt::format(", SM clock {:.0f} to {:.0f} MHz", held.clock_hz->low * 1e-6, held.clock_hz->high * 1e-6);
    if (held.celsius) text += fmt::format(", up to {:.0f} \u00b0C", held.celsius->high);
    warnings.push_back(text + ".");
  }
  for (const auto& [device, dropped] : dropped_on)
    warnings.push_back(
        fmt::format("{} of {} on {} {} dropped, because the clock was more than 5 % below its usual value.",
                    counted(dropped.samples, "sample"), counted(static_cast<std::int64_t>(dropped.points), "point"),
                    device, dropped.samples == 1 ? "was" : "were"));
  return warnings;
}

}  // namespace gpubench::bench
