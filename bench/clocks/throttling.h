// SPDX-License-Identifier: Apache-2.0
// Which samples ran under a clock lower than the others.
#pragma once

#include <span>
#include <vector>

namespace gpubench::bench {

/// Marks the samples whose clock was more than 5 % below the usual one of their point, which is the upper quartile of
/// `clocks_hz`: samples that a throttled clock made slower say nothing of the operation. When they are the greater
/// part, the low clock is how this operation runs here (a power cap, say), and none is marked. No absolute threshold: a
/// clock that the user has set lower is not throttling, and there are never no samples left.
std::vector<bool> throttled(std::span<const double> clocks_hz);

}  // namespace gpubench::bench
