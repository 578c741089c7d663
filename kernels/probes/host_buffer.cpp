// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/host_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <new>
#include <string>

namespace gpubench::probes {

HostBuffer::HostBuffer(std::size_t bytes) {
  // The kernel aligns large anonymous mappings to huge pages by itself only in recent versions: round the size up
  // instead, so that at most the first part of it lies on small pages.
  constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
  const std::size_t rounded = (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  void* memory = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  ::madvise(memory, rounded, MADV_HUGEPAGE);  // a wish; without it the pages are small and the figures a little lower
#endif
  data_ = static_cast<std::byte*>(memory);
  bytes_ = rounded;
}

HostBuffer::~HostBuffer() { ::munmap(data_, bytes_); }

std::optional<double> huge_page_share(const HostBuffer& buffer) {
  // /proc/self/smaps: "START-END perms ...", then "Key: N kB" lines. Adjacent mappings of one kind appear as one.
  std::ifstream file("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(buffer.data());
  bool within = false;
  double resident = 0.0;
  for (std::string line; std::getline(file, line);) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    double kibibytes = 0.0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2)
      within = begin <= wanted && wanted < end;
    else if (within && std::sscanf(line.c_str(), "Rss: %lf kB", &kibibytes) == 1)
      resident = kibibytes;
    else if (within && std::sscanf(line.c_str(), "AnonHugePages: %lf kB", &kibibytes) == 1)
      return resident > 0.0 ? std::optional(kibibytes / resident) : std::nullopt;
  }
  return std::nullopt;
}

std::size_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    if (key == "MemAvailable:") {
      std::size_t kibibytes = 0;
      file >> kibibytes;
      return kibibytes * 1024;
    }
    file.ignore(4096, '\n');
  }
  return 0;
}

}  // namespace gpubench::probes
