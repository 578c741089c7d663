// SPDX-License-Identifier: Apache-2.0
// Where an operation changes regime or limiter along its sweep.
#pragma once

#include <vector>

#include "classifier/sweep_fit.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

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
