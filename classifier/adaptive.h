// SPDX-License-Identifier: Apache-2.0
// Which sizes to measure next, so that boundaries become as narrow as wanted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/model/measurement.h"
#include "core/model/run.h"

namespace gpubench::classifier {

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

/// The geometric middle between neighbouring sizes where the limiter changes, or where a boundary lies whose interval
/// is not within 5 %, and beside those where a verdict is less sure than 95 %, as long as the two are more than 5 %
/// apart. Called again after these were measured and the run was classified anew, it ends by itself. Arguments that go
/// together (m = n = k) are each put in the middle; values are multiples of a 32nd of the greatest common divisor of
/// their neighbours, and of as high a power of two times it as has multiples well between them, so that aligned sizes
/// stay aligned. At most `most` points, changes first, the least sure of them
/// first.
std::vector<NextPoint> next_points(const Run& classified, std::size_t max = 16);

}  // namespace gpubench::classifier
