// SPDX-License-Identifier: Apache-2.0
// Asks processes that `profile --on-demand` started to record for a while.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "profile/injection/options.h"

namespace gpubench::profile {

/// There is nothing to ask; what() is one sentence.
struct TriggerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Has this process and those that descend from it record into the folder, as far as they wait for triggers, and waits
/// until all have. Returns why some did not record, a sentence each. Throws TriggerError where none waits.
std::vector<std::string> trigger(pid_t process, const std::filesystem::path& folder, const InjectionOptions& options);

/// What it was started as: "python3 server.py"; empty where that is not told.
std::string command_of(pid_t process);

}  // namespace gpubench::profile
