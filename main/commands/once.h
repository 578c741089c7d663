// SPDX-License-Identifier: Apache-2.0
// --once: each point once, for a profiler.
#pragma once

#include <string>
#include <vector>

#include "main/cli/options.h"
#include "main/commands/plan.h"

namespace gpubench {

/// Prints the commands of Nsight Systems and Nsight Compute that go with this program and its arguments.
int print_once_commands(const std::vector<Plan>& plans, const std::string& program,
                        const std::vector<std::string>& arguments);

/// Runs each point once and names it on standard output. Returns the exit code.
int run_points_once(const std::vector<Plan>& plans, const Options& options);

}  // namespace gpubench
