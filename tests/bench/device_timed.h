// SPDX-License-Identifier: Apache-2.0
// A point as it is when its records come.
#pragma once

#include "core/model/measurement.h"

namespace gpubench::bench {

/// Timed by the clock "stream", with a device time beside it: both +- 1 %.
inline Measurement timed(double device_seconds, double kernel_overhead_seconds) {
  Measurement measurement;
  measurement.make_primary().clock = TimingMode::stream;
  measurement.cache_state = "warm";
  measurement.make_primary().seconds = Summary{};
  measurement.make_primary().seconds->median = 3.0 * device_seconds;
  Timing device;
  device.clock = TimingMode::device;
  device.seconds = Summary{};
  device.seconds->median = device_seconds;
  device.seconds->median_ci95 = {device_seconds, device_seconds};
  device.kernel_overhead_seconds =
      Estimate{kernel_overhead_seconds, {0.5 * kernel_overhead_seconds, 2.0 * kernel_overhead_seconds}};
  device.method = "CUDA graphs of 3 and 103 executions, the difference of their times";
  measurement.timings.push_back(device);
  return measurement;
}

}  // namespace gpubench::bench
