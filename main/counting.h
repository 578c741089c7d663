// SPDX-License-Identifier: Apache-2.0
// Counting, after all timing is done.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpubench/run.h"
#include "main/options.h"
#include "main/plan.h"

namespace gpubench {

/// What came of counting, besides the counters.
struct Counting {
  std::size_t points = 0;  ///< that have counters now
  double seconds = 0.0;    ///< all of it, setting the profiler up included
  std::vector<std::string> warnings;
};

/// Counts what `options.metrics` asks for at those points of a plan that have a time. All points are timed before,
/// because a profiler slows launches down from the moment it is set up (on an H200 a stream launch of 2.5 us takes 3.5
/// us then). `begins` is called before each point with its position in the plan.
Counting count_points(const Plan& plan, const std::string& filter, const Options& options, std::span<Point> points,
                      const std::function<void(std::size_t)>& begins);

/// Gives points that have a time and nothing of the counters that were asked for the reason: their process ended before
/// it counted. Returns a warning for the run when there are any.
std::optional<std::string> mark_uncounted(std::span<Point> points, const Options& options);

}  // namespace gpubench
