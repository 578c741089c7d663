// SPDX-License-Identifier: Apache-2.0
#include "compare/calibration_diff.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace gpubench::compare {
namespace {

const Ceiling* usable(const Calibration& calibration, const Ceiling& like) {
  const Ceiling* const found = calibration.find(like.resource);
  return found != nullptr && found->unit == like.unit && found->value > 0.0 && like.value > 0.0 ? found : nullptr;
}

double size_of(const CeilingChange& change) { return std::abs(std::log(change.ratio)); }

}  // namespace

CalibrationDiff diff(const Calibration& base, const Calibration& next) {
  CalibrationDiff result;
  for (const Ceiling& then : base.ceilings) {
    const Ceiling* const now = usable(next, then);
    if (now == nullptr) {
      result.only_base.push_back(then.resource);
      continue;
    }
    CeilingChange change;
    change.resource = then.resource;
    change.unit = then.unit;
    change.base = {then.value, then.ci95};
    change.next = {now->value, now->ci95};
    change.ratio = now->value / then.value;
    change.overlap = now->ci95.low <= then.ci95.high && then.ci95.low <= now->ci95.high;
    result.changes.push_back(std::move(change));
  }
  for (const Ceiling& now : next.ceilings)
    if (usable(base, now) == nullptr) result.only_next.push_back(now.resource);
  std::stable_sort(result.changes.begin(), result.changes.end(),
                   [](const CeilingChange& a, const CeilingChange& b) { return size_of(a) > size_of(b); });
  return result;
}

}  // namespace gpubench::compare
