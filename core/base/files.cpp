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
#include <fstream>
#include <random>
#include <system_error>

namespace gpubench {

Descriptor::~Descriptor() { close(); }

int Descriptor::close() {
  if (number_ < 0) return 0;
  return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno;
}

int Descriptor::sync() const { return ::fsync(number_) == 0 ? 0 : errno; }

int write_all(const Descriptor& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.number(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
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

TemporaryFile::TemporaryFile(const std::filesystem::path& folder) {
  constexpr int tries = 100;
  std::random_device random;
  for (int i = 0; i < tries; ++i) {
    path_ = folder / fmt::format(".gpubench-{:08x}{:08x}.tmp", random(), random());
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
  // Else a crash may leave an empty file under the final name (ext4 with delayed allocation).
  if (const int error = descriptor_.sync(); error != 0) return error;
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

std::optional<std::string> first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  return std::getline(stream, line) ? std::optional(std::move(line)) : std::nullopt;
}

std::filesystem::path program_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

MappedFile::MappedFile(const std::filesystem::path& file) {
  const Descriptor input(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (input.open() && fstat(input.number(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) {
      error_ = file.string() + " is no file.";
      return;
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) return;
    void* const start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, input.number(), 0);
    if (start != MAP_FAILED) {
      (void)madvise(start, size, MADV_SEQUENTIAL);
      bytes_ = {static_cast<const char*>(start), size};
      return;
    }
  }
  error_ = file.string() + " cannot be read: " + std::generic_category().message(errno) + ".";
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace gpubench
