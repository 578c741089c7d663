// SPDX-License-Identifier: Apache-2.0
// How memory and arithmetic overlap on a machine: p of the time model.
#pragma once

#include <optional>
#include <vector>

#include "classifier/machine.h"

namespace gpubench::classifier {

/// One point of a sweep over arithmetic intensity.
struct SweptIntensity {
  double memory_seconds = 0.0;  ///< at the ceilings
  double pipe_seconds = 0.0;
  double seconds = 0.0;  ///< measured, without the launch
};
/// p of a machine from such a sweep: least squares on logarithms with the two ceilings free by a common factor each and
/// `overlap_prior`; absent when fewer than five points have usable figures or none is near the ridge.
std::optional<Exponent> fit_overlap(const std::vector<SweptIntensity>& points);

}  // namespace gpubench::classifier
