// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "core/base/files.h"

namespace gpubench {

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

void MappedFile::pass(std::size_t place) {
  constexpr std::size_t step = std::size_t{64} << 20U;  // pages of any size fit in it
  if (place - passed_ < 2 * step) return;
  const std::size_t end = place / step * step;
  (void)madvise(const_cast<char*>(bytes_.data()) + passed_, end - passed_, MADV_DONTNEED);
  passed_ = end;
}

}  // namespace gpubench
