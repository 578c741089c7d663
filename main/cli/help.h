// SPDX-License-Identifier: Apache-2.0
// Help of each command, from the tables of commands and options.
#pragma once

#include <string>

#include "main/cli/option_table.h"

namespace gpubench {

/// In 80 columns. Of a run only the options that most people need, unless `all`.
std::string help_text(const CommandRow& command, const std::string& program, bool all);

/// docs/reference/command-line.md.
std::string help_markdown();

}  // namespace gpubench
