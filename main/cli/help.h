// SPDX-License-Identifier: Apache-2.0
// What --help prints.
#pragma once

#include <string>

#include "main/cli/command.h"

namespace gpubench {

/// In 80 columns. Of a run only the options that most people need, unless `all`.
std::string help_text(const Command& command, const std::string& program, bool all);

}  // namespace gpubench
