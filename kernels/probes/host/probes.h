// SPDX-License-Identifier: Apache-2.0
// The host probes: all threads run and timed together, arithmetic, memory, and pointer chases.
#pragma once

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/probes/host/kernels.h"

namespace gpubench::probes {

/// As many threads as OpenMP starts, and no more than there are cores: more would take turns, and reach no ceiling.
inline int team_size() { return std::min(omp_get_max_threads(), omp_get_num_procs()); }

/// While it lives, the teams that this thread starts have so many threads.
class TeamOf {
 public:
  explicit TeamOf(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  TeamOf& operator=(TeamOf&&) = delete;  ///< not copied, not moved
  ~TeamOf() { omp_set_num_threads(before_); }

 private:
  int before_;
};

/// Seconds on a steady clock from an arbitrary start.
inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Runs work(thread) on every thread at once and returns the seconds from the first start to the last end. The launch
/// of the team is not in it: all threads wait for each other before they start. `work` must not throw.
template <class Work>
double team_seconds(const Work& work) {
  const auto threads = static_cast<std::size_t>(team_size());
  std::vector<double> starts(threads, now_seconds());
  std::vector<double> ends(starts);
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
#pragma omp barrier
    const double start = now_seconds();
    work(thread);
    const double end = now_seconds();
    starts[thread] = start;
    ends[thread] = end;
  }
  double first = starts[0];
  double last = ends[0];
  for (std::size_t i = 1; i < threads; ++i) {
    first = starts[i] < first ? starts[i] : first;
    last = ends[i] > last ? ends[i] : last;
  }
  return last - first;
}

/// Arithmetic rate of the whole team and its clock, the mean of one reading right before and one right after, both
/// under vector load.
struct ArithmeticSample {
  double per_second = 0.0;         ///< FLOP/s or op/s, as the loop counts
  std::optional<double> clock_hz;  ///< median over the threads; absent where the processor has no probe for it
  double work = 0.0;               ///< done while timed, all threads together
  bool steady = true;              ///< the two readings agree within 0.3 %, on every thread
};

/// The loop for about `seconds`, each thread of the team for itself.
ArithmeticSample arithmetic_sample(const ArithmeticLoop& loop, double seconds);

/// The clock of the cores that the team runs on, by a chain of dependent additions: the median over the threads; absent
/// where the processor has no such chain.
std::optional<double> team_clock_hz(const HostKernels& kernels);

/// Matrix products of n x n by n x n, float or double, on all threads; the matrices hold random numbers in [-1, 1).
template <class Element>
class GemmProbe {
 public:
  /// Throws std::bad_alloc.
  GemmProbe(Isa isa, std::int64_t n);
  [[nodiscard]] std::int64_t n() const { return n_; }
  /// FLOP/s of one product.
  double flops_per_second();

 private:
  const GemmKernels& kernels_;
  std::int64_t n_;
  std::vector<Element> a_, b_, c_;
};

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

/// One way of streaming through memory.
struct StreamLoop {
  std::string_view resource;  ///< the ceiling it may set: "dram-read", ...
  std::string_view way;       ///< "nontemporal", "ordinary"; empty for loops without stores
  std::string_view how;       ///< in words: "non-temporal stores"
  std::size_t arrays = 1;     ///< that it divides its window among, of `bytes` each
  void (*run)(const HostKernels& kernels, std::byte* window, std::size_t bytes) = nullptr;
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
  [[nodiscard]] double window_bytes() const {
    const std::size_t whole = bytes() / windows_;
    return static_cast<double>(whole);
  }
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

}  // namespace gpubench::probes
