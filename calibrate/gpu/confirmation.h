// SPDX-License-Identifier: Apache-2.0
// Whether the work that probes declare is the work that the GPU's counters count.
#pragma once

#include "calibrate/gpu/gpu_calibration.h"

namespace gpubench::calibrate {

/// Counts the work of all probes that have a ceiling, as far as the time allows.
void confirm(GpuCalibration& bench, double seconds);

}  // namespace gpubench::calibrate
