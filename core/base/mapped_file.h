// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace gpubench {

/// The bytes of a regular file, mapped; none where it cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  /// Why it cannot be read, as a sentence; empty where it can.
  [[nodiscard]] const std::string& error() const { return error_; }
  /// What lies before is read, and need not stay in memory.
  void pass(std::size_t place);

 private:
  std::string_view bytes_;
  std::string error_;
  std::size_t passed_ = 0;
};

}  // namespace gpubench
