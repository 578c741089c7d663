// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "classifier/run/commands.h"
#include "classifier/verdict/confidence.h"
#include "classifier/verdict/point_analysis.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/model/resources.h"

namespace gpubench::classifier {
namespace {

/// A kernel is what an operation's advice is about from this share of the time on.
constexpr double most = 0.5;

Summary summary_of(const Estimate& seconds, std::int64_t count) {
  const double value = seconds.value;
  return {std::max<std::int64_t>(count, 1), value, value, value, value, value, value, 0.0, seconds.ci95};
}

/// What one launch adds to the stream's time, as the two clocks of the operation show.
double seconds_a_launch(const Measurement& operation) {
  const Summary* const stream = seconds_by(operation, TimingMode::stream);
  const Summary* const device = seconds_by(operation, TimingMode::device);
  std::int64_t launches = 0;
  for (const KernelGroup& group : operation.kernels) launches += group.launch.launches;
  if (stream == nullptr || device == nullptr || launches <= 0) return 0.0;
  return std::max(stream->median - device->median, 0.0) / static_cast<double>(launches);
}

Timing timing_of(TimingMode clock, const Estimate& seconds, std::int64_t count) {
  Timing timing;
  timing.clock = clock;
  timing.seconds = summary_of(seconds, count);
  return timing;
}

std::string name_of_kernel(const Point& point, std::size_t kernel) {
  const KernelGroup& group = point.measurement.kernels[kernel];
  std::string name = shown_name(group);
  const auto& verdict = point.kernel_verdicts[kernel];
  if (!verdict || verdict->regime == Regime::unknown) return name;
  return fmt::format("{} ({}, {})", name, gpubench::name_of(verdict->regime), label_of(verdict->limiter));
}

/// The gain of the whole where a part of the time gains.
double gain_of_whole(double share, double gain) { return 1.0 / (1.0 - share + share / gain); }

/// The advice on a kernel that takes most of the time is better than that on the sum of all. Where it has none, that on
/// the sum is still about this kernel, but for what is done to the operation as a whole.
void advise_by_kernel(Point& point, std::size_t kernel, double share) {
  const auto& of_kernel = point.kernel_verdicts[kernel];
  Verdict& whole = *point.verdict;
  const KernelGroup& group = point.measurement.kernels[kernel];
  if (whole.limiter == resource::launch || group.kind != CommandKind::kernel) return;
  const bool by_kernel = of_kernel && !of_kernel->advice.empty() && of_kernel->limiter != resource::launch;
  if (by_kernel) whole.advice = of_kernel->advice;
  for (Advice& advice : whole.advice) {
    if (!by_kernel && advice.code == AdviceCode::fuse) continue;
    advice.kernel = short_kernel_name(group.launch.name);
    if (!by_kernel) continue;
    if (advice.gain) advice.gain = gain_of_whole(share, *advice.gain);
    if (advice.gain_ci95)
      advice.gain_ci95 = {gain_of_whole(share, advice.gain_ci95->low), gain_of_whole(share, advice.gain_ci95->high)};
  }
}

void name_the_longest(Point& point) {
  for (std::size_t i = 0; i < point.kernel_verdicts.size(); ++i)
    if (const auto share = share_of_kernel(point.measurement, i); share && *share > most) {
      advise_by_kernel(point, i, *share);
      point.verdict->evidence += fmt::format("; {} of the time of its kernels and copies is that of {}",
                                             format_percent(*share), name_of_kernel(point, i));
    }
}

void doubt_clocks(const Measurement& measurement, Verdict& verdict) {
  const auto excess = device_over_stream(measurement);
  if (!excess) return;
  verdict.confidence = std::min(verdict.confidence, never_certain);
  verdict.certainty = certainty_of(verdict.confidence);
  verdict.evidence += fmt::format("; its device time is {} longer than the stream's, so the stream's counts",
                                  format_percent(*excess - 1.0));
}

}  // namespace

Measurement measurement_of(const Measurement& operation, const KernelGroup& kernel) {
  Measurement result;
  result.name = kernel.launch.name;
  result.operation = operation.operation;
  result.device = operation.device;
  result.cache_state = operation.cache_state;
  result.clock_hz = operation.clock_hz;
  result.conditions = operation.conditions;
  result.counters = kernel.counters;
  if (kernel.kind != CommandKind::kernel) result.kernels = {kernel};
  const std::int64_t executions = operation.activity ? operation.activity->executions : 1;
  const double launching = static_cast<double>(kernel.launch.launches) * seconds_a_launch(operation);
  const Estimate& device = *kernel.seconds;
  const Estimate stream = {device.value + launching, {device.ci95.low + launching, device.ci95.high + launching}};
  result.timings = {timing_of(TimingMode::stream, stream, executions),
                    timing_of(TimingMode::device, device, executions)};
  const auto [x, y, z] = kernel.launch.grid;
  const double blocks = static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z);
  if (kernel.blocks_per_multiprocessor && blocks < max_figure && blocks < 9e15)
    result.grid = Grid{static_cast<std::int64_t>(blocks), *kernel.blocks_per_multiprocessor};
  return result;
}

void judge_kernels(const Machine& machine, Point& point) {
  point.kernel_verdicts.clear();
  if (!point.verdict) return;
  const Measurement& operation = point.measurement;
  if (operation.kernels.size() > 1) {
    for (const KernelGroup& kernel : operation.kernels) {
      auto& verdict = point.kernel_verdicts.emplace_back();
      if (!kernel.seconds) continue;
      const auto alone = measurement_of(operation, kernel);
      if (kernel.kind != CommandKind::kernel) {
        if ((verdict = verdict_of_command(alone, machine))) withhold_doubtful(*verdict);
        continue;
      }
      verdict = verdict_of(alone, machine, operation.device);
      withhold_doubtful(*verdict);
      if (kernel.counters.empty() && verdict->regime != Regime::overhead) verdict.reset();
    }
    name_the_longest(point);
  }
  doubt_clocks(operation, *point.verdict);
}

}  // namespace gpubench::classifier
