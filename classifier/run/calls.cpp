// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "classifier/verdict/confidence.h"
#include "classifier/verdict/point_analysis.h"
#include "core/base/units.h"
#include "core/model/resources.h"

namespace gpubench::classifier {
namespace {

/// From here on the host is what a call waits for; less is within what loops of the same call differ by.
constexpr double noticeable = 1.1;
/// Relative standard deviation of that, beside the intervals of the times.
constexpr double loop_sigma = 0.04;

/// What the GPU takes for one call that never waits for the host.
struct GpuTime {
  double seconds = 0.0;
  double sigma = 0.0;
};

/// Replays took turns with the calls: where they are slower than the stream, the GPU was (power, clocks).
double paced(double stream_seconds, const Summary* graph) {
  return graph != nullptr ? std::max(stream_seconds, graph->median) : stream_seconds;
}

std::optional<GpuTime> gpu_time_of(const Measurement& measurement) {
  const Summary* const stream = seconds_by(measurement, TimingMode::stream);
  // Without a device time it was not captured, and its stream time has the host's waits in it.
  if (seconds_by(measurement, TimingMode::device) != nullptr && stream != nullptr && stream->median > 0.0)
    return GpuTime{paced(stream->median, seconds_by(measurement, TimingMode::graph)), sigma_of(*stream)};
  const auto& records = measurement.activity;
  if (records && records->seconds && records->seconds->value > 0.0)
    return GpuTime{records->seconds->value, sigma_of(*records->seconds)};
  return std::nullopt;
}

/// "10.6 us as called, 2.00 us in a CUDA graph, 1.27 us on the device alone"
std::string times_of(const Measurement& measurement) {
  std::string text;
  for (const auto& [mode, words] : {std::pair{TimingMode::call, "as called"},
                                    {TimingMode::graph, "replayed as a CUDA graph"},
                                    {TimingMode::device, "on the device alone"}})
    if (const Summary* const seconds = seconds_by(measurement, mode))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_seconds(seconds->median), words);
  return text;
}

/// What the host does in a call: bare launches by the driver, and all that the program and its libraries do around
/// them.
std::string split_of(const Measurement& measurement, double call_seconds) {
  const auto& launch = measurement.bare_launch_seconds;
  if (!launch || !measurement.launches || measurement.launches->kernels < 1) return "";
  const auto kernels = measurement.launches->kernels;
  const double driver = std::min(static_cast<double>(kernels) * launch->value, call_seconds);
  return fmt::format(" ({} in Python, framework and libraries, {} for {} by the driver)",
                     format_seconds(call_seconds - driver), format_seconds(driver),
                     plural(kernels, "launch", "launches"));
}

void become_overhead(const Measurement& measurement, double call_seconds, double gpu_seconds, double probability,
                     Verdict& verdict) {
  const Regime of_gpu = verdict.regime;
  const double share_of_gpu = gpu_seconds / call_seconds;
  verdict.evidence = fmt::format(
      "takes {}: the GPU waits for the host, which works through all of a call{}, and is busy for {} of it{}",
      times_of(measurement), split_of(measurement, call_seconds), format_seconds(gpu_seconds),
      of_gpu != Regime::unknown ? "; by itself that work " + verdict.evidence : "");
  if (of_gpu != Regime::overhead) {
    verdict.runner_up = of_gpu;
    verdict.runner_up_probability = (1.0 - probability) * verdict.confidence;
    verdict.confidence = probability;
  } else {
    // Overhead either way: only where both are wrong is it something else.
    verdict.confidence = 1.0 - (1.0 - probability) * (1.0 - verdict.confidence);
  }
  verdict.certainty = certainty_of(verdict.confidence);
  verdict.regime = Regime::overhead;
  verdict.limiter = resource::host;
  verdict.achieved.reset();
  double rest = 1.0;
  for (Share& share : verdict.shares) rest -= share.fraction *= share_of_gpu;
  verdict.shares.insert(verdict.shares.begin(), {std::string(resource::host), rest});
  std::erase_if(verdict.advice, [](const Advice& advice) { return advice.code == AdviceCode::batch_launches; });
  for (Advice& advice : verdict.advice) {  // they make the GPU's work shorter, and the host waits for none of it
    advice.gain.reset();
    advice.gain_ci95.reset();
  }
  const Summary* const call = seconds_by(measurement, TimingMode::call);
  Advice advice;
  advice.code = AdviceCode::batch_launches;
  if (const Summary* const graph = seconds_by(measurement, TimingMode::graph);
      graph != nullptr && graph->median > 0.0 && graph->median < call->median) {
    advice.action = "capture it in a CUDA graph (torch.compile(mode=\"reduce-overhead\"), torch.cuda.graph)";
    advice.gain = call->median / graph->median;
    if (call->median_ci95.low > 0.0 && graph->median_ci95.low > 0.0)  // else the waits differ by more than they take
      advice.gain_ci95 = {call->median_ci95.low / graph->median_ci95.high,
                          call->median_ci95.high / graph->median_ci95.low};
    advice.evidence = fmt::format("measured: captured it takes {} instead of {}", format_seconds(graph->median),
                                  format_seconds(call->median));
  } else {
    advice.action = "give the GPU more work for each call: larger batches, fused or compiled operators";
    advice.evidence =
        fmt::format("the GPU works for {} of {}", format_seconds(gpu_seconds), format_seconds(call_seconds));
  }
  verdict.advice.insert(verdict.advice.begin(), std::move(advice));
}

}  // namespace

void judge_call(const Measurement& measurement, Verdict& verdict) {
  const Summary* const call = seconds_by(measurement, TimingMode::call);
  if (call == nullptr || !(call->median > 0.0)) return;
  const auto gpu = gpu_time_of(measurement);
  if (!gpu) {
    if (verdict.regime != Regime::unknown)
      verdict =
          undecided(fmt::format("takes {} as called, and nothing says how long its work on the GPU takes by itself",
                                format_seconds(call->median)));
    return;
  }
  const double excess = std::log(call->median / (noticeable * gpu->seconds));
  const double probability =
      0.5 * std::erfc(-excess / std::sqrt(2.0) / std::hypot(sigma_of(*call), gpu->sigma, loop_sigma));
  if (probability >= 0.5) return become_overhead(measurement, call->median, gpu->seconds, probability, verdict);
  verdict.evidence += fmt::format("; it takes {}", times_of(measurement));
  if (verdict.regime == Regime::overhead) return;
  verdict.confidence *= 1.0 - probability;
  verdict.certainty = certainty_of(verdict.confidence);
  if (probability > verdict.runner_up_probability) {
    verdict.runner_up = Regime::overhead;
    verdict.runner_up_probability = probability;
  }
}

}  // namespace gpubench::classifier
