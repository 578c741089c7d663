// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <new>

#include "kernels/probes/host/probes.h"

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
  for (std::string line; std::getline(file, line);) {  // NOLINTBEGIN(cert-err34-c): the kernel writes these numbers
    unsigned long long begin = 0;
    unsigned long long end = 0;
    double kibibytes = 0.0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2)
      within = begin <= wanted && wanted < end;
    else if (within && std::sscanf(line.c_str(), "Rss: %lf kB", &kibibytes) == 1)
      resident = kibibytes;
    else if (within && std::sscanf(line.c_str(), "AnonHugePages: %lf kB", &kibibytes) == 1)
      return resident > 0.0 ? std::optional(kibibytes / resident) : std::nullopt;
  }  // NOLINTEND(cert-err34-c)
  return std::nullopt;
}

namespace {

constexpr std::size_t grain = HostKernels::granularity_bytes;
constexpr int short_tries = 3;
constexpr std::size_t touch_step_bytes = std::size_t{16} << 20;

/// Makes sure that a value is computed.
void consume(std::uint64_t value) { asm volatile("" : : "r"(value)); }

template <auto loop>
void read(const HostKernels& kernels, std::byte* window, std::size_t bytes) {
  consume((kernels.*loop)(window, bytes, 1));
}
template <auto loop>
void write(const HostKernels& kernels, std::byte* window, std::size_t bytes) {
  (kernels.*loop)(window, bytes);
}
template <auto loop>
void copy(const HostKernels& kernels, std::byte* window, std::size_t bytes) {
  (kernels.*loop)(window, window + bytes, bytes);
}
template <auto loop>
void triad(const HostKernels& kernels, std::byte* window, std::size_t bytes) {
  (kernels.*loop)(window, window + bytes, window + 2 * bytes, bytes);
}

using K = HostKernels;
constexpr std::array loops = {
    StreamLoop{"dram-read", "", "one stream a thread", 1, read<&K::read>},
    StreamLoop{"dram-read", "", "one stream a thread with software prefetch", 1, read<&K::read_prefetched>},
    StreamLoop{"dram-read", "", "eight streams a thread with software prefetch", 1, read<&K::read_eight_streams>},
    StreamLoop{"dram-write", "nontemporal", "non-temporal stores", 1, write<&K::write_nontemporal>},
    StreamLoop{"dram-copy", "nontemporal", "non-temporal stores", 2, copy<&K::copy_nontemporal>},
    StreamLoop{"dram-triad", "nontemporal", "non-temporal stores", 3, triad<&K::triad_nontemporal>},
    StreamLoop{"dram-write", "ordinary", "ordinary stores", 1, write<&K::write>},
    StreamLoop{"dram-copy", "ordinary", "ordinary stores", 2, copy<&K::copy>},
    StreamLoop{"dram-triad", "ordinary", "ordinary stores", 3, triad<&K::triad>},
};

}  // namespace

std::span<const StreamLoop> stream_loops() { return loops; }

MemoryProbe::MemoryProbe(std::size_t bytes, Isa isa, double touch_seconds, std::size_t windows)
    : kernels_(host_kernels(isa)),
      threads_(static_cast<std::size_t>(team_size())),
      windows_(windows),
      buffer_(bytes + threads_ * touch_step_bytes),
      stride_bytes_((bytes / threads_ + touch_step_bytes - 1) / touch_step_bytes * touch_step_bytes) {
  const double start = now_seconds();
  while (part_bytes_ < stride_bytes_ && (part_bytes_ == 0 || now_seconds() - start < touch_seconds)) {
    team_seconds([this](std::size_t thread) {
      kernels_.write(buffer_.data() + thread * stride_bytes_ + part_bytes_, touch_step_bytes);
    });
    part_bytes_ += touch_step_bytes;
  }
}

double MemoryProbe::stream_rate(const StreamLoop& loop) {
  const std::size_t array_bytes = part_bytes_ / windows_ / loop.arrays / grain * grain;
  const std::size_t offset = part_bytes_ / windows_ * (next_window_++ % windows_);
  const double seconds = team_seconds(
      [&](std::size_t thread) { loop.run(kernels_, buffer_.data() + thread * stride_bytes_ + offset, array_bytes); });
  return static_cast<double>(array_bytes * loop.arrays * threads_) / seconds;
}

double MemoryProbe::piece_rate(std::size_t parts,
                               const std::function<void(std::byte* piece, std::size_t bytes)>& work) {
  const std::size_t pieces = windows_ * parts;
  const std::size_t bytes = part_bytes_ / pieces / grain * grain;
  const std::size_t offset = bytes * (next_piece_++ % pieces);
  const double seconds =
      team_seconds([&](std::size_t thread) { work(buffer_.data() + thread * stride_bytes_ + offset, bytes); });
  return static_cast<double>(bytes * threads_) / seconds;
}

double MemoryProbe::read_rate(std::size_t bytes_per_thread, double seconds) {
  const std::size_t bytes = std::min(bytes_per_thread, part_bytes_);
  const auto timed = [&](std::int64_t passes) {
    return team_seconds(
        [&](std::size_t thread) { consume(kernels_.read(buffer_.data() + thread * stride_bytes_, bytes, passes)); });
  };
  // A single pass over a small set is too short to be timed: grow until the estimate is worth something.
  std::int64_t passes = 1;
  double taken = timed(passes);
  while (taken < seconds / 8) {
    passes *= 4;
    taken = timed(passes);
  }
  const double one_pass = taken / static_cast<double>(passes);
  passes = std::max<std::int64_t>(1, std::llround(seconds / one_pass));
  // Whatever disturbs a short run only ever slows it down. A long one is not worth its time again.
  const int tries = passes > 1 ? short_tries : 1;
  double best = timed(passes);
  for (int i = 1; i < tries; ++i) best = std::min(best, timed(passes));
  return static_cast<double>(bytes * threads_) * static_cast<double>(passes) / best;
}

}  // namespace gpubench::probes
