// SPDX-License-Identifier: Apache-2.0
// The samples taken out of a run file while it is read: they are most of it, and comparing does not need them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpubench::storage {

/// Text in pieces goes in; what comes out has the numbers between the brackets of "samples_seconds", "samples_clock_hz"
/// and "block_sizes" left out. A quotation mark inside a JSON string has a backslash before it, so these words in
/// quotation marks, without one, and followed by ": [" are keys wherever they stand.
class Squeezer {
 public:
  /// `most` bytes will be fed, at most: room that is not needed is not touched.
  explicit Squeezer(std::size_t most = 0) { out_.reserve(most); }
  void feed(std::string_view piece);
  /// What is left of it all; nothing may be fed afterwards.
  std::string finish();
  /// Such a list holds something other than numbers: the text must be read as it is.
  [[nodiscard]] bool odd() const { return odd_; }

 private:
  bool copy_until_list();
  bool skip_numbers();

  std::string out_;
  std::string pending_;
  std::size_t at_ = 0;  ///< what of `pending_` is done with
  bool in_list_ = false;
  bool at_end_ = false;
  bool odd_ = false;
};

}  // namespace gpubench::storage
