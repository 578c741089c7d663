// SPDX-License-Identifier: Apache-2.0
// What limits the work that was recorded or traced, and what it reaches of the ceilings. Pure; knows no CUDA.
#pragma once

#include "core/model/work_verdicts.h"
#include "profile/kernel_groups.h"

namespace gpubench::profile {

/// Verdicts of a program's kernel groups. `ceilings`: a run with the devices of `devices_of`, and the calibrations that
/// there are of them. Counted are all metrics that the recordings and `options.further` make up.
Run verdicts_of(const Recordings& recordings, Run ceilings, GroupOptions options = {});

/// Of operators whose work the shapes in a trace tell.
WorkVerdicts operator_verdicts(const timeline::Timeline& timeline, const Calibration& calibration);

}  // namespace gpubench::profile
