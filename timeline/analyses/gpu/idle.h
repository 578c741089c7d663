// SPDX-License-Identifier: Apache-2.0
// Why the GPUs were idle.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/program.h"
#include "core/model/table.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

/// HTA's threshold as it works: it compares its 30 with microseconds. A shorter gap in a stream is what launching one
/// kernel after another takes.
inline constexpr std::int64_t consecutive_kernel_delay_ns = 30'000;

/// Gaps between neighbours on one stream, by HTA's causes. `host`: the next launch call began after the work before had
/// ended. `kernel`: it had not, and the gap is shorter than the threshold. `other`: the rest, and work of no known call
/// beyond the threshold. Their sum is all time between the stream's first and last work in which it ran nothing.
struct StreamIdle {
  std::uint32_t track = 0;
  std::int64_t host_ns = 0, kernel_ns = 0, other_ns = 0;
  [[nodiscard]] std::int64_t total_ns() const { return host_ns + kernel_ns + other_ns; }
};
/// Of each stream that worked, in the order of tracks. Throws likewise.
std::vector<StreamIdle> stream_idle(const Linked& linked, std::int64_t threshold_ns = consecutive_kernel_delay_ns);

/// Idle time of each GPU by its cause, the longest first.
ResultTable idle_causes(const std::vector<GpuTime>& gpus);

}  // namespace gpubench::timeline
