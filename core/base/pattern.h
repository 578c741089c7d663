// SPDX-License-Identifier: Apache-2.0
// Regular expressions, in one source: <regex> takes two seconds to compile.
#pragma once

#include <functional>
#include <string>

namespace gpubench {

/// Says whether a text holds what a POSIX extended expression describes, in a time that grows slowly with the text.
/// Throws std::invalid_argument, whose text says what is wrong with the expression.
std::function<bool(const std::string&)> searcher(const std::string& expression);

}  // namespace gpubench
