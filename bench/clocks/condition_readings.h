// SPDX-License-Identifier: Apache-2.0
// Sums up readings of a device's state.
#pragma once

#include <string>
#include <vector>

#include "core/model/measurement.h"

namespace gpubench::bench {

/// Widens the ranges of `sum` by those of one more reading.
void add_reading(DeviceConditions& sum, const DeviceConditions& reading);

/// Sentences for the user: clocks held down by heat or by the hardware, samples dropped on a GPU. A power cap stays at
/// its point, because some kernels always run so, and so do samples dropped on a CPU, where an interrupt looks the
/// same.
std::vector<std::string> condition_warnings(const std::vector<const Measurement*>& measurements);

}  // namespace gpubench::bench
