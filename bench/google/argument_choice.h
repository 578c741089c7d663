// SPDX-License-Identifier: Apache-2.0
// --arg: other values for the arguments of operations.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpubench::bench {

/// A --arg that is malformed or that no operation has; what() is one sentence.
struct ArgumentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// "n=1024,4096", "n=2^10..2^26:4" or "type=float,double".
struct ArgumentChoice {
  std::string name;
  std::vector<std::string> texts;     ///< as given, for a text argument; empty for a range
  std::vector<std::int64_t> numbers;  ///< empty where one of the texts is no number
};
/// Throws ArgumentError.
ArgumentChoice parse_argument_choice(const std::string& text);

/// Replaces the registered values of these arguments in every operation that has them. To be called once, after
/// initialize_google. Throws ArgumentError.
void choose_arguments(const std::vector<ArgumentChoice>& choices);

}  // namespace gpubench::bench
