// SPDX-License-Identifier: Apache-2.0
// Counting, after all timing is done.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gpubench/run.h"
#include "main/options.h"
#include "main/plan.h"

namespace gpubench {

/// Counts what `options.metrics` asks for at those points of a plan that have a time. All points are timed before,
/// because a profiler slows launches down from the moment it is set up (on an H200 a stream launch of 2.5 us takes 3.5
/// us then). `begins` is called before each point with its position in the plan. Returns warnings for the run.
std::vector<std::string> count_points(const Plan& plan, const std::string& filter, const Options& options,
                                      std::span<Point> points, const std::function<void(std::size_t)>& begins);

}  // namespace gpubench
