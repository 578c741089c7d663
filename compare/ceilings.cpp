// SPDX-License-Identifier: Apache-2.0
#include "compare/ceilings.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace gpubench::compare {

CalibrationDiff diff(const Calibration& base, const Calibration& next) {
  const auto usable = [](const Calibration& calibration, const Ceiling& like) {
    const Ceiling* const found = calibration.find(like.resource);
    return found != nullptr && found->unit == like.unit && found->value > 0.0 && like.value > 0.0 ? found : nullptr;
  };
  CalibrationDiff result;
  for (const Ceiling& then : base.ceilings) {
    const Ceiling* const now = usable(next, then);
    if (now == nullptr) {
      result.only_base.push_back(then.resource);
      continue;
    }
    const bool overlap = now->ci95.low <= then.ci95.high && then.ci95.low <= now->ci95.high;
    result.changes.push_back(
        {then.resource, then.unit, {then.value, then.ci95}, {now->value, now->ci95}, now->value / then.value, overlap});
  }
  for (const Ceiling& now : next.ceilings)
    if (usable(base, now) == nullptr) result.only_next.push_back(now.resource);
  std::ranges::stable_sort(result.changes, std::greater<>(),
                           [](const CeilingChange& change) { return std::abs(std::log(change.ratio)); });
  return result;
}

}  // namespace gpubench::compare
