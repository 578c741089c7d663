// SPDX-License-Identifier: Apache-2.0
// Pointer chases on the host, and cores that meet at a cache line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpubench::probes {

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
