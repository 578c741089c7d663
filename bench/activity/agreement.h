// SPDX-License-Identifier: Apache-2.0
// Records of executions against a device time: pure functions.
#pragma once

#include <cstdint>

#include "bench/activity/activity_source.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

/// Tells executions apart and sums each up. The records are those of `warm_up + executions` executions that ran one
/// after another; the first `warm_up` are left out. They are told apart by their order, so all
/// must run the same kernels and copies. What that gives is not compared yet; where it gives nothing, `reason` says
/// why.
ActivityCheck summarize(const ActivityRecords& activity, std::int64_t warm_up, std::int64_t executions);

/// Compares with the device time of the measurement. The two agree when they differ by no more than 0.2 us a kernel, 3
/// % of the recorded duration, or what lies between the medians within both 95 % intervals, whichever is the most.
/// Without anything to compare with, or where the two are not of the same thing, `reason` says why.
void compare(ActivityCheck& check, const Measurement& measurement);

}  // namespace gpubench::bench
