// SPDX-License-Identifier: Apache-2.0
// Several GPUs under load at once, beside what each reached alone: shared power, cooling and switches show.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/check/drift.h"
#include "core/model/calibration.h"

namespace gpubench::calibrate {

/// One ceiling of one GPU while all of them worked. The reading's `stored` is the ceiling alone; its outcome says
/// whether the two differ, as in a drift check (of one set).
struct TogetherReading {
  std::string device;
  DriftReading reading;
};

struct Together {
  std::vector<TogetherReading> readings;  ///< by resource, then by device
  std::vector<std::string> absent;        ///< "cuda:1, fp32: out of memory"
};

/// Opens a device for samples. May throw NoDriftSamples.
using OpenSampler = std::function<DriftSampler(const Device&)>;

/// Measures DRAM copies and FP32 multiply-adds on all of the calibrations' devices at once, a thread for each. What a
/// device needs once is done beforehand; the samples of all begin together, and on unequal GPUs do not end together.
Together measure_together(const std::vector<Calibration>& calibrations, const OpenSampler& open);
/// The same on the GPUs among them.
Together measure_together(const std::vector<Calibration>& calibrations);

}  // namespace gpubench::calibrate
