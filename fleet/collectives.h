// SPDX-License-Identifier: Apache-2.0
// Collectives as operations: what they move, and their bandwidths by the definitions of nccl-tests
// (NVIDIA/nccl-tests, doc/PERFORMANCE.md). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace gpubench::fleet {

enum class Collective { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_receive };
inline constexpr auto collective_names = std::to_array<std::string_view>(
    {"all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-receive"});
constexpr const auto& names_of(Collective) { return collective_names; }

/// Bus over algorithm bandwidth: what the hardware must carry for each byte of the message, among so many ranks.
/// All-reduce 2 (n - 1) / n; all-gather, reduce-scatter and all-to-all (n - 1) / n; broadcast and send-receive 1.
double bus_factor(Collective collective, int ranks);

/// The whole message, so that it divides into equal parts of whole floats for all ranks; at least one float each.
/// What nccl-tests calls the size: of all-gather what each rank receives, of reduce-scatter and all-to-all what it
/// sends.
std::int64_t message_bytes(std::int64_t wanted, int ranks);

struct CollectiveTimes {
  double median_seconds = 0.0;
  double p99_seconds = 0.0;
  double algorithm_bytes_per_second = 0.0;  ///< message over the median
  double bus_bytes_per_second = 0.0;
};
/// Of the times of all iterations, each that of its slowest rank. Throws std::invalid_argument on none.
CollectiveTimes summarize(Collective collective, std::int64_t bytes, int ranks, std::span<const double> seconds);

}  // namespace gpubench::fleet
