// SPDX-License-Identifier: Apache-2.0
// Words of the command line sorted by the tables of commands and options. CLI11 does it, and only parser.cpp sees it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "main/cli/option_table.h"

namespace gpubench {

struct ParsedWords {
  const CommandRow* command = nullptr;
  std::vector<std::string> inputs;                                ///< what is no option
  std::vector<std::pair<const OptionRow*, std::string>> options;  ///< the value is empty for a switch
  std::vector<std::string> unknown;                               ///< neither option nor input of the command
};

/// Throws UsageError for an option without its value, and the like; what is unknown is the caller's to judge.
ParsedWords parse_words(const std::vector<std::string>& words);

}  // namespace gpubench
