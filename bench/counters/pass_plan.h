// SPDX-License-Identifier: Apache-2.0
// Which metrics are counted together, and in how many executions.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/counters/metric_names.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

/// Counted together. Where `passes` is 1, all values are of one and the same execution.
struct PassGroup {
  std::vector<std::string> counters;  ///< each once
  std::size_t passes = 1;
};

/// Whether it has a counter that tells instructions apart. On an H200 they count nothing of the kernels of a CUDA
/// graph, whatever else is counted there, and say zero.
bool is_by_instruction(const ResolvedMetric& metric);
/// One of those counters that is zero for no kernel.
inline constexpr std::string_view all_by_instruction = "smsp__sass_inst_executed.sum";

/// Whether it has a counter over elapsed time (kernel_ranges.h), and is counted kernel by kernel.
bool is_by_kernel(const ResolvedMetric& metric);

struct PassPlan {
  std::vector<PassGroup> groups;
  std::vector<ResolvedMetric> metrics;  ///< those that the groups count
  std::vector<AbsentCounter> absent;

  [[nodiscard]] std::size_t passes() const;
};

/// A metric that needs more executions than this is left out: throughput metrics of whole chips take dozens.
inline constexpr std::size_t max_passes_of_a_metric = 8;

/// Puts each metric, in order, into the first group whose one pass still holds it; a metric that needs several passes
/// by itself gets a group of its own. All counters of a metric are in one group. So values asked for next to each other
/// come from one execution as far as the hardware allows, which the scheduler behind a single large configuration does
/// not promise. Groups of several passes, if counting them all together takes fewer, become one, and groups after the
/// first that add no pass to it join it: each group is a round over all points.
/// Counters over elapsed time (kernel_ranges.h) share no group with others: they have ranges of their own.
/// With counters by instruction goes all_by_instruction, where that costs no pass: it shows whether they counted.
/// `passes_of` tells how many passes counters need together, or nothing when they cannot be counted.
PassPlan plan_passes(const std::vector<ResolvedMetric>& metrics,
                     const std::function<std::optional<std::size_t>(const std::vector<std::string>&)>& passes_of);

}  // namespace gpubench::bench
