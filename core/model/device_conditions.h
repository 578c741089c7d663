// SPDX-License-Identifier: Apache-2.0
// The state a device was in while it was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/estimate.h"

namespace gpubench {

/// What the device's management library reported while a point was measured: the lowest and the highest of all
/// readings.
struct DeviceConditions {
  std::int64_t readings = 0;
  std::optional<Interval> sm_clock_hz;
  std::optional<Interval> memory_clock_hz;
  std::optional<Interval> power_watts;          ///< of the whole board
  std::optional<Interval> temperature_celsius;  ///< of the chip
  /// What held the clocks down in any reading: "power cap", "thermal slowdown (hardware)", ...
  std::vector<std::string> throttle_reasons;
  std::string absent_reason;  ///< why some of this is not there; empty when all is
  friend bool operator==(const DeviceConditions&, const DeviceConditions&) = default;
};

}  // namespace gpubench
