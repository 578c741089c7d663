// SPDX-License-Identifier: Apache-2.0
#include "calibrate/check/rejection.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/base/units.h"

namespace gpubench::calibrate {

namespace {

/// 1.005 times 100 comes out below 100.5.
constexpr double rounding = 1.0 + 1e-12;

}  // namespace

std::optional<std::string> why_rejected(const Ceiling& ceiling) {
  if (!(ceiling.value > 0.0) || !std::isfinite(ceiling.value))
    return fmt::format("rejected: {} {} is not a usable value", ceiling.value, ceiling.unit);
  if (const auto limit = ceiling.theoretical_limit;
      limit && *limit > 0.0 && ceiling.value > rounding * max_of_limit * *limit)
    return fmt::format(
        "rejected: {} measured is {:.2f} % of the theoretical limit, {}; the probe did less than it declares, or ran "
        "at "
        "another clock than the limit assumes",
        format_value(ceiling.value, ceiling.unit, 4), 100.0 * ceiling.value / *limit,
        format_value(*limit, ceiling.unit, 4));
  if (ceiling.confirmation && ceiling.confirmation->ratio)
    if (const double ratio = *ceiling.confirmation->ratio; !(std::abs(ratio - 1.0) <= tolerated_count_difference))
      return fmt::format("rejected: {} counted {:.3f} times the work that the probe declares, so {} is not its rate",
                         ceiling.confirmation->counter, ratio, format_value(ceiling.value, ceiling.unit, 4));
  return std::nullopt;
}

void reject(Calibration& calibration) {
  std::vector<Ceiling> kept;
  for (auto& ceiling : calibration.ceilings) {
    if (auto reason = why_rejected(ceiling))
      calibration.absent.push_back({ceiling.resource, std::move(*reason)});
    else
      kept.push_back(std::move(ceiling));
  }
  calibration.ceilings = std::move(kept);
}

}  // namespace gpubench::calibrate
