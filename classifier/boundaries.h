// SPDX-License-Identifier: Apache-2.0
// Where an operation changes regime or limiter along its sweep.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "classifier/fit.h"
#include "classifier/model.h"
#include "classifier/sweeps.h"
#include "gpubench/verdict.h"

namespace gpubench::classifier {

/// A machine with draws of it from its intervals, made once per calibration.
struct MachineWithErrors {
  Machine machine;
  std::vector<Machine> draws;
};
MachineWithErrors with_errors(Machine machine);

/// Why an operation's times cannot be modelled from its work: fewer than three sizes, no launch ceiling, or times that
/// differ where the declared work does not (an argument that is a duration, say). Absent where they can.
std::optional<std::string> why_no_model(const Sweep& sweep, const MachineWithErrors& machines);

/// The operation's fit with its bootstrap; absent where there is no model, and where the best leaves residuals of more
/// than 25 % rms.
std::optional<Fit> fit_of(const Sweep& sweep, const MachineWithErrors& machines);

/// The boundaries of one sweep, by growing argument. The rules that give points their regimes are applied to the fitted
/// time and to the work between measured sizes: the launch gives way where t(n) = 2 t0, memory levels where their times
/// are equal, memory and compute where theirs are, over the efficiency that the fit gives each. Up to twice the largest
/// and half the smallest size a boundary has a figure; the next one beyond is named as lying above or below that. None
/// where times run side by side without crossing (an operation of constant intensity has no ridge). Intervals span 95 %
/// of the boundary over the fit's bootstrap and draws of the ceilings. Without a fit (null), times lie on lines through
/// the measured ones in logarithms, intervals are over the times' own and the ceilings', and nothing beyond the sweep
/// is told. Where levels were counted, the interval between two of them is that of the sizes on either side. None with
/// fewer than three sizes or without a launch ceiling.
std::vector<Boundary> boundaries_of(const Sweep& sweep, const Fit* fit, const MachineWithErrors& machines);

}  // namespace gpubench::classifier
