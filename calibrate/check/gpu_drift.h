// SPDX-License-Identifier: Apache-2.0
// Drift checks of a GPU of whatever vendor.
#pragma once

#include <functional>
#include <memory>

#include "calibrate/check/drift.h"
#include "calibrate/gpu/gpu_calibration.h"

namespace gpubench::calibrate {

using OpenCalibration = std::function<std::unique_ptr<GpuCalibration>(const Device&, const CalibrationOptions&)>;

/// Takes samples by the probes that this opens. May throw NoDriftSamples.
DriftSampler gpu_drift_sampler(const Device& device, const OpenCalibration& open);

}  // namespace gpubench::calibrate
