// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/statistics/statistics.h"

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

}  // namespace

std::vector<bool> throttled(std::span<const double> clocks_hz) {
  constexpr double min_share_of_usual = 0.95;
  std::vector<bool> marks(clocks_hz.size(), false);
  if (clocks_hz.empty()) return marks;
  std::vector<double> sorted(clocks_hz.begin(), clocks_hz.end());
  std::ranges::sort(sorted);
  const double min = min_share_of_usual * statistics::quantile(sorted, 0.75);
  const auto below = static_cast<std::size_t>(std::ranges::lower_bound(sorted, min) - sorted.begin());
  if (2 * below >= clocks_hz.size()) return marks;
  for (std::size_t i = 0; i < marks.size(); ++i) marks[i] = clocks_hz[i] < min;
  return marks;
}

void add_reading(DeviceConditions& sum, const DeviceConditions& reading) {
  sum.readings += reading.readings;
  widen(sum.sm_clock_hz, reading.sm_clock_hz);
  widen(sum.memory_clock_hz, reading.memory_clock_hz);
  widen(sum.power_watts, reading.power_watts);
  widen(sum.temperature_celsius, reading.temperature_celsius);
  for (const std::string& reason : reading.throttle_reasons)
    if (!contains(sum.throttle_reasons, reason)) sum.throttle_reasons.push_back(reason);
  if (sum.absent_reason.empty()) sum.absent_reason = reading.absent_reason;
}

std::vector<std::string> condition_warnings(const std::vector<const Measurement*>& measurements) {
  /// What points have in common.
  struct Tally {
    long long points = 0;
    std::int64_t samples = 0;
    std::optional<Interval> clock_hz, celsius, shares;
    bool of_gpu = false;
  };
  std::map<std::string, Tally> held_by;             // by "cuda:0 and the reason"
  std::map<std::string, Tally> dropped_on, loaded;  // by device
  for (const Measurement* measurement : measurements) {
    const auto& conditions = measurement->conditions;
    if (const auto share = share_under_load(*measurement)) {
      Tally& tally = loaded[measurement->device];
      ++tally.points;
      widen(tally.shares, Interval{*share, *share});
      tally.of_gpu = tally.of_gpu || conditions->gpu_share;
    }
    if (!conditions) continue;
    std::int64_t dropped = 0;
    for (const Timing& timing : measurement->timings) dropped += timing.dropped_samples;
    if (dropped > 0 && !conditions->core_share) {
      Tally& tally = dropped_on[measurement->device];
      ++tally.points;
      tally.samples += dropped;
    }
    for (const std::string& reason : conditions->throttle_reasons) {
      if (reason == power_cap) continue;
      Tally& tally = held_by[fmt::format("The clocks of {} were held down by {}", measurement->device, reason)];
      ++tally.points;
      widen(tally.clock_hz, conditions->sm_clock_hz);
      widen(tally.celsius, conditions->temperature_celsius);
    }
  }
  std::vector<std::string> warnings;
  for (const auto& [what, held] : held_by) {
    std::string text = fmt::format("{} around {}", what, plural(held.points, "point"));
    if (held.clock_hz)
      text += fmt::format(", SM clock {:.0f} to {:.0f} MHz", held.clock_hz->low * 1e-6, held.clock_hz->high * 1e-6);
    if (held.celsius) text += fmt::format(", up to {:.0f} \u00b0C", held.celsius->high);
    warnings.push_back(text + ".");
  }
  for (const auto& [device, of] : loaded) {
    const std::string low = fmt::format("{:.0f}", 100.0 * of.shares->low);
    const std::string high = fmt::format("{:.0f}", 100.0 * of.shares->high);
    warnings.push_back(
        fmt::format("{} on {} {} measured under load: {} had {} % of {}. Measure again when the {} is quiet.",
                    plural(of.points, "point"), device, of.points == 1 ? "was" : "were",
                    of.of_gpu ? "other processes computed on this GPU, and the operation"
                              : "others ran on the cores, and the threads",
                    low == high ? low : fmt::format("{} to {}", low, high), of.of_gpu ? "it" : "them",
                    of.of_gpu ? "GPU" : "machine"));
  }
  for (const auto& [device, dropped] : dropped_on)
    warnings.push_back(
        fmt::format("{} of {} on {} {} dropped, because the clock was more than 5 % below its usual value.",
                    plural(dropped.samples, "sample"), plural(dropped.points, "point"), device,
                    dropped.samples == 1 ? "was" : "were"));
  return warnings;
}

}  // namespace gpubench::bench
