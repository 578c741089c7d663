// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/activity/agreement.h"

#include <algorithm>
#include <cmath>

#include "bench/timing/difference_timer.h"

namespace gpubench::bench {
namespace {

/// What two times may differ by: seconds a kernel, or a share of the time.
struct Allowance {
  double seconds_a_kernel;
  double share;
};
/// Recording lengthens kernels, each by its own amount: what it runs between them takes their code and constants out of
/// the caches. The kernel of known length loses little by that, so a record may be longer by more than it may be
/// shorter. Figures of an H200 (docs/results/h200/library.md).
constexpr Allowance longer_record = {0.20e-6, 0.03};
constexpr Allowance shorter_record = {0.10e-6, 0.02};
constexpr double seconds_without_gaps = 0.25e-6;  // where the gaps between its records are not known
constexpr double seconds_a_warp = 16e-12;         // by which each starts later while records are taken: 9 to 15 ps

/// Why a device time does not compare with records; empty when it does.
std::string why_not_comparable(const ActivityCheck& check, const Timing* time) {
  if (!check.seconds) return check.reason;
  if (check.copies > 0) return "the overhead of its copies and fills is not known";
  if (time == nullptr) return "there is no device time to compare with: measure it with --time=device";
  if (!time->seconds) return "there is no device time to compare with: " + time->reason;
  if (!time->kernel_overhead_seconds)
    return "the overhead of its kernels could not be measured, and records include it";
  if (time->method.starts_with(blocked_batches))
    return "it could not be captured in a graph, so its kernel overhead includes a launch, and records do not";
  return {};
}

/// By how much later the warps of an operation may start while it is recorded, all together. What a graph of the user's
/// own starts, only the records tell.
double slow_start_seconds(const ActivityCheck& check, const Measurement& measurement) {
  double blocks = 0.0;
  double warps = 0.0;
  for (const KernelLaunch& each : check.kernels) {
    double of_kernel = static_cast<double>(each.launches);
    double threads = 1.0;
    for (const std::int64_t along : each.grid) of_kernel *= static_cast<double>(along);
    for (const std::int64_t along : each.block) threads *= static_cast<double>(along);
    blocks += of_kernel;
    warps += of_kernel * std::max(std::ceil(threads / 32.0), 1.0);
  }
  constexpr double usual_warps = 8.0;  // of a block, where no record tells
  if (measurement.launches)
    warps = static_cast<double>(measurement.launches->later_blocks) * (blocks > 0.0 ? warps / blocks : usual_warps);
  return warps * seconds_a_warp;
}

/// Clocks follow what ran before; no time can differ by more for it than they do. Under a power cap it differs either
/// way.
double clock_seconds(const std::optional<double>& clock_hz, const Measurement& measurement, double seconds) {
  return clock_hz && measurement.clock_hz && *measurement.clock_hz > 0.0
             ? std::abs(*clock_hz / *measurement.clock_hz - 1.0) * seconds
             : 0.0;
}

/// How far two times may lie apart so that their intervals say nothing against it.
double apart_within(const Estimate& one, const Estimate& other) {
  return one.value > other.value ? (one.value - one.ci95.low) + (other.ci95.high - other.value)
                                 : (one.ci95.high - one.value) + (other.value - other.ci95.low);
}

/// A device time and what lies beside it.
Estimate device_with(const Summary& device, double beside, double unsure) {
  return {device.median + beside,
          {device.median_ci95.low + beside - unsure, device.median_ci95.high + beside + unsure}};
}

}  // namespace

double kernels_of(const ActivityCheck& check, const Measurement& measurement) {
  std::int64_t kernels = 1;
  if (measurement.launches) kernels = std::max(kernels, measurement.launches->kernels);  // groups may be left out
  std::int64_t recorded = 0;
  for (const KernelLaunch& kernel : check.kernels) recorded += kernel.launches;
  return static_cast<double>(std::max(kernels, recorded));
}

Comparison compare(const ActivityCheck& check, const Measurement& measurement) {
  const Timing* const time = timing_by(measurement, TimingMode::device);
  if (auto reason = why_not_comparable(check, time); !reason.empty())
    return {Agreement::not_compared, std::move(reason), {}, {}};
  // The device time is a slope less the kernel overhead. What a record has beyond it does not vary with that overhead,
  // which grows by 0.17 us while a process works; where it is not known, the overhead is the best there is.
  const double launches = kernels_of(check, measurement);
  const auto& excess = check.recording_seconds;
  const bool with_gaps = check.gap_seconds && check.usual_gap_seconds;
  double beside = excess ? launches * excess->value : time->kernel_overhead_seconds->value;
  double unsure = excess ? launches * half_width(*excess) : 0.0;
  if (with_gaps) {
    beside -= check.gap_seconds->value - launches * check.usual_gap_seconds->value;
    unsure = std::hypot(unsure, half_width(*check.gap_seconds), launches * half_width(*check.usual_gap_seconds));
  }
  const Estimate& recorded = *check.seconds;
  const Estimate expected = device_with(*time->seconds, beside, unsure);
  const bool longer = recorded.value > expected.value;
  const Allowance& allowed = longer ? longer_record : shorter_record;
  const double of_kernel = with_gaps ? allowed.seconds_a_kernel : seconds_without_gaps;
  const double tolerance =
      std::max({launches * of_kernel, allowed.share * recorded.value, apart_within(recorded, expected),
                longer ? slow_start_seconds(check, measurement) : 0.0}) +
      clock_seconds(check.clock_hz, measurement, recorded.value);
  const bool agrees = std::abs(recorded.value - expected.value) <= tolerance;
  return {agrees ? Agreement::agrees : Agreement::disagrees, {}, expected, tolerance};
}

}  // namespace gpubench::bench
