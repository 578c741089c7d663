// SPDX-License-Identifier: Apache-2.0
// Checks and counters, after all timing is done.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/counters/post_timing_pass.h"
#include "core/model/run.h"
#include "main/cli/options.h"
#include "main/commands/plan.h"

namespace gpubench {

/// A pass over all points once more.
struct PostTimingStep {
  std::string_view flag;   ///< that asks for it
  std::string_view doing;  ///< "counting"
  std::string_view done;   ///< "counted"
  std::function<std::unique_ptr<bench::PostTimingPass>(const Device&)> begin;
};

/// What came of a pass, besides what it added to measurements.
struct PostTimingOutcome {
  std::size_t points = 0;  ///< that it went over
  double seconds = 0.0;    ///< all of it, setting the profiler up included
  std::vector<std::string> warnings;
};

/// What the options ask for, in order on all devices: a check is a clock, so it comes before counters.
std::vector<PostTimingStep> post_timing_steps(const Options& options);

/// Runs a pass at those points of a plan that have a time. All points are timed before, because a profiler slows
/// launches down once it is set up. `begins` is called before each point with its position in the plan and the share of
/// the pass that is done. Points are left out once an interruption is noted.
PostTimingOutcome run_post_timing(const PostTimingStep& pass, const Plan& plan, const std::string& filter,
                                  const Options& options, std::span<Point> points,
                                  const std::function<void(std::size_t position, double done)>& begins);

/// Gives points that have a time but none of the wanted counters the reason. Returns a warning when there are any.
std::optional<std::string> mark_uncounted(std::span<Point> points, const Options& options);

}  // namespace gpubench
