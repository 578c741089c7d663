// SPDX-License-Identifier: Apache-2.0
// Does an operation do what its author says it does?
#pragma once

#include <string>
#include <vector>

#include "core/model/device.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

/// Declared and counted work that differ by more than this fraction are told of.
inline constexpr double tolerated_work_difference = 0.05;
/// DRAM traffic is what was declared only where the last level of cache keeps next to nothing from one execution to the
/// next: from this many times its size on.
inline constexpr double min_caches_for_dram = 4.0;

/// One clause for each difference: "moves 3.1 x the bytes it declares", "does 0.5 x the fp32 FLOPs it declares". Empty
/// where all agree or nothing can be said: no counter of it, nothing declared, or a working set that caches hold.
/// FLOPs of the half pipes are flagged only where no share of scalar instructions can explain them.
std::vector<std::string> work_differences(const Measurement& measurement, const Device& device);

}  // namespace gpubench::bench
