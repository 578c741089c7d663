// SPDX-License-Identifier: Apache-2.0
// How coarse the times of launches in a stream are.
#pragma once

#include <span>

namespace gpubench::calibrate {

/// The height of the steps in which figures climb that should lie on a line: sqrt(12) times their rms distance from the
/// line through them, which for an even staircase much finer sampled than its steps is the height of one. 0 with fewer
/// than three.
double step_height(std::span<const double> figures);

}  // namespace gpubench::calibrate
