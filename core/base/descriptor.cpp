// SPDX-License-Identifier: Apache-2.0
#include "core/base/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>

namespace gpubench {

Descriptor::~Descriptor() { close(); }

int Descriptor::close() {
  if (number_ < 0) return 0;
  return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno;
}

int write_all(const Descriptor& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.number(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  // Before the rename: else a crash may leave an empty file under the final name (ext4 with delayed allocation).
  return ::fsync(file.number()) == 0 ? 0 : errno;
}

TemporaryFile::TemporaryFile(const std::filesystem::path& folder) {
  constexpr int tries = 100;
  std::random_device random;
  for (int i = 0; i < tries; ++i) {
    path_ = folder / fmt::format(".gpubench-{:08x}{:08x}.tmp", random(), random());
    // Not mkstemp, which makes files only their owner can read: here the umask decides, without reading (and setting)
    // it.
    descriptor_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (descriptor_.open()) return;
    error_ = errno;
    path_.clear();
    if (error_ != EEXIST) return;
  }
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

int TemporaryFile::keep_as(const std::filesystem::path& target) {
  if (const int error = descriptor_.close(); error != 0) return error;
  if (std::rename(path_.c_str(), target.c_str()) != 0) return errno;
  path_.clear();
  return 0;
}

}  // namespace gpubench
