// SPDX-License-Identifier: Apache-2.0
// Memory for the host probes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/probes/host_kernels.h"

namespace gpubench::probes {

/// Page-aligned memory on huge pages where the system has them; pages come into being where they are first touched.
class HostBuffer {
 public:
  /// Throws std::bad_alloc when it cannot be had.
  explicit HostBuffer(std::size_t bytes);
  HostBuffer& operator=(HostBuffer&&) = delete;  ///< not copied, not moved
  ~HostBuffer();

  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The share of a buffer's memory that lies on huge pages, 0 to 1; absent when the system does not tell.
std::optional<double> huge_page_share(const HostBuffer& buffer);

/// Bytes that can be allocated now without swapping; 0 when the system does not say.
std::size_t available_memory_bytes();

/// One way of streaming through memory.
struct StreamLoop {
  std::string_view resource;  ///< the ceiling it may set: "dram-read", ...
  std::string_view way;       ///< "nontemporal", "ordinary"; empty for loops without stores
  std::string_view how;       ///< in words: "non-temporal stores"
  int index = 0;              ///< for MemoryProbe alone
};

/// All ways; several for each resource. The last ones, with ordinary stores, leave dirty lines behind.
std::span<const StreamLoop> stream_loops();

/// A buffer of which every thread owns a part: it touches it first and is alone in using it. A part is divided into
/// windows; streaming takes one after the other, so that data comes round again only when all others have been through
/// the caches.
class MemoryProbe {
 public:
  /// Of the team that there is when it is made, and used by the same. Allocates `bytes` and touches them, but no more
  /// than it can in `touch_seconds` (a fresh virtual machine may take seconds to hand out a few GiB): `bytes()` says
  /// how many it has. Throws std::bad_alloc.
  MemoryProbe(std::size_t bytes, Isa isa, double touch_seconds, std::size_t windows = 4);

  [[nodiscard]] std::size_t bytes() const { return part_bytes_ * threads_; }
  [[nodiscard]] std::size_t threads() const { return threads_; }
  [[nodiscard]] std::size_t windows() const { return windows_; }
  [[nodiscard]] double window_bytes() const { return static_cast<double>(bytes() / windows_); }
  /// The first thread's part.
  [[nodiscard]] std::byte* data() { return buffer_.data(); }
  [[nodiscard]] const HostBuffer& buffer() const { return buffer_; }

  /// Streams through the next window and returns bytes/s as STREAM counts them: what the loop reads and writes, without
  /// the lines that the cache fetches in order to write them.
  double stream_rate(const StreamLoop& loop);

  /// Runs a function of memory on the next of `windows` x `parts` pieces of every thread's part and returns bytes/s.
  double piece_rate(std::size_t parts, const std::function<void(std::byte* piece, std::size_t bytes)>& work);

  /// Reads the first `bytes_per_thread` (a multiple of HostKernels::granularity_bytes) of every thread's part again and
  /// again, once untimed, then for about `seconds` but at least once. Returns bytes/s; of three tries the best where
  /// `seconds` hold more than one pass.
  double read_rate(std::size_t bytes_per_thread, double seconds);

 private:
  void stream(int loop, std::byte* window, std::size_t bytes) const;
  std::size_t next_offset();

  const HostKernels& kernels_;
  std::size_t threads_;
  std::size_t windows_;
  HostBuffer buffer_;
  std::size_t stride_bytes_ = 0;  ///< from one thread's part to the next
  std::size_t part_bytes_ = 0;    ///< touched and used in each part
  std::size_t next_window_ = 0;
  std::size_t next_piece_ = 0;
};

/// Distance of the links: a cache line of x86-64 and of most AArch64 cores.
inline constexpr std::size_t host_line_bytes = 64;

/// Links the first `lines` lines of memory in one random cycle, another for each seed: the start of each holds the
/// address of the next. By all threads of the team. `lines` > 0.
void make_host_chain(std::byte* memory, std::uint32_t lines, std::uint64_t seed);

/// Follows the links from `from` so many times and returns where that ends; each load waits for the one before it.
const std::byte* chase_host_chain(const std::byte* from, std::int64_t steps);

/// What the threads of a team add to.
enum class Sharing { one_address, one_line, spread };

/// Counters for the threads of a team.
class AtomicsProbe {
 public:
  AtomicsProbe();

  /// Every thread of the team adds 1 so many times, atomically and without asking for the result: to one counter, to
  /// one of its own in the same cache line (eight at most to a line), or to one in lines of its own. Returns the
  /// seconds from the first start to the last end.
  double add(Sharing sharing, std::int64_t times);

  /// Sum of all counters.
  [[nodiscard]] std::uint64_t total() const;

 private:
  static constexpr std::size_t stride_ = 32;  ///< counters between those of two threads: 256 bytes, past prefetchers
  std::vector<std::atomic<std::uint64_t>> counters_;
  std::size_t first_ = 0;  ///< the first at the start of a line
};

/// The processors that this process may use, as the system numbers them.
std::vector<int> allowed_processors();

/// Seconds from one thread's store to the moment at which another, on another processor, has seen it: the mean over
/// `rounds` rounds to and fro. `first` and `second` differ and are allowed. Throws std::system_error when a
/// thread cannot be made or put there.
double ping_pong_seconds(int first, int second, std::int64_t rounds);

}  // namespace gpubench::probes
