// SPDX-License-Identifier: Apache-2.0
// The ceilings that a run judges by: where they come from, and whether they still hold.
#pragma once

#include <string>
#include <vector>

#include "calibrate/calibrate.h"
#include "core/model/calibration.h"
#include "core/model/device.h"
#include "core/model/run.h"
#include "main/cli/options.h"
#include "main/worker/isolation.h"

namespace gpubench {

/// Calibrates a device in this process, with progress on the terminal.
Calibration measure_ceilings(const Device& device, calibrate::Mode mode, bool quiet);

/// Stores a calibration for later runs and says where; a failure is said and no more.
void keep_in_cache(const Calibration& calibration);

/// Where ceilings may come from besides the cache.
struct CeilingSources {
  const Run* earlier = nullptr;    ///< the run that is gone on with
  Isolation* isolation = nullptr;  ///< measures them elsewhere
};

/// The ceilings of one device: those of --calibration, of the run that is gone on with, of the cache, or measured now.
/// A stored calibration of this device is checked for drift, unless the options say otherwise; one of the cache that
/// has drifted is measured anew. What the reader must know goes to `warnings`.
Calibration ceilings_for(const Device& device, const Options& options, const CeilingSources& sources,
                         std::vector<std::string>& warnings);

/// What a drift check found, in one sentence; empty when everything agrees. Pure.
std::string drift_text(const DriftCheck& check, const Device& device);

}  // namespace gpubench
