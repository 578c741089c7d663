// SPDX-License-Identifier: Apache-2.0
// Ranges as text, CSV and JSON, and tracked memory as text.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpubench/profile.h"

namespace gpubench::profile {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RangeMemory, allocations, allocated_bytes, releases, freed_bytes, live_bytes,
                                   peak_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Status, records, records_reason, counters, counters_reason, dropped, kernels_outside,
                                   note)

std::string text_of(const std::vector<RangeResult>& ranges, Reduction reduction, const Status& status);
std::string csv_of(const std::vector<RangeResult>& ranges, Reduction reduction);
nlohmann::json json_of(const std::vector<RangeResult>& ranges);
std::string json_of(const std::vector<RangeResult>& ranges, Reduction reduction, const Status& status);
std::string text_of(const MemoryActivity& activity);
/// The table of MemoryTracker, 80 columns wide.
std::string memory_report(const std::vector<MemoryInfo>& tracked, std::uint64_t peak, const DeviceMemory& device);

}  // namespace gpubench::profile
