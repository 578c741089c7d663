// SPDX-License-Identifier: Apache-2.0
// Text from elsewhere (names of operations, messages, files): numbers in it, made safe, its width on a terminal.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gpubench {

/// The number that is all of the text; absent where the text is anything else.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// As std::string and std::ranges have it from C++23 on.
constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
constexpr bool contains(std::string_view text, char part) { return text.find(part) != std::string_view::npos; }
template <class List>
concept is_list = std::ranges::input_range<List> && !std::is_convertible_v<const List&, std::string_view>;
template <is_list List, class Value, class Projection = std::identity>
constexpr bool contains(const List& list, const Value& value, Projection projection = {}) {
  return std::ranges::find(list, value, projection) != std::ranges::end(list);
}

/// What `text_of` makes of each item, with the separator between them.
template <class Items, class TextOf = std::identity>
std::string joined(const Items& items, std::string_view separator, const TextOf& text_of = {}) {
  std::string text;
  std::string_view before;
  for (const auto& item : items) {
    text.append(before).append(std::invoke(text_of, item));
    before = separator;
  }
  return text;
}

/// What stands before `end`, which is taken off with it; all where there is none.
std::string_view taken_until(char end, std::string_view& text);

/// The parts between the separators, empty ones too: one more than there are separators.
std::vector<std::string> split(std::string_view text, char separator);

/// Valid UTF-8 on one line, with nothing a terminal obeys: control characters (C0, DEL, C1) become "\n", "\t", "\x1b",
/// bidirectional overrides and line separators "\u202e"; bytes that are not UTF-8 become U+FFFD.
std::string printable(std::string_view text);

/// Output, of several lines perhaps, in which the log of a CI service finds no command: a line that begins with "::"
/// (GitHub) begins with "\x3a:" then, and "##[" and "##vso[" (GitHub, Azure) are written "\x23#[".
std::string without_log_commands(std::string_view text);

std::string printable_lines(std::string_view text);

/// JSON by a writer that takes texts and numbers as they are: what is not UTF-8 becomes U+FFFD, a character in a text
/// that `printable` escapes "\u001b", and a NaN or Infinity null.
std::string valid_json(std::string_view text);

/// ASCII, in every locale.
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_letter_or_digit(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

std::string lower(std::string text);

/// The last line with anything in it: what a process said last.
std::string last_line(std::string_view text);

/// The numbers of a list as the kernel writes processors and NUMA nodes: "0-3,8" is 0, 1, 2, 3, 8. Absent for other
/// texts, and for more than 65 536 numbers.
std::optional<std::vector<int>> numbers_in_list(std::string_view text);

/// A function's name as in the source, with its parameters. A name that is not mangled stays as it is.
std::string demangled(const std::string& name);

/// Columns on a terminal: combining marks take none, wide East Asian characters and emoji two. For printable text.
std::size_t display_width(std::string_view text);

/// At most `width` columns, the middle replaced by an ellipsis: the end of a point's name holds its arguments.
std::string shorten(std::string_view text, std::size_t width);

/// Lines of at most `width` columns, broken at spaces where there are any. One empty line for no text.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Spaces up to `width` columns, after the text.
std::string pad_right(std::string_view text, std::size_t width);

/// " Did you mean copy or copy2d?", of at most three known words, the nearest first: those within a third of the word's
/// length (by insertions, deletions, substitutions and swaps of neighbours), and those that it begins, if it has at
/// least three letters. Empty when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace gpubench
