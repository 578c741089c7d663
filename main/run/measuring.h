// SPDX-License-Identifier: Apache-2.0
// From planned points to a judged run.
#pragma once

#include <vector>

#include "core/model/run.h"
#include "main/run/plan.h"

namespace gpubench {

class GoogleOutputs;

/// Finds ceilings, measures every point on every device, checks and counts, and judges. `run` has its context and
/// devices. Where the user stops it, it saves what is finished and ends the process.
void measure_all(const RunOptions& options, std::vector<Plan> plans, GoogleOutputs& google, Run& run);

}  // namespace gpubench
