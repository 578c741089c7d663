// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "gpubench/profile.h"

namespace gpubench::profile {

/// The table of MemoryTracker, 80 columns wide.
std::string memory_report(const std::vector<MemoryInfo>& tracked, std::uint64_t peak, const DeviceMemory& device);

}  // namespace gpubench::profile
