// SPDX-License-Identifier: Apache-2.0
#include "core/base/pattern.h"

#include <regex>
#include <stdexcept>

namespace gpubench {

std::function<bool(const std::string&)> searcher(const std::string& expression) {
  auto grammar = std::regex::extended;
#ifdef __GLIBCXX__
  grammar |= std::regex_constants::__polynomial;  // or it might go back for ever; other libraries give up by themselves
#endif
  try {
    return
        [regex = std::regex(expression, grammar)](const std::string& text) { return std::regex_search(text, regex); };
  } catch (const std::regex_error& error) {
    throw std::invalid_argument(error.what());
  }
}

}  // namespace gpubench
