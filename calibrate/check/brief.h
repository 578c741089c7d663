// SPDX-License-Identifier: Apache-2.0
// A calibration of the few ceilings that the drift check knows, for those that must be quick.
#pragma once

#include <functional>

#include "calibrate/check/drift.h"
#include "core/model/calibration.h"
#include "core/model/device.h"

namespace gpubench::calibrate {

/// Measures the drift resources of a device by the probes of the drift check, each time it is called: in about a
/// second, the first time longer. What cannot be had is absent with the reason. `open` opens the device, the first
/// time.
using BriefCalibration = std::function<Calibration()>;
BriefCalibration brief_calibration(const Device& device, std::function<DriftSampler(const Device&)> open);
/// Of this very device.
BriefCalibration brief_calibration(const Device& device);

}  // namespace gpubench::calibrate
