// SPDX-License-Identifier: Apache-2.0
// What a measured run would be on another device.
#pragma once

#include <string>

#include "core/model/calibration.h"
#include "core/model/run.h"

namespace gpubench::classifier {

/// Judges a run by other ceilings, for every device of the calibration's kind. Where they are of the very device that
/// was measured (the same name, and the same "uuid" where both know one) the times stay. Where they are another's,
/// every time is replaced by an estimate: what went to the launch by the ratio of the two launches, the rest by the
/// ratio of the model's times, so that the operation keeps its distance from the ceilings; samples, counters and other
/// clocks go, and `method` says so. Points without a calibration of their own cannot be carried over and lose their
/// time, with the reason. A warning in the run says what was done. Returns whether any device was of that kind.
bool judge_by(const Calibration& calibration, const std::string& origin, Run& run);

}  // namespace gpubench::classifier
