// SPDX-License-Identifier: Apache-2.0
// Passes over the points of a run after all timing: checks, and counters.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/run.h"
#include "main/run/plan.h"

namespace gpubench {

namespace bench {
class PostTimingPass;
}

/// A pass over points once more.
struct PostTimingStep {
  std::string_view flag;   ///< that asks for it
  std::string_view doing;  ///< "counting"
  std::string_view done;   ///< "counted"
  std::function<std::unique_ptr<bench::PostTimingPass>(const Device&)> begin;
  std::function<bool(const Measurement&)> wants = {};  ///< the points to go over; all where it is empty
};

/// What came of a pass, besides what it added to measurements.
struct PostTimingOutcome {
  std::size_t points = 0;  ///< that it went over
  double seconds = 0.0;    ///< all of it, setting the profiler up included
  std::vector<std::string> warnings;
};

/// What the options ask for, in order on all devices: a check is a clock, so it comes before counters.
std::vector<PostTimingStep> post_timing_steps(const RunOptions& options);

/// Runs a pass at a plan's timed points; after all timing, for a profiler slows launches. `begins`: before each point,
/// with its position and the share done. None is begun once an interruption is noted.
PostTimingOutcome run_post_timing(const PostTimingStep& pass, const Plan& plan, const std::string& filter,
                                  const RunOptions& options, std::span<Point> points,
                                  const std::function<void(std::size_t position, double done)>& begins);

/// Gives points that have a time but none of the wanted counters the reason. Returns a warning when there are any.
std::optional<std::string> mark_uncounted(std::span<Point> points, const RunOptions& options);

}  // namespace gpubench
