// SPDX-License-Identifier: Apache-2.0
// Where an operation changes its limit along a sweep.
#pragma once

#include <functional>
#include <vector>

#include "classifier/model/fit.h"
#include "classifier/run/sweeps.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// Whether a boundary is to be shown, by all but its interval, which takes longest.
using IsShown = std::function<bool(const Boundary&)>;

/// The boundaries of one sweep, by growing argument: where the rules that decide points change their answer along the
/// fitted time and the work between sizes. Up to twice the largest and half the smallest size a boundary has a figure;
/// the next one beyond is named as lying above or below. None where times run side by side without crossing. Intervals
/// span 95 % over the fit's bootstrap and draws of the ceilings. Without a fit (null), times are interpolated in
/// logarithms, and nothing beyond the sweep is told.
std::vector<Boundary> boundaries_of(const Sweep& sweep, const Fit* fit, const MachineWithErrors& machines,
                                    const IsShown& is_shown);

}  // namespace gpubench::classifier
