// SPDX-License-Identifier: Apache-2.0
#include "storage/squeeze.h"

#include <array>
#include <cstddef>
#include <utility>

namespace gpubench::storage {
namespace {

constexpr std::array keys = {std::string_view("\"samples_seconds\""), std::string_view("\"samples_clock_hz\""),
                             std::string_view("\"block_sizes\"")};
/// A key, a colon, a bracket, and room for spaces. More of those: it is read as it is.
constexpr std::size_t longest_head = 64;

/// What numbers and the space between them are made of, by byte.
constexpr std::array<bool, 256> of_numbers = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("0123456789.,-+eE \n\r\t")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

/// How many bytes of the text are a key of ours with its colon and opening bracket; 0 when it is no such thing.
std::size_t head_length(std::string_view text) {
  for (const std::string_view key : keys) {
    if (!text.starts_with(key)) continue;
    std::size_t place = key.size();
    const auto skip_spaces = [&] {
      while (place < text.size() &&
             (text[place] == ' ' || text[place] == '\n' || text[place] == '\r' || text[place] == '\t'))
        ++place;
    };
    skip_spaces();
    if (place >= text.size() || text[place] != ':') return 0;
    ++place;
    skip_spaces();
    return place < text.size() && text[place] == '[' ? place + 1 : 0;
  }
  return 0;
}

}  // namespace

/// Whether a list was reached; else more text is needed.
bool Squeezer::copy_until_list() {
  for (std::size_t from = at_;;) {
    const std::size_t quote = pending_.find('"', from);
    if (quote == std::string::npos) {
      out_.append(pending_, at_);
      at_ = pending_.size();
      return false;
    }
    if (!at_end_ && quote + longest_head > pending_.size()) {    // the rest of it comes with the next piece
      const std::size_t keep = quote > at_ ? quote - 1 : quote;  // the byte before says whether it is inside a string
      out_.append(pending_, at_, keep - at_);
      at_ = keep;
      return false;
    }
    const char next = quote + 1 < pending_.size() ? pending_[quote + 1] : '\0';
    const bool escaped = quote > 0 && pending_[quote - 1] == '\\';
    const std::size_t head = !escaped && (next == 's' || next == 'b')
                                 ? head_length(std::string_view(pending_).substr(quote, longest_head))
                                 : 0;
    if (head > 0) {
      out_.append(pending_, at_, quote + head - at_);
      at_ = quote + head;
      in_list_ = true;
      return true;
    }
    from = quote + 1;
  }
}

/// Whether the end of the list was reached; else more text is needed.
bool Squeezer::skip_numbers() {
  const char* const end = pending_.data() + pending_.size();
  const char* place = pending_.data() + at_;
  while (place != end && of_numbers[static_cast<unsigned char>(*place)]) ++place;
  at_ = static_cast<std::size_t>(place - pending_.data());
  if (at_ == pending_.size()) return false;
  odd_ = odd_ || pending_[at_] != ']';
  in_list_ = false;
  return true;
}

void Squeezer::feed(std::string_view piece) {
  pending_ += piece;
  while (!odd_ && (in_list_ ? skip_numbers() : copy_until_list())) {
  }
  pending_.erase(0, at_);
  at_ = 0;
}

std::string Squeezer::finish() {
  at_end_ = true;
  feed("");
  return std::move(out_);
}

}  // namespace gpubench::storage
