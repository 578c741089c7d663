// SPDX-License-Identifier: Apache-2.0
// What bore on a device while it was timed: throttled clocks, heat, others at work.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/model/measurement.h"

namespace gpubench::bench {

/// Marks the samples whose clock was more than 5 % below the upper quartile of `clocks_hz`. Where that is half of them
/// or more, the low clock is how this operation runs here (a power cap, say), and none is marked.
std::vector<bool> throttled(std::span<const double> clocks_hz);

/// Widens the ranges of `sum` by those of one more reading.
void add_reading(DeviceConditions& sum, const DeviceConditions& reading);

/// Sentences for the user: clocks held down by heat or by the hardware, samples dropped on a GPU. A power cap stays at
/// its point, because some kernels always run so, and so do samples dropped on a CPU, where an interrupt looks the
/// same.
std::vector<std::string> condition_warnings(const std::vector<const Measurement*>& measurements);

}  // namespace gpubench::bench
