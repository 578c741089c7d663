// SPDX-License-Identifier: Apache-2.0
// What an operation pays for memory that is new to it.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/timing/timer.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

/// The fewest page faults of an execution (getrusage, ru_minflt: without reads of files) in up to three batches of so
/// many, and what one takes for a page of the smallest size. Absent where there is less than one.
std::optional<PageFaults> page_faults_of(Timer& timer, std::int64_t executions);

}  // namespace gpubench::bench
