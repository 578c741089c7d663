// SPDX-License-Identifier: Apache-2.0
// Runs a program with the library that records it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "profile/injection/options.h"

namespace gpubench::profile {

/// The program could not be started, or there is nothing to record it with; what() is one sentence.
struct StartError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The library that is injected: $GPUBENCH_INJECTION, or beside this program, or in ../lib/gpubench from there. Throws
/// StartError where there is none.
std::filesystem::path injection_library();

struct ProgramEnd {
  int exit_code = 0;  ///< 128 and the signal's number where one ended it, as a shell says it
  int signal = 0;
  std::string words;  ///< "exit code 0", "signal 9 (Killed)"
};

/// Runs words[0] (PATH) with this process's terminal, files and signals, its recordings going to the folder. SIGINT and
/// SIGQUIT reach it from the terminal; SIGTERM and SIGHUP are passed on. `started` gets its number. Throws StartError.
ProgramEnd run_recorded(const std::vector<std::string>& words, const std::filesystem::path& folder,
                        const InjectionOptions& options, const std::function<void(pid_t)>& started = nullptr);

}  // namespace gpubench::profile
