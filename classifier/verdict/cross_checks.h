// SPDX-License-Identifier: Apache-2.0
// Cross-checks: experiments that do not rest on the model. Each is printed beside a verdict and never changes it
// silently.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/measurement.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// Variants with less work of one kind: the share of the time that goes with it, (1 - t_variant / t) / (1 - part left),
/// over 0.5 is compute for arithmetic and memory for traffic.
std::vector<CrossCheck> perturbation_checks(Regime regime, const Measurement& measurement);

/// NVIDIA Nsight Compute's two figures, in percent of peak.
struct SpeedOfLight {
  double sm_percent = 0.0;
  double memory_percent = 0.0;
  std::optional<double> waves;  ///< of blocks on each multiprocessor
};
inline constexpr std::string_view sm_throughput = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view memory_throughput =
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed";
/// Absent when the counters are not among the measurement's. `units`: multiprocessors, 0 when not known.
std::optional<SpeedOfLight> speed_of_light(const Measurement& measurement, int units);

/// What its rule SOLBottleneck says: "high throughput" from 80 % on, "small grid" or "latency" below 60 %, "high
/// compute", "high memory", or "balanced" within 10 points.
std::string_view speed_of_light_class(const SpeedOfLight& figures);

/// The rule's class beside ours, with the reason where they differ.
CrossCheck speed_of_light_check(const Verdict& verdict, const SpeedOfLight& figures);

/// Lets a check move the verdict's confidence: one against it lowers the odds by how often the experiment is right, and
/// leaves nothing certain. Nvidia's rule compares with other limits, so it moves nothing.
void weigh(const CrossCheck& check, Verdict& verdict);

/// All cross_checks that one point can give by itself.
std::vector<CrossCheck> cross_checks_of(const Verdict& verdict, const Measurement& measurement, int units);

}  // namespace gpubench::classifier
