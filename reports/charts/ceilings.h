// SPDX-License-Identifier: Apache-2.0
// From calibrations to the rows that the charts draw as roofs, ceilings and ladders.
#pragma once

#include <nlohmann/json.hpp>

#include "core/model/run.h"

namespace gpubench::reports::charts {

/// The memory ceiling that stands for DRAM: read, else triad, copy, write; null when there is none.
const Ceiling* dram_of(const Calibration& calibration);

nlohmann::json roof_rows(const Run& run);
nlohmann::json ceiling_rows(const Run& run);
nlohmann::json ladder_rows(const Run& run);
nlohmann::json level_rows(const Run& run);
nlohmann::json latency_rows(const Run& run);
nlohmann::json latency_level_rows(const Run& run);
nlohmann::json intensity_rows(const Run& run);
nlohmann::json intensity_roof_rows(const Run& run);

}  // namespace gpubench::reports::charts
