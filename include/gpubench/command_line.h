// SPDX-License-Identifier: Apache-2.0
// The command line that every benchmark program has.
#pragma once

namespace gpubench {

/// Runs the whole command line (see `--help`) over the registered operations and returns the exit code: 0 fine, 1
/// regression, 2 an operation failed or gave a wrong result, 3 the two runs are not comparable, 4 inconclusive, 64
/// wrong usage. `gpubench::main` is no more than this call; write your own main to do something before or after it.
int run_command_line(int argc, char** argv);

}  // namespace gpubench
