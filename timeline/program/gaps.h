// SPDX-License-Identifier: Apache-2.0
// Stretches in which a GPU had nothing to do, and why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/model/program.h"
#include "timeline/structure/correlations.h"
#include "timeline/windows.h"

namespace gpubench::timeline {

/// Nanoseconds by cause, which add up to the gap.
struct IdleGap {
  std::uint32_t gpu = 0;      ///< in Correlations::gpus
  std::uint32_t next = none;  ///< the work that ended it; `none`: the process ended
  std::int64_t from = 0, to = 0;
  std::array<std::int64_t, idle_cause_names.size()> by_cause = {};
  [[nodiscard]] std::int64_t operator[](IdleCause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
};

/// Of each process the time from its first to its last slice; from > to where it has none.
std::vector<TimeWindow> process_spans(const Timeline& timeline);

/// Of each process when its recording held it up.
WindowsOf recordings_of(const Timeline& timeline);

/// Those of each GPU by time, within the span of its process. `launch_latency_seconds` as in AnalysisOptions.
void for_each_gap(const Linked& linked, std::optional<double> launch_latency_seconds,
                  const std::function<void(const IdleGap&)>& take);

}  // namespace gpubench::timeline
