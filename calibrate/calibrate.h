// SPDX-License-Identifier: Apache-2.0
// Measures the ceilings of a device.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/device.h"

namespace gpubench::calibrate {

enum class Mode { quick, full };
/// What launches, waits and small copies cost, and copies from and to pageable and managed memory, varies more between
/// processes than between repeats in one process. Processes of their own may measure these parts of a GPU. The launch
/// is measured with the rest, too, which needs it.
enum class Part { all, of_process, all_but_of_process };

/// The most device memory that a calibration or drift check of a GPU holds at a time.
inline constexpr double max_device_bytes = 17.0 * 1024 * 1024 * 1024;

struct CalibrationOptions {
  Mode mode = Mode::quick;
  Part part = Part::all;  ///< of a GPU's; a CPU's is always measured whole
  /// Called before each step with its name and the share of the work done, 0 to 1. May be empty.
  std::function<void(std::string_view step, double done)> progress;
};

/// Measures all ceilings of the device. A ceiling that cannot be had goes into `absent` with the reason; throws only
/// when the device itself cannot be used.
Calibration calibrate(const Device& device, const CalibrationOptions& options);

// Per kind of device; `calibrate` chooses. The CUDA one throws std::runtime_error in a build without CUDA.
Calibration calibrate_host(const Device& device, const CalibrationOptions& options);
Calibration calibrate_cuda(const Device& device, const CalibrationOptions& options);

/// Puts what several processes measured in front of a calibration's ceilings, in place of its own, which count as one
/// process more. Each ceiling is the median with the 95 % interval of the processes' mean by Student's t, widened to
/// hold that median. What no process has is absent with the first one's reason. A ceiling of a single process keeps its
/// interval and says so. The processes' warnings are dropped: each saw the others.
void take_overheads(Calibration& calibration, const std::vector<Calibration>& processes);

}  // namespace gpubench::calibrate
