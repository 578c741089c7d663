// SPDX-License-Identifier: Apache-2.0
// Completion scripts for shells, generated from the parser itself: a flag that is parsed is completed.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace gpubench {

/// `shell` is "bash", "zsh" or "fish". The script completes subcommands, flags, and the values of flags that take one
/// of a few words; of others, and of arguments, file names.
std::string completion_script(const CLI::App& app, std::string_view shell);

}  // namespace gpubench
