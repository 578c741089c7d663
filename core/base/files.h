// SPDX-License-Identifier: Apache-2.0
// Files and folders of the system that go with their objects.
#pragma once

#include <filesystem>
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
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  [[nodiscard]] bool open() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  /// Closes now; returns 0 or errno, for some systems tell of a full disk only here.
  int close();

 private:
  int number_ = -1;
};

/// Writes all of the text and has it reach the disk. Returns 0 or errno.
int write_all(const Descriptor& file, std::string_view text);
/// All that a regular file holds, wherever it has been read up to.
std::string read_all(const Descriptor& file);
/// A file without a name, in memory. Not open on failure, with errno set.
Descriptor memory_file();

/// A new, empty file in a folder, gone when it goes out of scope unless `keep_as` was called. Where the file system
/// can, it has no name until then, so that a killed process leaves nothing; elsewhere a random one.
class TemporaryFile {
 public:
  /// Permissions are 0644 less the umask. On failure `error()` is errno.
  explicit TemporaryFile(const std::filesystem::path& folder, bool nameless = true);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const Descriptor& descriptor() const { return descriptor_; }
  [[nodiscard]] bool has_name() const { return !path_.empty(); }
  /// Closes and puts it in the target's place at once. Returns 0 or errno.
  int keep_as(const std::filesystem::path& target);

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
  Descriptor descriptor_;
  int error_ = 0;
};

/// A folder of this user alone, removed with its content.
class PrivateFolder {
 public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace gpubench
