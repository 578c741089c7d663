// SPDX-License-Identifier: Apache-2.0
// Runs with arbitrary content, the same for the same seed.
#pragma once

#include <cstdint>

#include "core/model/run.h"

namespace gpubench {

/// Every field takes any value the schema allows: extreme numbers, odd texts, absent optionals, empty lists.
Run random_run(std::uint64_t seed);
Calibration random_calibration(std::uint64_t seed);

}  // namespace gpubench
