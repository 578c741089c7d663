// SPDX-License-Identifier: Apache-2.0
#include "calibrate/check/rejection.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace gpubench::calibrate {

namespace {

/// 1.005 times 100 comes out below 100.5.
constexpr double rounding = 1.0 + 1e-12;

}  // namespace

std::optional<std::string> why_rejected(const Ceiling& ceiling) {
  if (!(ceiling.value > 0.0) || !std::isfinite(ceiling.value))
    return fmt::format("rejected: {} {} is no figure", ceiling.value, ceiling.unit);
  if (const auto limit = ceiling.theoretical_limit;
      limit && *limit > 0.0 && ceiling.value > rounding * max_of_limit * *limit)
    return fmt::format(
        "rejected: {:.4g} {} measured is {:.2f} % of the theoretical limit, {:.4g} {}; the probe did less than it "
        "declares, or the clock it was set against is not the one it ran at",
        ceiling.value, ceiling.unit, 100.0 * ceiling.value / *limit, *limit, ceiling.unit);
  if (ceiling.confirmation && ceiling.confirmation->ratio)
    if (const double ratio = *ceiling.confirmation->ratio; !(std::abs(ratio - 1.0) <= tolerated_count_difference))
      return fmt::format(
          "rejected: {} counted {:.3f} times the work that the probe declares, so {:.4g} {} is no rate of it",
          ceiling.confirmation->counter, ratio, ceiling.value, ceiling.unit);
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
