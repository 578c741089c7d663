// SPDX-License-Identifier: Apache-2.0
// Why a point's time changed, from what both of its measurements carry: what it runs, what that is made of, what the
// hardware counted, the clock, and what the two programs were built and run with. Nothing is measured here.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/run.h"

namespace gpubench::compare {

enum class CauseKind {
  kernel,        ///< one kernel more or less, or another in its place
  copy,          ///< likewise of copies and fills
  launches,      ///< how often what it runs is launched
  host,          ///< time beside the kernels: launches, gaps, the host's part
  clock,         ///< of the multiprocessors or cores
  throttling,    ///< what held the clock down
  load,          ///< work of others on the cores or the GPU
  bytes,         ///< moved
  instructions,  ///< executed
  arithmetic,    ///< done
  atomics,       ///< updates of memory
  occupancy,     ///< blocks that fit at once, by registers, shared memory or block size
  spills,        ///< local memory
  waits,         ///< what warps wait for
  code,          ///< machine code
  build,         ///< compiler, its flags, optimisation
  libraries,     ///< driver, CUDA and other libraries
};
inline constexpr auto cause_kind_names = std::to_array<std::string_view>(
    {"kernel", "copy", "launches", "host", "clock", "throttling", "load", "bytes", "instructions", "arithmetic",
     "atomics", "occupancy", "spills", "waits", "code", "build", "libraries"});
constexpr std::string_view name_of(CauseKind kind) { return cause_kind_names[static_cast<std::size_t>(kind)]; }

struct Cause {
  CauseKind kind = CauseKind::code;
  std::string text;             ///< "gemm_tile: 96 -> 168 registers a thread, 2 -> 1 blocks a multiprocessor"
  std::optional<double> share;  ///< of the change that it explains, 0 to 1; absent where that cannot be told
  friend bool operator==(const Cause&, const Cause&) = default;
};

struct Causes {
  std::vector<Cause> list;  ///< by falling share; then those whose share cannot be told, the likelier first
  /// What is left of the change: "20 % of the change is left."
  std::string rest;
  std::string hint;  ///< what could tell more, or why counters cannot; of a GPU's points alone
  friend bool operator==(const Causes&, const Causes&) = default;
};

/// What the processes of a side say of a point together, there is at least one: the first with counters (else the
/// first), with the median clock and shares of cores and GPU, and what throttled at least half of them. Where both
/// sides ran in turns, load met both alike and is no cause: no shares.
Point typical_of(const std::vector<const Point*>& processes, bool in_turns);

/// One side of a change: the point, and the run that it is of.
struct CauseSide {
  const Point& point;
  const Run& run;
};

/// Takes over what counters and records of another run of the same code say of a point, where this one lacks them.
void add_explanations(const Point& from, Point& to);

/// `ratio`: new time over base, not 1. Time differences of kernels and commands that were recorded explain as much as
/// they are. Within a kernel that is slower the clock explains what its ratio would make, then work by its ratio where
/// the verdict names the resource that does it (where it names another, no share), then occupancy what is left, at most
/// its own ratio. Shares follow logarithms of times, and no part is explained twice.
Causes causes_of(const CauseSide& base, const CauseSide& next, double ratio);

}  // namespace gpubench::compare
