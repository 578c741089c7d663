// SPDX-License-Identifier: Apache-2.0
// Which sizes to measure next, so that boundaries become as narrow as wanted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpubench/measurement.h"
#include "gpubench/run.h"

namespace gpubench::classifier {

/// A point worth measuring.
struct NextPoint {
  std::string operation;
  std::string device;
  std::vector<Argument> arguments;
  friend bool operator==(const NextPoint&, const NextPoint&) = default;
};

inline constexpr double wanted_half_width = 0.05;  ///< of a boundary's interval, relative

/// The geometric middle between neighbouring sizes of every sweep whose verdicts differ or are less sure than 95 %, as
/// long as they are more than 5 % apart and no boundary between them has an interval within 5 %. Called again after
/// these were measured and the run was classified anew, it ends by itself. Arguments that go together (m = n = k) are
/// each put in the middle; values are multiples of a 32nd of the greatest common divisor of their neighbours, so that
/// aligned sizes stay aligned. At most `most` points, the least sure first.
std::vector<NextPoint> next_points(const Run& classified, std::size_t most = 16);

}  // namespace gpubench::classifier
