// SPDX-License-Identifier: Apache-2.0
// Where a program's time and memory went: a pure function of a timeline.
#pragma once

#include <optional>

#include "core/model/program.h"
#include "timeline/structure/correlations.h"
#include "timeline/windows.h"

namespace gpubench::timeline {

struct AnalysisOptions {
  /// From a launch call's start to the start of its kernel on an idle GPU, as calibrated. Absent: the median of the
  /// timeline's own.
  std::optional<double> launch_latency_seconds = std::nullopt;
  /// What times of GPUs, ranges and findings are of; memory and the overview are of the whole.
  WindowsOf windows = {};
};

/// All of Program but what no timeline tells: command, ended, kernels, self_cost, counted launches, counters_reason.
/// Throws std::invalid_argument for a timeline that is not sorted, or whose slices name tracks that it does not have.
Program analyze(const Linked& linked, const AnalysisOptions& options = {});

}  // namespace gpubench::timeline
