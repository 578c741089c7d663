// SPDX-License-Identifier: Apache-2.0
// Why an operation that keeps no unit busy takes its time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/model/measurement.h"
#include "core/model/resources.h"

namespace gpubench::classifier {

struct Machine;
struct PointAnalysis;

/// A limiter of the regime latency.
struct LatencyCause {
  std::string_view limiter = resource::latency;  ///< this where nothing is known
  std::string clause = {};                       ///< "71 % of its stalled warps wait at barriers"; may be empty
};

/// By the grid where that leaves a third of the multiprocessors idle, else by updates that meet at few addresses, by
/// blocks of unequal work, or by what most stalled warps wait for. A load that takes much longer than from an idle DRAM
/// waits in a queue: then more loads in flight help nothing. Where DRAM and L2 are idle meanwhile, the queue is
/// elsewhere. Where nothing was counted and all blocks run at once, the time is that of one block.
LatencyCause latency_cause(const PointAnalysis& it);

/// That updates wait for each other, where they are a good part of what L2 is asked for: most stalled warps wait for
/// memory, at each access longer than an empty kernel takes, and DRAM and L2 are idle. Absent where nothing shows it.
std::optional<std::string> queue_of_updates(const Measurement& measurement, const Machine& machine);

/// Whether the grid alone says why.
inline bool is_by_grid(const LatencyCause& cause) {
  return cause.limiter == resource::few_blocks || cause.limiter == resource::uneven_waves;
}

/// The part of the time for which the mean multiprocessor has work; absent for several kernels, whose gaps count, and
/// for short ones.
std::optional<double> active_part(const Measurement& measurement);

/// Which parts of the time on the device moving data and computing need, as counted or by the model, in an operation of
/// several kernels where each of the two may limit some of them. Absent else.
struct Sides {
  double memory = 0.0;
  double pipe = 0.0;
};
std::optional<Sides> limits_of_several_kernels(const PointAnalysis& it);

}  // namespace gpubench::classifier
