// SPDX-License-Identifier: Apache-2.0
// Whether a device still does what a stored calibration says: two of its ceilings, measured again for a moment.
//
// A virtual machine's memory changes its speed by some percent from one second to the next, so a difference alone
// proves little. A ceiling has drifted when a set of samples lies beyond its interval by more than 2 %, interval
// against interval, and a second set taken after it does so too, on the same side. Where the two sets contradict each
// other, or something else than the device explains a low figure, the stored ceiling stands and the run says so.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/device.h"

namespace gpubench::calibrate {

/// A change beyond both intervals is tolerated up to this fraction of the stored value.
inline constexpr double tolerated_drift = 0.02;

/// The ceilings that are checked: one of the memory, one of the arithmetic.
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

/// A stored ceiling beside sets of samples, the later ones last. Pure. `sets` and their values must not be empty.
DriftReading judge_drift(const Ceiling& stored, const std::vector<DriftSamples>& sets);

/// Checks a calibration by samples from elsewhere, a second set of those that do not agree with the first. Pure but for
/// the sampler; the times are left to the caller.
DriftCheck check_drift(const Calibration& stored, const DriftSampler& sampler);

/// Checks a calibration of this very device, in at most about a second. Never throws for what the device lacks: that
/// goes to `not_checked`.
DriftCheck check_drift(const Device& device, const Calibration& stored);

/// Takes samples of a device by the probes that calibrate it. Opening it may throw NoDriftSamples.
DriftSampler host_drift_sampler(const Device& device);
DriftSampler cuda_drift_sampler(const Device& device);

}  // namespace gpubench::calibrate
