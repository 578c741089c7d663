// SPDX-License-Identifier: Apache-2.0
// Another program, run to its end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "main/worker/child_process.h"

namespace gpubench {

struct ProgramResult {
  ProcessEnd end;
  bool timed_out = false;
  bool interrupted = false;  ///< a signal was noted (see Interruption)
  double seconds = 0.0;
};

/// Runs `program` (looked up in PATH when its name has no slash) with `arguments`, without a shell, nothing on its
/// standard input and its standard output thrown away; what it says on standard error goes to `log`. It has a process
/// group of its own, which is ended by force after `max_seconds` or when a signal has been noted. Throws
/// std::system_error when it cannot be started.
ProgramResult run_program(const std::string& program, const std::vector<std::string>& arguments,
                          const std::filesystem::path& log, double max_seconds);

}  // namespace gpubench
