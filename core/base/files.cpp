// SPDX-License-Identifier: Apache-2.0
#include "core/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <system_error>

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

std::string read_all(const Descriptor& file) {
  struct stat facts {};
  if (fstat(file.number(), &facts) != 0 || facts.st_size <= 0) return {};
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const auto got = pread(file.number(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

Descriptor memory_file() {
  const Descriptor file(memfd_create("gpubench", MFD_CLOEXEC));
  // Above the numbers of standard files, so that giving it to a process as one of them never hits another.
  return Descriptor(file.open() ? fcntl(file.number(), F_DUPFD_CLOEXEC, 3) : -1);
}

namespace {

std::filesystem::path random_name_in(const std::filesystem::path& folder) {
  std::random_device random;
  return folder / fmt::format(".gpubench-{:08x}{:08x}.tmp", random(), random());
}

constexpr int tries = 100;

/// Links a file without a name. Returns 0 or errno.
int link_as(const Descriptor& file, const std::filesystem::path& name) {
  const std::string place = fmt::format("/proc/self/fd/{}", file.number());
  return ::linkat(AT_FDCWD, place.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

}  // namespace

TemporaryFile::TemporaryFile(const std::filesystem::path& folder, bool nameless) : folder_(folder) {
  nameless = nameless && ::access("/proc/self/fd", X_OK) == 0;  // without it none can get a name
  if (nameless) descriptor_ = Descriptor(::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0644));
  for (int i = 0; i < tries && !descriptor_.open(); ++i) {
    path_ = random_name_in(folder_);
    // Not mkstemp, whose files only their owner can read: here the umask decides, without reading (and setting) it.
    descriptor_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    error_ = descriptor_.open() ? 0 : errno;
    if (error_ == 0) return;
    path_.clear();
    if (error_ != EEXIST) return;
  }
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

int TemporaryFile::keep_as(const std::filesystem::path& target) {
  if (path_.empty()) {
    // A link never replaces what is there; a rename does.
    if (link_as(descriptor_, target) == 0) return descriptor_.close();
    const auto name = random_name_in(folder_);
    if (const int error = link_as(descriptor_, name); error != 0) return error;
    path_ = name;
  }
  if (const int error = descriptor_.close(); error != 0) return error;
  if (std::rename(path_.c_str(), target.c_str()) != 0) return errno;
  path_.clear();
  return 0;
}

PrivateFolder::PrivateFolder() {
  std::error_code error;
  std::filesystem::path base = std::filesystem::temp_directory_path(error);
  if (error) base = "/tmp";
  std::string name = (base / "gpubench-XXXXXX").string();
  // For this user alone, and of a name that none can foresee.
  if (mkdtemp(name.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(),
                            fmt::format("no folder for the processes' results can be made in {}; set TMPDIR to a place "
                                        "where you may write",
                                        base.string()));
  path_ = name;
}

PrivateFolder::~PrivateFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace gpubench
