// SPDX-License-Identifier: Apache-2.0
// What all device times of a run have in common against records. Below some microseconds 5 % of one time is less than
// what records of single kernels differ by; a clock that runs wrong is off by as much at every point.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/model/measurement.h"
#include "tests/truth/activity/agreement.h"

namespace gpubench::bench {

/// A point with records, and what they say of its device time.
struct ComparedPoint {
  Measurement measurement;
  Comparison comparison;
};

/// By how much device times are longer than records say: by a share of each time, and by an offset for each kernel.
struct CommonError {
  std::size_t points = 0;
  std::size_t operations = 0;
  Estimate share;
  Estimate seconds_a_kernel;
  /// How much of the points, by how exactly they tell, shows at least half of that in the same direction.
  double points_with_share = 0.0;
  double points_with_offset = 0.0;

  /// Whether three in four points show it, and the whole interval lies beyond what correct runs show: 0.5 % and 54 ns
  /// at the most, of eight on H200s (docs/results/h200/library.md).
  bool share_is_off() const;
  bool offset_is_off() const;
};

/// Of the points that were compared: a line through what device times have beyond records, over their length. Each
/// point counts by its tolerance, which is taken for two standard deviations. Errors are t-distributed with four
/// degrees, so that a few points far off hardly count (Lange, Little and Taylor, JASA 84, 1989). The 95 % intervals are
/// the widest of three: by the tolerances, by the scatter of points, and by that of operations (cluster sandwich, Liang
/// and Zeger, Biometrika 73, 1986). Absent below five points.
std::optional<CommonError> common_error(std::span<const ComparedPoint* const> compared);

}  // namespace gpubench::bench
