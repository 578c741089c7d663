// SPDX-License-Identifier: Apache-2.0
// A profiled program on the console.
#pragma once

#include <string>

#include "core/base/table.h"
#include "core/model/run.h"

namespace gpubench::reports {

/// What was run, where the GPUs' time went, the kernels that matter, what to do, memory. `run` has a program.
std::string program_text(const Run& run, const ConsoleStyle& style);

}  // namespace gpubench::reports
