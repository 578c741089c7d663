// SPDX-License-Identifier: Apache-2.0
// A command line, read by the rows of the commands.
#pragma once

#include <memory>

#include "main/cli/command.h"

namespace gpubench {

struct CommandLine {
  const Command* command = nullptr;  ///< null where there is only a text to print
  std::unique_ptr<Options> options;
};

/// Throws UsageError.
CommandLine parse_command_line(int argc, char** argv);

}  // namespace gpubench
