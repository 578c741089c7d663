// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

namespace gpubench {
namespace {

struct Character {
  char32_t code;
  std::size_t length;
};

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

/// Decodes one character of UTF-8 as RFC 3629 has it: shortest form, no surrogates, up to U+10FFFF.
std::optional<Character> decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return Character{byte(0), 1};
  std::size_t length = 0;
  char32_t code = 0;
  char32_t min = 0;
  if (byte(0) >= 0xC2 && byte(0) <= 0xDF) {
    length = 2, code = byte(0) & 0x1FU, min = 0x80;
  } else if ((byte(0) & 0xF0U) == 0xE0) {
    length = 3, code = byte(0) & 0x0FU, min = 0x800;
  } else if (byte(0) >= 0xF0 && byte(0) <= 0xF4) {
    length = 4, code = byte(0) & 0x07U, min = 0x10000;
  } else {
    return std::nullopt;
  }
  if (text.size() < length) return std::nullopt;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return std::nullopt;
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  if (code < min || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return std::nullopt;
  return Character{code, length};
}

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
bool contains(const std::array<Range, N>& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [&](Range r) { return code >= r.first && code <= r.last; });
}

// Line and paragraph separators, and what turns the direction of text around (Unicode 15, UAX #9).
constexpr std::array unprintable = {Range{0x00, 0x1F},     Range{0x7F, 0x9F},     Range{0x061C, 0x061C},
                                    Range{0x200E, 0x200F}, Range{0x2028, 0x202E}, Range{0x2066, 0x2069},
                                    Range{0xFEFF, 0xFEFF}};
// The common combining blocks and zero-width characters.
constexpr std::array zero_width = {
    Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD}, Range{0x064B, 0x065F}, Range{0x1AB0, 0x1AFF},
    Range{0x1DC0, 0x1DFF}, Range{0x200B, 0x200D}, Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}};
// East Asian wide and fullwidth characters and emoji (Unicode 15, UAX #11), by block.
constexpr std::array two_wide = {
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},
    Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},   Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},
    Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};

std::size_t width_of(char32_t code) {
  if (code < 0x300) return 1;
  if (contains(zero_width, code)) return 0;
  return contains(two_wide, code) ? 2 : 1;
}

std::string escaped(char32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  return code < 0x100 ? fmt::format("\\x{:02x}", static_cast<std::uint32_t>(code))
                      : fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
}

/// The characters of printable text; stray bytes count as one column each.
std::vector<Character> characters(std::string_view text) {
  std::vector<Character> result;
  while (!text.empty()) {
    const Character next = decode(text).value_or(Character{0xFFFD, 1});
    result.push_back(next);
    text.remove_prefix(next.length);
  }
  return result;
}

/// Whether the space at that byte stands between digits, as in "131 072".
bool inside_number(std::string_view text, std::size_t space) {
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  return space > 0 && space + 1 < text.size() && digit(space - 1) && digit(space + 1);
}

/// Edits and swaps of neighbours that turn one word into the other (optimal string alignment distance).
std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before, last(other.size() + 1), row(other.size() + 1);
  for (std::size_t j = 0; j <= other.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const bool same = one[i - 1] == other[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[other.size()];
}

}  // namespace

std::string printable(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; })) return std::string(text);
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto next = decode(text);
    if (!next) {
      result += replacement;
      text.remove_prefix(1);
      continue;
    }
    if (contains(unprintable, next->code)) {
      result += escaped(next->code);
    } else {
      result += text.substr(0, next->length);
    }
    text.remove_prefix(next->length);
  }
  return result;
}

std::string printable_lines(std::string_view text) {
  std::string result;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    result += printable(text.substr(start, end - start));
    if (end < text.size()) result += '\n';
    start = end + 1;
  }
  return result;
}

