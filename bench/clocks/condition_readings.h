// SPDX-License-Identifier: Apache-2.0
// Sums up readings of a device's state.
#pragma once

#include <string>
#include <vector>

#include "core/model/device_conditions.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

/// Widens the ranges of `sum` by those of one more reading.
void add_reading(DeviceConditions& sum, const DeviceConditions& reading);

/// What a user must know of the conditions of all points, a sentence each: clocks held down by heat or by the hardware,
/// samples dropped on a GPU. A power cap is how some kernels run and stays at the point, as do samples dropped on a
/// CPU: there an interrupt while its clock is read looks the same.
std::vector<std::string> condition_warnings(const std::vector<const Measurement*>& measurements);

}  // namespace gpubench::bench
