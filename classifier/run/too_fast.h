// SPDX-License-Identifier: Apache-2.0
// Times that no machine of this kind can reach: the compiler has removed what was to be timed.
#pragma once

#include <string>

#include "core/model/calibration.h"
#include "core/model/measurement.h"

namespace gpubench::classifier {

/// A sentence where a point's declared bytes or FLOPs in its time are several times what any ceiling of its device
/// allows; empty where they are not, and where no ceiling tells.
std::string why_too_fast(const Measurement& measurement, const Calibration& calibration);

}  // namespace gpubench::classifier