std::string valid_json(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool quoted = false;
  while (!text.empty()) {
    const auto next = decode(text);
    std::size_t length = next ? next->length : 1;
    const std::string_view number = text.substr(text.front() == '-' ? 1 : 0);
    const std::size_t word = number.starts_with("NaN") ? 3 : number.starts_with("Infinity") ? 8 : 0;
    if (!next) {
      result += replacement;
    } else if (quoted && next->code == U'\\' && text.size() > 1) {
      length = 2;
      result += text.substr(0, length);
    } else if (quoted && contains(unprintable, next->code)) {
      result += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(next->code));
    } else if (!quoted && word > 0) {
      length = text.size() - number.size() + word;
      result += "null";
    } else {
      if (next->code == U'"') quoted = !quoted;
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string without_log_commands(std::string_view text) {
  // GitHub's runner takes off any white space in front of "::".
  constexpr std::array blank = {Range{0x09, 0x0D},     Range{0x20, 0x20},     Range{0xA0, 0xA0},
                                Range{0x1680, 0x1680}, Range{0x2000, 0x200A}, Range{0x202F, 0x202F},
                                Range{0x205F, 0x205F}, Range{0x3000, 0x3000}};
  std::string result;
  result.reserve(text.size());
  bool line_start = true;
  while (!text.empty()) {
    const Character next = decode(text).value_or(Character{0xFFFD, 1});
    if (line_start && text.starts_with("::"))
      result += "\\x3a";
    else if (text.starts_with("##[") || text.starts_with("##vso["))
      result += "\\x23";
    else
      result += text.substr(0, next.length);
    line_start = next.code == U'\n' || (line_start && contains(blank, next.code));
    text.remove_prefix(next.length);
  }
  return result;
}

std::optional<std::vector<int>> numbers_in_list(std::string_view text) {
  constexpr std::size_t max_numbers = 65'536;
  std::vector<int> numbers;
  while (!text.empty()) {
    const std::string_view part = taken_until(',', text);
    const std::size_t dash = part.find('-');
    const auto first = number_in<int>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number_in<int>(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first) return std::nullopt;
    if (static_cast<std::size_t>(*last - *first) + numbers.size() >= max_numbers) return std::nullopt;
    for (int number = *first; number <= *last; ++number) numbers.push_back(number);
  }
  return numbers;
}

std::string_view taken_until(char end, std::string_view& text) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(taken.size() + 1, text.size()));
  return taken;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

std::string last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

namespace {

/// "ns::kernel<ILi7E>(...)" of a mangled name that this library's demangler does not know, with template arguments as
/// they are; the name itself where it is none.
std::string path_of_mangled(const std::string& name) {
  std::string_view rest = std::string_view(name).substr(2);
  const bool nested = rest.starts_with('N');
  if (nested) rest.remove_prefix(1);
  std::string path = rest.starts_with("St") ? "std" : "";
  if (!path.empty()) rest.remove_prefix(2);
  while (!rest.empty() && rest.front() >= '1' && rest.front() <= '9') {
    std::size_t length = 0;
    for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9' && length < name.size(); rest.remove_prefix(1))
      length = 10 * length + static_cast<std::size_t>(rest.front() - '0');
    if (length > rest.size()) return name;
    const std::string_view part = rest.substr(0, length);
    path += path.empty() ? "" : "::";
    path += part.starts_with("_GLOBAL__N_") ? "(anonymous namespace)" : part;
    rest.remove_prefix(length);
    if (!nested) break;
  }
  if (path.empty()) return name;
  return rest.starts_with('I') ? fmt::format("{}<{}>(...)", path, rest.substr(1)) : path + "(...)";
}

}  // namespace

std::string demangled(const std::string& name) {
  const auto replaced = [](std::string text, std::string_view from, std::string_view to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  };
  const auto source_of = [](const std::string& mangled) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> source(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                        std::free);
    return source ? std::optional<std::string>(source.get()) : std::nullopt;
  };
  if (const auto source = source_of(name)) return *source;
  // Libraries up to GCC 12 do not know bfloat16, which AMD's kernels have: another type stands in for it.
  constexpr std::string_view bfloat16 = "DF16b", other = "De", other_name = "decimal128";
  if (!name.starts_with("_Z")) return name;
  if (name.find(bfloat16) == std::string::npos) return path_of_mangled(name);
  const auto source = source_of(replaced(name, bfloat16, other));
  return source ? replaced(*source, other_name, "std::bfloat16_t") : path_of_mangled(name);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const Character& character : characters(text)) width += width_of(character.code);
  return width;
}

std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  const auto all = characters(text);
  const std::size_t tail_width = (width - 1) / 2;
  const std::size_t head_width = width - 1 - tail_width;
  const auto bytes_within = [](auto first, auto last, std::size_t room) {
    std::size_t bytes = 0;
    for (auto character = first; character != last && width_of(character->code) <= room; ++character) {
      room -= width_of(character->code);
      bytes += character->length;
    }
    return bytes;
  };
  const std::size_t head_bytes = bytes_within(all.begin(), all.end(), head_width);
  const std::size_t tail_bytes = bytes_within(all.rbegin(), all.rend(), tail_width);
  return std::string(text.substr(0, head_bytes)) + "\xE2\x80\xA6" + std::string(text.substr(text.size() - tail_bytes));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  width = std::max<std::size_t>(width, 2);
  std::vector<std::string> lines;
  while (true) {
    std::size_t bytes = 0;
    std::size_t used = 0;
    std::size_t space = std::string_view::npos;
    while (bytes < text.size()) {  // only what is on this line, for the text may be long
      const Character next = decode(text.substr(bytes)).value_or(Character{0xFFFD, 1});
      if (next.code == ' ' && bytes > 0 && !inside_number(text, bytes) && !text.substr(bytes).starts_with(" %"))
        space = bytes;
      if (used + width_of(next.code) > width) break;
      used += width_of(next.code);
      bytes += next.length;
    }
    if (bytes == text.size()) break;
    const bool at_space = space != std::string_view::npos;
    lines.emplace_back(text.substr(0, at_space ? space : bytes));
    text.remove_prefix(at_space ? space + 1 : bytes);
  }
  lines.emplace_back(text);
  return lines;
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(text) + std::string(width > used ? width - used : 0, ' ');
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t max = 3;
  constexpr std::size_t longest = 200;  // the distance takes quadratic time
  if (word.empty() || word.size() > longest) return {};
  std::set<std::pair<std::size_t, std::string>> found;
  for (const std::string& candidate : known) {
    if (candidate.size() > longest) continue;
    const std::size_t distance = edit_distance(word, candidate);
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    if (begins || distance <= std::max<std::size_t>(1, word.size() / 3)) found.emplace(distance, candidate);
  }
  std::vector<std::string> words;
  for (const auto& [distance, candidate] : found)
    if (words.size() < max) words.push_back(candidate);
  if (words.empty()) return {};
  const std::string last = words.back();
  words.pop_back();
  return fmt::format(" Did you mean {}{}{}?", fmt::join(words, ", "), words.empty() ? "" : " or ", last);
}

}  // namespace gpubench
