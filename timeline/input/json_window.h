// SPDX-License-Identifier: Apache-2.0
// JSON a part at a time, and its numbers as they are written.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "timeline/input/bytes.h"

namespace gpubench::timeline {

std::string_view trimmed(std::string_view token);  ///< without what is blank behind it
/// A text of the JSON without its quotes and what is blank behind it.
std::string_view unquoted(std::string_view token);
/// Microseconds as written, "4491036073229.465", in nanoseconds: no double holds them. Absent for what is no number,
/// and beyond 73 years.
std::optional<std::int64_t> nanoseconds_in(std::string_view token);
/// A whole number, as such or as text.
std::optional<std::int64_t> whole_in(std::string_view token);

/// A window onto JSON, of which a part is in memory: simdjson reads its whole values, the rest waits for more.
class JsonWindow {
 public:
  JsonWindow(Bytes& bytes, std::size_t window_bytes) : bytes_(bytes), window_bytes_(window_bytes) {}

  [[nodiscard]] char* data() { return buffer_.get() + begin_; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] std::string_view text() const { return {buffer_.get() + begin_, size()}; }
  /// Of the first byte in memory.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  /// All of the bytes have been in memory.
  [[nodiscard]] bool ended() const { return ended_; }
  /// Reads until `size` bytes are in memory, as far as there are.
  bool fill(std::size_t size);
  /// Lets go of the first bytes.
  void pass(std::size_t count) {
    begin_ += count;
    offset_ += count;
  }
  /// Passes over what is blank, and over these.
  void skip_space(std::string_view and_these);
  /// Parses the window up to one of the places where it may be cut, and has `use` read the document, which is told the
  /// cut. `open` and `close` stand around the text meanwhile. False, with the reason in `why`, where none will do.
  bool parse(char open, char close, const std::function<void(simdjson::ondemand::document&, std::size_t)>& use);

  std::string why;

 private:
  std::size_t cut_before(std::size_t end);
  void repair();

  Bytes& bytes_;
  std::size_t window_bytes_;
  std::unique_ptr<char[]> buffer_;  // one byte before the window may be written to, and `padding` behind it
  std::size_t capacity_ = 0, begin_ = 1, end_ = 1;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
  simdjson::ondemand::parser parser_;
};

}  // namespace gpubench::timeline
