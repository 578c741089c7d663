// SPDX-License-Identifier: Apache-2.0
// What one process measures of launches and waits is repeatable to a thousandth, and another process gets a few percent
// more or less: the process is the independent repeat.
#pragma once

#include <vector>

#include "core/model/calibration.h"

namespace gpubench::calibrate {

/// Puts what several processes measured in front of a calibration's ceilings, in place of what its own process did,
/// which counts as one more: of each the median, with the 95 % interval of the processes' mean by Student's t, widened
/// to hold that median. What no process has is absent with the first one's reason. A ceiling of a single process keeps
/// its own interval, and says so. Their warnings are left: the process that started them is another one to them.
void take_overheads(Calibration& calibration, const std::vector<Calibration>& processes);

}  // namespace gpubench::calibrate
