// SPDX-License-Identifier: Apache-2.0
#include "core/storage/squeeze.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace gpubench::storage {
namespace {

struct Key {
  std::string_view text;
  bool of_numbers;
  bool of_clocks = false;
};
constexpr std::array keys = {
    Key{"\"samples_seconds\"", true}, Key{"\"samples_clock_hz\"", true}, Key{"\"block_sizes\"", true},
    Key{"\"counters\"", false},       Key{"\"absent_counters\"", false}, Key{"\"variants\"", false},
    Key{"\"advice\"", false},         Key{"\"votes\"", false},           Key{"\"other_clocks\"", false, true}};
/// A key, a colon, a bracket, and room for spaces. More of those: it is read as it is.
constexpr std::size_t longest_head = 64;

using ByteSet = std::array<bool, 256>;

constexpr ByteSet set_of(std::string_view bytes) {
  ByteSet set{};
  for (const char c : bytes) set[static_cast<unsigned char>(c)] = true;
  return set;
}
constexpr bool is_in(const ByteSet& set, char c) { return set[static_cast<unsigned char>(c)]; }

constexpr ByteSet space = set_of(" \n\r\t");
/// What numbers and the space between them are made of.
constexpr ByteSet of_numbers = set_of("0123456789.,-+eE \n\r\t");
constexpr ByteSet space_or_quote = set_of(" \n\r\t\"");
constexpr ByteSet quote_or_backslash = set_of("\"\\");
constexpr ByteSet quote_or_bracket = set_of("\"[]{}");
/// What the keys begin with.
constexpr ByteSet initials = set_of("sbcavo");
/// After these space means nothing.
constexpr ByteSet opening = set_of("{[,:");

/// The first place from `at` on whose byte is in the set, or not in it; else the end.
std::size_t find_in(std::string_view text, std::size_t at, const ByteSet& set, bool in = true) {
  while (at < text.size() && is_in(set, text[at]) != in) ++at;
  return at;
}

/// A key of ours with its colon and opening bracket, at the beginning of a text.
struct Head {
  std::size_t length = 0;  ///< in bytes; 0: it is no such thing
  bool of_numbers = false;
};
Head head_of(std::string_view text, Clocks clocks) {
  for (const Key& key : keys) {
    if (!text.starts_with(key.text) || (key.of_clocks && clocks == Clocks::all)) continue;
    std::size_t place = find_in(text, key.text.size(), space, false);
    if (place >= text.size() || text[place] != ':') return {};
    place = find_in(text, place + 1, space, false);
    return place < text.size() && text[place] == '[' ? Head{place + 1, key.of_numbers} : Head{};
  }
  return {};
}

}  // namespace

/// Each of these works on from `at` and returns whether something else begins there; else more text is needed.
bool Squeezer::copy_tokens(std::string_view piece, std::size_t& at) {
  while (at < piece.size()) {
    const std::size_t end = find_in(piece, at, space_or_quote);
    out_.append(piece, at, end - at);
    at = end;
    if (at == piece.size()) return false;
    if (piece[at] != '"') {
      at = find_in(piece, at, space, false);
      if (out_.empty() || !is_in(opening, out_.back())) out_ += ' ';
      continue;
    }
    if (!at_end_ && at + longest_head > piece.size()) return false;
    const bool maybe = at + 1 < piece.size() && is_in(initials, piece[at + 1]);
    const Head head = maybe ? head_of(piece.substr(at, longest_head), clocks_) : Head{};
    const std::size_t length = std::max<std::size_t>(head.length, 1);
    out_.append(piece, at, length);
    at += length;
    inside_ = head.length == 0 ? Inside::text : head.of_numbers ? Inside::numbers : Inside::list;
    if (inside_ == Inside::list) open_ = 0b10;
    return true;
  }
  return false;
}

bool Squeezer::copy_text(std::string_view piece, std::size_t& at) {
  while (at < piece.size()) {
    const std::size_t end = find_in(piece, at, quote_or_backslash);
    out_.append(piece, at, end - at);
    at = end;
    if (at == piece.size()) return false;
    const bool closes = piece[at] == '"';
    const std::size_t length = closes ? 1 : 2;  // a backslash and what it escapes
    if (at + length > piece.size()) {
      if (at_end_) out_.append(piece, at, 1);
      at += at_end_ ? 1 : 0;
      return false;
    }
    out_.append(piece, at, length);
    at += length;
    if (closes) {
      inside_ = Inside::nothing;
      return true;
    }
  }
  return false;
}

bool Squeezer::skip_numbers(std::string_view piece, std::size_t& at) {
  at = find_in(piece, at, of_numbers, false);
  if (at == piece.size()) return false;
  odd_ = odd_ || piece[at] != ']';
  inside_ = Inside::nothing;
  return true;
}

bool Squeezer::skip_list(std::string_view piece, std::size_t& at) {
  constexpr std::uint64_t deepest = std::uint64_t{1} << 62;
  while (true) {
    at = find_in(piece, at, quote_or_bracket);
    if (at == piece.size()) return false;
    const char c = piece[at];
    const std::uint64_t brace = c == '{' || c == '}' ? 1 : 0;
    if (c == '"') {
      ++at;
      inside_ = Inside::text_of_list;
      return true;
    }
    if (c == '[' || c == '{') {
      odd_ = open_ >= deepest;
      open_ = open_ << 1 | brace;
    } else {
      odd_ = (open_ & 1) != brace;
      open_ >>= 1;
      if (open_ == 1) inside_ = Inside::nothing;  // the closing bracket is copied
    }
    if (odd_ || inside_ == Inside::nothing) return true;
    ++at;
  }
}

bool Squeezer::skip_text(std::string_view piece, std::size_t& at) {
  while (true) {
    at = find_in(piece, at, quote_or_backslash);
    if (at == piece.size()) return false;
    if (piece[at] == '"') {
      ++at;
      inside_ = Inside::list;
      return true;
    }
    if (at + 1 == piece.size()) return false;
    at += 2;
  }
}

/// How many bytes are done with.
std::size_t Squeezer::work_through(std::string_view piece) {
  std::size_t at = 0;
  for (bool more = true; more && !odd_;) {
    switch (inside_) {
      case Inside::nothing:
        more = copy_tokens(piece, at);
        break;
      case Inside::text:
        more = copy_text(piece, at);
        break;
      case Inside::numbers:
        more = skip_numbers(piece, at);
        break;
      case Inside::list:
        more = skip_list(piece, at);
        break;
      case Inside::text_of_list:
        more = skip_text(piece, at);
        break;
    }
  }
  return at;
}

void Squeezer::feed(std::string_view piece) {
  if (pending_.empty()) {  // the usual case needs no copy of it
    pending_.assign(piece.substr(work_through(piece)));
    return;
  }
  // What waits is short: as much of the piece as settles it, then the piece itself.
  const std::size_t taken = std::min(piece.size(), longest_head);
  pending_ += piece.substr(0, taken);
  pending_.erase(0, work_through(pending_));
  if (taken == piece.size()) return;
  if (pending_.size() <= taken) {
    piece.remove_prefix(taken - pending_.size());
    pending_.assign(piece.substr(work_through(piece)));
  } else {
    pending_ += piece.substr(taken);
    pending_.erase(0, work_through(pending_));
  }
}

std::string Squeezer::finish() {
  at_end_ = true;
  work_through(pending_);
  return std::move(out_);
}

}  // namespace gpubench::storage
