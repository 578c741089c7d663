// SPDX-License-Identifier: Apache-2.0
// JSON a part at a time, and its numbers as they are written.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// A window onto JSON: simdjson reads its whole values, the rest waits for more.
class JsonWindow : public Window {
 public:
  JsonWindow(Bytes& bytes, std::size_t window_bytes) : Window(bytes), window_bytes_(window_bytes) {}

  /// Passes over what is blank, and over these.
  void skip_space(std::string_view and_these);
  /// Parses the window up to one of the places where it may be cut, and has `use` read the document, which is told the
  /// cut. `open` and `close` stand around the text meanwhile. False, with the reason in `why`, where none will do.
  bool parse(char open, char close, const std::function<void(simdjson::ondemand::document&, std::size_t)>& use);

  std::string why;
  /// Makes spaces and question marks of what simdjson takes in no text: bytes that are not UTF-8, and control
  /// characters. Offsets stay. False where there was none.
  bool repair();

 private:
  std::size_t cut_before(std::size_t end);

  std::size_t window_bytes_;
  simdjson::ondemand::parser parser_;
};

}  // namespace gpubench::timeline
