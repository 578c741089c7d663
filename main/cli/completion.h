// SPDX-License-Identifier: Apache-2.0
// Completion scripts for shells, from the tables that the parser uses: an option that is parsed is completed.
#pragma once

#include <string>
#include <string_view>

namespace gpubench {

/// `shell` is "bash", "zsh" or "fish". The script completes subcommands, flags, and the values of flags that take one
/// of a few words; of others, and of arguments, file names.
std::string completion_script(std::string program, std::string_view shell);

}  // namespace gpubench
