// SPDX-License-Identifier: Apache-2.0
// What changed between two traces of one program, by kernel and by operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/estimate.h"
#include "core/model/table.h"
#include "timeline/timeline.h"

namespace gpubench::timeline {

/// Of one side: the time of an iteration, in the mean over all, or of the whole trace where there are no iterations.
struct SideTime {
  double seconds = 0.0;
  double count = 0.0;  ///< calls of the operator, or launches of the kernel
};

struct Change {
  std::string name;
  SideTime base, next;
  /// 95 % interval of next - base (s) by Welch's t over iterations; absent where one side has fewer than two.
  std::optional<Interval> difference_ci95;
  /// Probability of a difference as large without a change, by Welch's t, corrected by Holm over all rows of a table.
  std::optional<double> p;
  [[nodiscard]] double difference() const { return next.seconds - base.seconds; }
  /// Whether that is below `significance`.
  static constexpr double significance = 0.05;
  [[nodiscard]] bool sure() const { return p && *p < significance; }
};

/// Of an operator its time is that of the work it launched directly, and `host` that of the host in it alone.
struct Difference {
  std::string by;      ///< what iterations are, "ProfilerStep"; empty where whole traces are compared
  std::string reason;  ///< why there are no intervals; empty where there are
  std::int64_t base_iterations = 0, next_iterations = 0;
  bool of_repeats = false;        ///< iterations are what the GPU repeats: layers, most likely, and no steps
  Change total, total_gpu;        ///< from first to last, and the sum of all work, of the whole traces
  Change iteration;               ///< its duration; without iterations the traces'
  Change gpu;                     ///< the sum of all work in it
  std::vector<Change> kernels;    ///< work on the GPU by name, the largest difference first
  std::vector<Change> operators;  ///< the same by launching operator
  std::vector<Change> host;       ///< the host's own time by operator
};

/// Work belongs to the iteration in which it was launched, or ran where iterations are told by it; what lies outside of
/// iterations does not count where there are some. Of several processes their iterations count alike, and times are
/// those of one. Throws std::invalid_argument as `analyze`.
Difference difference(const Timeline& base, const Timeline& next);

/// For writers: the whole, kernels, operators, the host's own time.
std::vector<ResultTable> difference_tables(const Difference& difference);

}  // namespace gpubench::timeline
