// SPDX-License-Identifier: Apache-2.0
// From measurements and ceilings to verdicts and boundaries. Pure mathematics: no CUDA, no files, no printing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/measurement.h"
#include "core/model/run.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// The verdict of one point, which must have a time. Never throws: what cannot be decided is Regime::unknown with the
/// reason in `evidence`.
Verdict classify(const Measurement& measurement, const Calibration& calibration);

/// Fills the verdict of every point that has a time and a calibration, the boundaries of every operation but those
/// beside a point whose samples are not steady, and the findings.
void classify(Run& run);

/// Judges a run by other ceilings, for every device of the calibration's kind. Times stay where the ceilings are of the
/// device that was measured (same name, and same "uuid" where both know one). Else every time is replaced by an
/// estimate: the launch by the ratio of the two launches, the rest by the ratio of the model's times. Samples, counters
/// and other clocks go, and `method` says so. Points that cannot be carried over lose their time, with the reason. A
/// warning says what was done. Returns whether any device was of that kind.
bool judge_by(const Calibration& calibration, const std::string& origin, Run& run);

/// A point worth measuring.
struct NextPoint {
  std::string operation;
  std::string device;
  std::vector<Argument> arguments;
  friend bool operator==(const NextPoint&, const NextPoint&) = default;
};

inline constexpr double wanted_half_width = 0.05;  ///< of a boundary's interval, relative
/// Whether a boundary has an interval within that.
bool is_narrow(const Boundary& boundary);

/// The geometric middle between neighbouring sizes where the limiter changes or a boundary's interval is not within 5
/// %, and beside those where a verdict is less sure than 95 %, as long as the two are more than 5 % apart. Arguments
/// that go together (m = n = k) are each put in the middle; aligned sizes stay aligned. At most `max` points, changes
/// first, the least sure of them first.
std::vector<NextPoint> next_points(const Run& classified, std::size_t max = 16);

}  // namespace gpubench::classifier
