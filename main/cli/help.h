// SPDX-License-Identifier: Apache-2.0
// What --help prints, and what completes command lines in a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "main/cli/command.h"

namespace gpubench {

/// In 80 columns. Of a run only the options that most people need, unless `all`.
std::string help_text(const Command& command, const std::string& program, bool all);

/// `shell` is "bash", "zsh" or "fish". The script completes what `--complete WORD...` prints, and file names.
std::string completion_script(std::string program, std::string_view shell);
/// What the last word may become, a line each, with a tabulator and its meaning: the subcommands, the flags (with "="
/// where they take a value), or the values of a flag that takes one of a few words.
std::string completions(const std::vector<std::string>& words);

}  // namespace gpubench
