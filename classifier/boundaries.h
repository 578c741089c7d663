// SPDX-License-Identifier: Apache-2.0
// Where an operation changes regime or limiter along its sweep.
#pragma once

#include <vector>

#include "classifier/model.h"
#include "classifier/sweeps.h"
#include "gpubench/verdict.h"

namespace gpubench::classifier {

/// A machine with its perturbed copies, made once per calibration.
struct MachineWithErrors {
  Machine machine;
  std::vector<Machine> perturbed;
};

/// The boundaries of one sweep, by growing argument. The rules that give points their regimes are applied to the fitted
/// time and to the work between measured sizes: the launch gives way where t(n) = 2 t0, memory levels where their times
/// are equal, memory and compute where theirs are. None beyond the measured sizes, none of less than three sizes, none
/// without a launch ceiling, and none where times run side by side without crossing (an operation of constant intensity
/// has no ridge). Intervals by the delta method from the fit's covariance and the ceilings' intervals.
std::vector<Boundary> boundaries_of(const Sweep& sweep, const MachineWithErrors& machines);

}  // namespace gpubench::classifier
