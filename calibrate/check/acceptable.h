// SPDX-License-Identifier: Apache-2.0
// Whether a calibration that comes from elsewhere may judge operations here. Pure.
#pragma once

#include <optional>
#include <string>

#include "core/model/calibration.h"

namespace gpubench::calibrate {

/// Why it must not be kept: no device, no ceilings, one that is named twice, of an unknown unit, without an interval
/// around its value, or one that this version would itself have rejected. Absent when it may.
std::optional<std::string> why_not_acceptable(const Calibration& calibration);

}  // namespace gpubench::calibrate
