// SPDX-License-Identifier: Apache-2.0
// Two calibrations beside each other, ceiling by ceiling.
#pragma once

#include <string>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/estimate.h"

namespace gpubench::compare {

struct CeilingChange {
  std::string resource;
  std::string unit;
  Estimate base;
  Estimate next;
  double ratio = 1.0;    ///< next over base
  bool overlap = false;  ///< the 95 % intervals meet
};

struct CalibrationDiff {
  std::vector<CeilingChange> changes;  ///< of what both have in one unit, the largest ratio either way first
  std::vector<std::string> only_base;  ///< resources
  std::vector<std::string> only_next;
};

/// Ceilings that are not positive count as missing.
CalibrationDiff diff(const Calibration& base, const Calibration& next);

}  // namespace gpubench::compare
