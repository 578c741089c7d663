// SPDX-License-Identifier: Apache-2.0
// Where a program's time and memory went: pure functions of a timeline. All take one that `sort` was called on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/program.h"
#include "timeline/timeline.h"

namespace gpubench::timeline {

struct AnalysisOptions {
  /// From a launch call's start to the start of its kernel on an idle GPU, as calibrated. Absent: the median of the
  /// timeline's own.
  std::optional<double> launch_latency_seconds = std::nullopt;
};

/// All of Program but what no timeline tells: command, ended, kernels, self_cost, counted launches, counters_reason.
/// Throws std::invalid_argument for a timeline that is not sorted, or whose slices name tracks that it does not have.
Program analyze(const Timeline& timeline, const AnalysisOptions& options = {});

/// Of each slice of the timeline the range path in which it was launched ("step/forward"), as a number in `paths`; 0
/// for what runs on no GPU, or outside of ranges. Of ranges whose names differ in a number at the end alone, more than
/// 16 are one: "step *". A launch on a thread without an open range belongs to the range that is open on the only
/// thread of its process that has one: so kernels of PyTorch's backward thread lie in the ranges of the thread that
/// waits for it. Throws as `analyze`.
std::vector<std::uint32_t> range_paths(const Timeline& timeline, StringPool& paths);

/// Of each process what tells it from the others: "python3 (rank 1)", "python3 (4711)"; empty where there is only one.
std::vector<std::string> process_labels(const Timeline& timeline);

/// Of intervals that are added by their starts: the time that any of them covers.
struct Union {
  std::int64_t total = 0;
  std::int64_t end = INT64_MIN;
  void add(std::int64_t from, std::int64_t to) {
    if (to <= end) return;
    total += to - (from > end ? from : end);
    end = to;
  }
};

}  // namespace gpubench::timeline
