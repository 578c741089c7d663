// SPDX-License-Identifier: Apache-2.0
// How far the ratio of one point is known, and what that makes of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "compare/compare.h"
#include "compare/process_noise.h"
#include "core/model/device.h"

namespace gpubench::compare {

/// The standard deviation of a process's median among processes of the same code, as a fraction, where neither several
/// processes nor the user say it, and from how many degrees of freedom it is known. `seconds`: what the point takes.
struct AssumedNoise {
  double deviation;
  double degrees;
  std::string_view source;
};
AssumedNoise assumed_noise(DeviceKind kind, double seconds);

/// Both sides of one point: logarithms of the medians of its processes.
struct PointSides {
  std::vector<double> base;
  std::vector<double> next;
  double within_variance = 0.0;  ///< of the difference of the means, from the samples inside the processes
};

/// Fills ratio, times, noise and the p-value, not yet adjusted for the number of points. `learnt` is absent where there
/// are not two processes of anything.
struct Judged {
  ComparedPoint point;
  Difference difference;
};
Judged judge(const PointSides& sides, const std::optional<Spread>& learnt, NoiseSource source, DeviceKind kind,
             const CompareOptions& options, StudentQuantiles& quantiles);
/// The same for pairs: `base` and `next` are of equal length, `learnt` is of their winsorised differences, and the
/// ratio is from their trimmed mean.
Judged judge_pairs(const PointSides& sides, const Spread& learnt, const CompareOptions& options,
                   StudentQuantiles& quantiles);

/// Adjusts the p-values for the number of points, decides, and tells what could have been seen.
void decide(std::vector<Judged>& points, double min_effect, StudentQuantiles& quantiles);

}  // namespace gpubench::compare
