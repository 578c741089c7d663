// SPDX-License-Identifier: Apache-2.0
// Messages that all ranks exchange together.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace gpubench {

/// send_receive: to the next rank, from the one before, as sendrecv of nccl-tests.
enum class Collective { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_receive };
inline constexpr auto collective_names = std::to_array<std::string_view>(
    {"all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-receive"});
constexpr const auto& names_of(Collective) { return collective_names; }

/// Bus over algorithm bandwidth: what the hardware must carry for each byte of the message, among so many ranks, by the
/// definitions of nccl-tests (NVIDIA/nccl-tests, doc/PERFORMANCE.md). All-reduce 2 (n - 1) / n; all-gather,
/// reduce-scatter and all-to-all (n - 1) / n; broadcast and send-receive 1.
constexpr double bus_factor(Collective collective, double ranks) {
  const double share = ranks > 0.0 ? (ranks - 1.0) / ranks : 0.0;
  switch (collective) {
    case Collective::all_reduce: return 2.0 * share;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return share;
    default: return 1.0;
  }
}

/// Whether a kernel is one of NCCL: it communicates, and spins until the other ranks are there. Its name may be as in
/// the source or as the linker has it.
constexpr bool is_collective_kernel(std::string_view name) {
  if (name.starts_with("_Z")) name.remove_prefix(std::min(name.find_first_not_of("0123456789", 2), name.size()));
  return name.starts_with("nccl");
}

/// Whether a kernel may spin until kernels of other GPUs are there: to hold it up holds all of them up.
constexpr bool waits_for_other_gpus(std::string_view name) {
  return is_collective_kernel(name) || name.find("nvshmem") != std::string_view::npos;
}

}  // namespace gpubench
