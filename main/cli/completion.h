// SPDX-License-Identifier: Apache-2.0
// Completion of command lines in a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpubench {

/// `shell` is "bash", "zsh" or "fish". The script completes what `--complete WORD...` prints, and file names.
std::string completion_script(std::string program, std::string_view shell);
/// What the last word may become, a line each, with a tabulator and its meaning: the subcommands, the flags (with "="
/// where they take a value), or the values of a flag that takes one of a few words.
std::string completions(const std::vector<std::string>& words);

}  // namespace gpubench
