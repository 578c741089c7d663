// SPDX-License-Identifier: Apache-2.0
// Ranges as text, CSV and JSON.
#pragma once

#include <string>
#include <vector>

#include "gpubench/profile.h"

namespace gpubench::profile {

std::string text_of(const std::vector<RangeResult>& ranges, Reduction reduction, const Status& status,
                    const std::vector<SelfCost>& costs);
std::string csv_of(const std::vector<RangeResult>& ranges, Reduction reduction);
std::string json_of(const std::vector<RangeResult>& ranges, Reduction reduction, const Status& status);
std::string text_of(const MemoryActivity& activity);

}  // namespace gpubench::profile
