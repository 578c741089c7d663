// SPDX-License-Identifier: Apache-2.0
// The ceilings that a run judges by: where they come from, and whether they still hold.
#pragma once

#include <string>
#include <vector>

#include "calibrate/calibrate.h"
#include "calibrate/check/drift.h"
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

/// The ceilings of one device: those of --calibration, of the resumed run, of the cache, or measured now. A stored
/// calibration is checked for drift unless the options say otherwise; one of the cache that has drifted is measured
/// anew. What the reader must know goes to `warnings`.
Calibration ceilings_for(const Device& device, const Options& options, const CeilingSources& sources,
                         std::vector<std::string>& warnings);

/// What a drift check found, in one sentence; empty when everything agrees. Pure.
std::string drift_text(const DriftCheck& check, const Device& device);

/// Compares the GPUs of one kind, then loads all GPUs at once; prints both and puts what stands out among the warnings.
/// Does nothing for fewer than two GPUs.
void compare_several_gpus(const Options& options, Run& run);

/// "cuda:3 is the slowest of 8 NVIDIA H200 in dram-read: 4.21 TB/s, 8.9 % below their median." Pure.
std::string slowest_text(const GpuSpread& spread);
/// "cuda:3 reaches 4.10 TB/s in dram-copy while all GPUs work, 4.7 % below 4.30 TB/s alone." Pure.
std::string together_text(const calibrate::TogetherReading& reading);

}  // namespace gpubench
