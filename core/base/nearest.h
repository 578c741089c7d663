// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the known words that a mistyped one is nearest to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench {

/// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other (optimal string
/// alignment distance).
std::size_t edit_distance(std::string_view one, std::string_view other);

/// The nearest known words, the nearest first: those within a third of the word's length, and those that it begins (if
/// it has at least three letters). At most `max`; empty when none is near.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known, std::size_t max = 3);

/// " Did you mean copy, or copy2d?"; empty without a near word.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace gpubench
