// SPDX-License-Identifier: Apache-2.0
// What users may ask for, and what that is called on each chip.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/measurement.h"
#include "gpu/profiling/metric_source.h"

namespace gpubench::bench {

/// A --metrics that cannot be meant; what() is one sentence.
struct MetricNameError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The names that "none", "core", "flops", "units" or a list of names stands for, each once. A name with "__" in it is
/// CUPTI's own and stays as it is. Throws MetricNameError.
std::vector<std::string> parse_metrics(std::string_view text);

/// A metric as this chip counts it: the sum of factor x counter.
struct ResolvedMetric {
  struct Term {
    double factor = 1.0;
    std::string counter;
  };
  /// What makes a count a share of the time: the peak per cycle, and the cycles per second. A range is longer than the
  /// operation in it, so the time is the timing's, not the range's.
  struct Peak {
    std::string counter;
    std::string clock;
    bool of_multiprocessors = false;  ///< the clock that is read beside the timing, too
  };
  std::string name;  ///< as asked for
  std::string unit;
  std::vector<Term> terms;
  std::optional<Peak> peak = std::nullopt;
  bool of_units = false;  ///< of the set "units", which is counted together
};

struct Resolution {
  std::vector<ResolvedMetric> metrics;
  std::vector<AbsentCounter> absent;
};

/// Looks up each name by itself, because CUPTI refuses a whole list for one unknown name. `unit_of` gives the unit of a
/// counter, or nothing when the chip has no such counter.
Resolution resolve(const std::vector<std::string>& names, std::string_view chip,
                   const std::function<std::optional<std::string>(const std::string&)>& unit_of);

/// Counted together. Where `passes` is 1, all values are of one and the same execution.
struct PassGroup {
  std::vector<std::string> counters;  ///< each once
  std::size_t passes = 1;
};

/// Whether it has a counter that tells instructions apart. Those read zero for the kernels of a CUDA graph.
bool is_by_instruction(const ResolvedMetric& metric);
/// One of those counters that is zero for no kernel.
inline constexpr std::string_view all_by_instruction = "smsp__sass_inst_executed.sum";

/// Whether it has a counter over elapsed time, so that it is counted kernel by kernel.
bool is_by_kernel(const ResolvedMetric& metric);

/// The passes that counters need together, or nothing where the profiler refuses them.
using PassesOf = std::function<std::optional<std::size_t>(const std::vector<std::string>&)>;

/// Sets of counters that one pass counts each, for work that cannot be repeated: all counters of the metrics. What no
/// single pass counts goes to `absent`, with its metric.
std::vector<std::vector<std::string>> single_pass_sets(std::vector<ResolvedMetric>& metrics, const PassesOf& passes_of,
                                                       std::vector<AbsentCounter>& absent);

struct PassPlan {
  std::vector<PassGroup> groups;
  std::vector<ResolvedMetric> metrics;  ///< those that the groups count
  std::vector<AbsentCounter> absent;
};

/// A metric that needs more executions than this is left out: throughput metrics of whole chips take dozens.
inline constexpr std::size_t max_passes_of_a_metric = 8;

/// Puts each metric, in order, into the first group that counts it in the same single pass, or else into a group of its
/// own. Groups are joined where that costs no pass, because each is a round over all points. Counters over elapsed time
/// share no group with others. Where it costs no pass, all_by_instruction goes with counters by instruction and shows
/// whether they counted.
PassPlan plan_passes(const std::vector<ResolvedMetric>& metrics, const PassesOf& passes_of);

}  // namespace gpubench::bench
