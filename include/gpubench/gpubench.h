// SPDX-License-Identifier: Apache-2.0
// The one header of a benchmark program.
#pragma once

#include "gpubench/benchmark.h"
#include "gpubench/check.h"
#include "gpubench/state.h"
#include "gpubench/vectors.h"
#include "gpubench/work.h"

namespace gpubench {

/// Runs the whole command line (see `--help`) over the registered operations and returns the exit code: 0 fine, 1
/// regression, 2 an operation failed or gave a wrong result, 3 the two runs are not comparable, 4 inconclusive, 64
/// wrong usage. `gpubench::main` only calls this. To do something before or after it, write your own main.
int run_command_line(int argc, char** argv);

}  // namespace gpubench
