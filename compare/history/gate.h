// SPDX-License-Identifier: Apache-2.0
// Runs against a stored baseline.
#pragma once

#include <vector>

#include "compare/compare.h"
#include "core/storage/baselines.h"

namespace gpubench::compare {

/// From so many updates of one code on, what differs from one update (one `gate update`) to the next is known.
inline constexpr std::size_t min_updates = 3;

/// The baseline is the newest entry and, where the machine code is known, all entries of the same code. With
/// `min_updates` of those the update is the unit: each counts as one value, the mean over its processes. Else the
/// process is the unit, and a note says what is not in the noise. All other entries of one code tell of the noise.
/// `entries` is not empty. Without a clock in the options the newest entry's counts. `until_a_step`: where entries do
/// not tell their code, as those of Python, they are of one code until the times of these points have a step.
Comparison check_against(const std::vector<storage::BaselineEntry>& entries, const std::vector<Run>& runs,
                         CompareOptions options, bool until_a_step = false);

}  // namespace gpubench::compare
