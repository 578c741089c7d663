// SPDX-License-Identifier: Apache-2.0
// Measures the ceilings of a device.
#pragma once

#include <functional>
#include <string_view>

#include "gpubench/calibration.h"
#include "gpubench/device.h"

namespace gpubench::calibrate {

enum class Mode { quick, full };
/// What launches, waits and small copies cost differs from process to process, by more than repeats in one process
/// show: these overheads of a GPU may be measured apart from the rest.
enum class Part { all, overheads, all_but_overheads };

struct Options {
  Mode mode = Mode::quick;
  Part part = Part::all;  ///< of a GPU's; a CPU's is always measured whole
  /// Called before each step with its name and the share of the work done, 0 to 1. May be empty.
  std::function<void(std::string_view step, double done)> progress;
};

/// Measures all ceilings of the device. A ceiling that cannot be had goes into `absent` with the reason; throws only
/// when the device itself cannot be used.
Calibration calibrate(const Device& device, const Options& options);

// Per kind of device; `calibrate` chooses. The CUDA one throws std::runtime_error in a build without CUDA.
Calibration calibrate_host(const Device& device, const Options& options);
Calibration calibrate_cuda(const Device& device, const Options& options);

}  // namespace gpubench::calibrate
