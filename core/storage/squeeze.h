// SPDX-License-Identifier: Apache-2.0
// What comparing does not need taken out of a run file while it is read: it is most of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/storage/storage.h"

namespace gpubench::storage {

/// JSON in pieces goes in; what comes out has left out
/// - the numbers between the brackets of "samples_seconds", "samples_clock_hz" and "block_sizes",
/// - what is between the brackets of "counters", "absent_counters", "variants", "advice", "votes" and, with
/// Clocks::own,
///   "other_clocks"; there no more is
///   looked at than that texts end and brackets match,
/// - of the space between tokens all after one of `{[,:`, and all but one blank elsewhere.
/// What is sound or not sound of the rest stays so.
class Squeezer {
 public:
  /// `most` bytes will be fed, at most: room that is not needed is not touched.
  explicit Squeezer(Clocks clocks, std::size_t max = 0) : clocks_(clocks) { out_.reserve(max); }
  void feed(std::string_view piece);
  /// What is left of it all; nothing may be fed afterwards.
  std::string finish();
  /// Such a list holds something else, or brackets that do not match: the text must be read as it is.
  [[nodiscard]] bool odd() const { return odd_; }

 private:
  enum class Inside { nothing, text, numbers, list, text_of_list };
  std::size_t work_through(std::string_view piece);
  bool copy_tokens(std::string_view piece, std::size_t& at);
  bool copy_text(std::string_view piece, std::size_t& at);
  bool skip_numbers(std::string_view piece, std::size_t& at);
  bool skip_list(std::string_view piece, std::size_t& at);
  bool skip_text(std::string_view piece, std::size_t& at);

  Clocks clocks_;
  std::string out_;
  std::string pending_;  ///< what could not be told without what comes next
  Inside inside_ = Inside::nothing;
  std::uint64_t open_ = 1;  ///< brackets of the list skipped: below a leading 1 a bit each, 1 for a brace
  bool at_end_ = false;
  bool odd_ = false;
};

}  // namespace gpubench::storage
