// SPDX-License-Identifier: Apache-2.0
// Ranges as text, CSV and JSON, and tracked memory as text.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gpubench/profile.h"

namespace gpubench::profile {

// As JSON with the names of their members.
void to_json(nlohmann::json& json, const RangeMemory& memory);
void to_json(nlohmann::json& json, const Status& status);

std::string text_of(const std::vector<RangeResult>& ranges, Reduction reduction, const Status& status);
std::string csv_of(const std::vector<RangeResult>& ranges, Reduction reduction);
nlohmann::json json_of(const std::vector<RangeResult>& ranges);
std::string json_of(const std::vector<RangeResult>& ranges, Reduction reduction, const Status& status);
std::string text_of(const MemoryActivity& activity);
/// The table of MemoryTracker, 80 columns wide.
std::string memory_report(const std::vector<MemoryInfo>& tracked, std::uint64_t peak, const DeviceMemory& device);

}  // namespace gpubench::profile
