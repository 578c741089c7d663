// SPDX-License-Identifier: Apache-2.0
// Whether a device still does what a stored calibration says: two of its ceilings, measured again for a moment. A
// ceiling has drifted when the intervals of two sets of samples, one after the other, both lie beyond its own by more
// than 2 %, on the same side. Where the sets contradict each other, or something else explains a low figure, it stands.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/device.h"

namespace gpubench::calibrate {

/// A change beyond both intervals is tolerated up to this fraction of the stored value.
inline constexpr double tolerated_drift = 0.02;

/// The same of the launch, which differs between processes: twice as long, or half.
inline constexpr double tolerated_launch_drift = 1.0;

/// The ceilings that are checked: one of the memory, one of the arithmetic. Of a CPU also the launch.
inline constexpr const char* drift_resources[] = {"dram-copy", "fp32"};

/// A set of samples of what a ceiling measured.
struct DriftSamples {
  std::vector<double> values;  ///< in the ceiling's unit
  std::string method;
  std::string disturbance;  ///< what else could make them low; empty when nothing is known of
};

/// Why a ceiling cannot be measured again now.
struct NoDriftSamples : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Takes one set. Throws NoDriftSamples.
using DriftSampler = std::function<DriftSamples(const Ceiling& stored)>;

/// A stored ceiling beside sets of samples, the later ones last. `sets` and their values must not be empty.
DriftReading judge_drift(const Ceiling& stored, const std::vector<DriftSamples>& sets);

/// Checks a calibration by samples from elsewhere, with a second set where the first differs. The times are left to the
/// caller.
DriftCheck check_drift(const Calibration& stored, const DriftSampler& sampler);

/// Checks a calibration of this very device, in at most about a second. Never throws for what the device lacks: that
/// goes to `not_checked`.
DriftCheck check_drift(const Device& device, const Calibration& stored);

/// Takes samples of a device by the probes that calibrate it. Opening it may throw NoDriftSamples.
DriftSampler host_drift_sampler(const Device& device);
DriftSampler gpu_drift_sampler(const Device& device);

// Several GPUs under load at once, beside what each reached alone: shared power, cooling and switches show.

/// One ceiling of one GPU while all of them worked. The reading's `stored` is the ceiling alone; its outcome says
/// whether the two differ, as in a drift check of one set.
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

/// Measures the drift resources on all devices at once, a thread for each. What a device needs once is done beforehand;
/// the samples of all begin together, and on unequal GPUs do not end together.
Together measure_together(const std::vector<Calibration>& calibrations, const OpenSampler& open);
/// The same on the GPUs among them.
Together measure_together(const std::vector<Calibration>& calibrations);

}  // namespace gpubench::calibrate
