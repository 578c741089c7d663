// SPDX-License-Identifier: Apache-2.0
// What to do first, and where the time of each GPU went.
#pragma once

#include <vector>

#include "core/model/program.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

/// Those of `analyze`, and what the ranks and the iterations of a timeline show; by falling gain.
std::vector<Finding> all_findings(const Linked& linked, const Program& program);

}  // namespace gpubench::timeline
