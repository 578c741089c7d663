// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/units.h"
#include "core/statistics/statistics.h"
#include "profile/verdicts.h"

namespace gpubench::profile {
namespace {

std::vector<double> thinned(const std::vector<std::int64_t>& durations) {
  const std::size_t step = std::max<std::size_t>((durations.size() + max_samples - 1) / max_samples, 1);
  std::vector<double> seconds;
  for (std::size_t i = 0; i < durations.size(); i += step) seconds.push_back(seconds_of(durations[i]));
  return seconds;
}

Summary moved(const Summary& summary, double by) {
  Summary result = summary;
  for (double* const value : {&result.minimum, &result.lower_quartile, &result.median, &result.upper_quartile,
                              &result.maximum, &result.mean, &result.median_ci95.low, &result.median_ci95.high})
    *value += by;
  return result;
}

}  // namespace

std::optional<FixedCosts> fixed_costs_of(const Calibration& calibration) {
  const Ceiling* const node = calibration.find("graph-node");
  const Ceiling* const launch = calibration.find("launch");
  if (node == nullptr || launch == nullptr) return std::nullopt;
  return FixedCosts{node->value, launch->value};
}

std::vector<Timing> timings_of(const RecordedTimes& times, const std::optional<FixedCosts>& costs) {
  Timing device;
  device.clock = TimingMode::device;
  device.stop_reason = StopReason::count;
  device.executions_per_sample = 1;
  device.method = times.method;
  device.samples_seconds = thinned(times.durations_ns);
  device.block_sizes = {static_cast<std::int64_t>(device.samples_seconds.size())};
  device.seconds = statistics::summarize(device.samples_seconds);
  if (!costs || times.launches == 0) {
    if (times.kernels > 0) device.method += ", with the kernel overhead in them: the calibration has no graph-node";
    // What a stream takes for it is at least what its record says.
    Timing stream = device;
    stream.clock = TimingMode::stream;
    stream.samples_seconds.clear();
    stream.block_sizes.clear();
    return {std::move(device), std::move(stream)};
  }
  const double overhead =
      std::min(costs->record_seconds * static_cast<double>(times.kernels), device.seconds->median - min_seconds);
  for (double& seconds : device.samples_seconds) seconds = std::max(seconds - overhead, min_seconds);
  device.seconds = statistics::summarize(device.samples_seconds);
  device.kernel_overhead_seconds = Estimate{overhead, {overhead, overhead}};
  device.method += ", less the calibrated kernel overhead";
  Timing stream;
  stream.clock = TimingMode::stream;
  stream.seconds = moved(*device.seconds, costs->launch_seconds * static_cast<double>(times.launches));
  stream.executions_per_sample = 1;
  stream.stop_reason = StopReason::count;
  stream.method = times.launches == 1
                      ? "the device time and the calibrated cost of a launch in a full stream: estimated, not measured"
                      : "the device time and the calibrated cost of launches in a full stream: estimated, not measured";
  return {std::move(device), std::move(stream)};
}

std::optional<double> roof_share(const Point& point) {
  if (!point.verdict || point.verdict->regime == Regime::unknown) return std::nullopt;
  if (point.verdict->regime == Regime::overhead) return 1.0;
  const auto device = std::ranges::find(point.measurement.timings, TimingMode::device, &Timing::clock);
  if (!point.verdict->achieved || device == point.measurement.timings.end() || !device->seconds) return std::nullopt;
  const double overhead = device->kernel_overhead_seconds ? std::max(device->kernel_overhead_seconds->value, 0.0) : 0.0;
  const double recorded = overhead + device->seconds->median;
  if (!(recorded > 0.0)) return std::nullopt;
  return (overhead + device->seconds->median * std::clamp(*point.verdict->achieved, 0.0, 1.0)) / recorded;
}

}  // namespace gpubench::profile
