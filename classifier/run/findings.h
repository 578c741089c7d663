// SPDX-License-Identifier: Apache-2.0
// Which operations of a run to fix first.
#pragma once

#include <cstddef>
#include <vector>

#include "core/model/run.h"

namespace gpubench::classifier {

inline constexpr std::size_t max_findings = 5;
/// What an operation must be able to save of the time of its points.
inline constexpr double min_saved = 0.05;
/// From this part of its limiter's ceiling on a point has nothing to fix in itself: advice that changes what is
/// computed, or what runs beside it, does not count there.
inline constexpr double well_used = 0.8;

/// At most five, at most one limit of an operation on a device. Wrong results come first, then other failures.
///
/// An operation's limits go by what its points could save of its time if an advice were followed:
/// sum of t * (1 - 1 / gain) over the points that share regime and advice, over the sum of t over all its timed points.
/// They rank by that times the confidence of each verdict. What has no known gain comes last, by the part of the time
/// that its points take. The point named is the one that could save most.
std::vector<OperationFinding> findings_of(const Run& run);

}  // namespace gpubench::classifier
