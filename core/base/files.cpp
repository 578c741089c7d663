// SPDX-License-Identifier: Apache-2.0
#include "core/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
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
  if (nameless) descriptor_ = Descriptor(::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0644));
  if (!descriptor_.open()) open_named();
}

void TemporaryFile::open_named() {
  for (int i = 0; i < tries; ++i) {
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

int TemporaryFile::give_name() {
  int error = EEXIST;
  for (int i = 0; i < tries && error == EEXIST; ++i) {
    const auto name = random_name_in(folder_);
    error = link_as(descriptor_, name);
    if (error == 0) path_ = name;
  }
  if (error == 0) return 0;
  // Some systems cannot link what has no name (no /proc): then by way of a copy.
  const std::string text = read_all(descriptor_);
  open_named();
  return error_ != 0 ? error_ : write_all(descriptor_, text);
}

int TemporaryFile::keep_as(const std::filesystem::path& target) {
  if (path_.empty()) {
    // A link never replaces what is there; a rename does.
    if (link_as(descriptor_, target) == 0) return descriptor_.close();
    if (const int error = give_name(); error != 0) return error;
  }
  if (const int error = descriptor_.close(); error != 0) return error;
  if (std::rename(path_.c_str(), target.c_str()) != 0) return errno;
  path_.clear();
  return 0;
}

namespace {

constexpr std::string_view private_head = "gpubench-jobs-";

/// The lock of a folder; not open where another process has it, or where the folder is not this user's alone.
Descriptor lock_of(const std::filesystem::path& folder) {
  Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  const bool ours = lock.open() && fstat(lock.number(), &facts) == 0 && facts.st_uid == geteuid() &&
                    (facts.st_mode & 0777U) == 0700 && flock(lock.number(), LOCK_EX | LOCK_NB) == 0;
  return ours ? std::move(lock) : Descriptor();
}

void remove_left_behind(const std::filesystem::path& base) {
  std::error_code error;
  for (std::filesystem::directory_iterator place(base, error), end; !error && place != end; place.increment(error)) {
    if (!place->path().filename().string().starts_with(private_head)) continue;
    std::error_code ignored;
    if (const Descriptor lock = lock_of(place->path()); lock.open())
      std::filesystem::remove_all(place->path(), ignored);
  }
}

}  // namespace

PrivateFolder::PrivateFolder() {
  std::error_code error;
  std::filesystem::path base = std::filesystem::temp_directory_path(error);
  if (error) base = "/tmp";
  remove_left_behind(base);
  const std::string pattern = (base / private_head).string() + "XXXXXX";
  std::string name;
  int reason = EAGAIN;
  for (int tries = 0; tries < 100 && reason == EAGAIN; ++tries) {
    name = pattern;
    reason = mkdtemp(name.data()) == nullptr ? errno : 0;  // for this user alone, and of a name that none can foresee
    if (reason != 0) break;
    lock_ = lock_of(name);
    const int unlocked = lock_.open() ? 0 : errno;
    // Before it had its lock, another process may have taken it for one left behind.
    if (unlocked == EWOULDBLOCK || !std::filesystem::exists(name, error)) {
      reason = EAGAIN;
    } else if (unlocked != 0 && unlocked != ENOLCK && unlocked != EOPNOTSUPP) {  // a system without locks removes none
      ::rmdir(name.c_str());
      reason = unlocked;
    }
  }
  if (reason != 0)
    throw std::system_error(reason, std::generic_category(),
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
