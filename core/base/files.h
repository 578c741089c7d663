// SPDX-License-Identifier: Apache-2.0
// Files and folders of the system that go with their objects.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gpubench {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  [[nodiscard]] bool open() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  /// Has what was written reach the disk; returns 0 or errno.
  [[nodiscard]] int sync() const;
  /// Closes now; returns 0 or errno, for some systems tell of a full disk only here.
  int close();

 private:
  int number_ = -1;
};

/// Writes all of the text. Returns 0 or errno.
int write_all(const Descriptor& file, std::string_view text);
/// All that a regular file holds, wherever it has been read up to.
std::string read_all(const Descriptor& file);
/// A file without a name, in memory. Not open on failure, with errno set.
Descriptor memory_file();

/// A new, empty file of a random name in a folder, gone when it goes out of scope unless `keep_as` was called.
class TemporaryFile {
 public:
  /// Permissions are 0644 less the umask. On failure `error()` is errno.
  explicit TemporaryFile(const std::filesystem::path& folder);
  TemporaryFile& operator=(TemporaryFile&&) = delete;  ///< not copied, not moved
  ~TemporaryFile();

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const Descriptor& descriptor() const { return descriptor_; }
  /// Has all of it reach the disk, and puts it in the target's place at once. Returns 0 or errno.
  int keep_as(const std::filesystem::path& target);

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
  int error_ = 0;
};

/// The first line of a file, such as those of /sys hold; absent where there is none to be read.
std::optional<std::string> first_line(const std::filesystem::path& file);

/// In which this program's own file lies; empty where that is not told.
std::filesystem::path program_folder();

/// The bytes of a regular file, mapped; none where it cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile& operator=(MappedFile&&) = delete;  ///< not copied, not moved
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  /// Why it cannot be read, as a sentence; empty where it can.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  std::string_view bytes_;
  std::string error_;
};

/// A folder of this user alone, removed with its content.
class PrivateFolder {
 public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder& operator=(PrivateFolder&&) = delete;  ///< not copied, not moved
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace gpubench
