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

/// A phase that goes over all points once more.
struct PostTimingStep {
  std::string_view flag;   ///< that asks for it
  std::string_view doing;  ///< "counting"
  std::string_view done;   ///< "counted"
  std::function<std::unique_ptr<bench::PostTimingPass>(const Device&)> begin;
};

/// What came of a phase, besides what it added to measurements.
struct PostTimingOutcome {
  std::size_t points = 0;  ///< that it went over
  double seconds = 0.0;    ///< all of it, setting the profiler up included
  std::vector<std::string> warnings;
};

/// What the options ask for, in the order it is to run on all devices: a check is a clock, so it comes before counters,
/// whose profiler stays set up from the first one on.
std::vector<PostTimingStep> post_timing_steps(const Options& options);

/// Runs a phase at those points of a plan that have a time. All points are timed before, because a profiler slows
/// launches down from the moment it is set up (on an H200 a stream launch of 2.5 us takes 3.5 us then). `begins` is
/// called before each point with its position in the plan and the share of the phase that is done. Points are left out
/// once an interruption is noted.
PostTimingOutcome run_post_timing(const PostTimingStep& phase, const Plan& plan, const std::string& filter,
                                  const Options& options, std::span<Point> points,
                                  const std::function<void(std::size_t position, double done)>& begins);

/// Gives points that have a time and nothing of the counters that were asked for the reason: their process ended before
/// it counted. Returns a warning for the run when there are any.
std::optional<std::string> mark_uncounted(std::span<Point> points, const Options& options);

}  // namespace gpubench
