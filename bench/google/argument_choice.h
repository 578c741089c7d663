// SPDX-License-Identifier: Apache-2.0
// Values of arguments given on the command line, in place of those that are registered.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpubench::bench {

/// An argument that no operation has, a value that cannot be had, or a text that says neither; what() is one sentence.
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

/// Replaces the registered values of these arguments in every operation of this process that has them, for all that is
/// discovered and gone over from then on. To be called once, after initialize_google. Throws ArgumentError.
void choose_arguments(const std::vector<ArgumentChoice>& choices);

}  // namespace gpubench::bench
