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

namespace gpubench {

struct RunOptions;

/// Calibrates a device in this process, with progress on the terminal.
Calibration measure_ceilings(const Device& device, calibrate::Mode mode, bool quiet);

/// Calibrates the devices as --calibrate asks, keeps, prints and writes what it found. Returns the exit code.
int calibrate_only(const RunOptions& options, const std::vector<Device>& devices, Run run);

/// Adds the ceilings of the run's devices: those of --calibration, of the run that it goes on with (`earlier`, or
/// null), of the cache, or measured now. A stored calibration is checked for drift unless the options say otherwise;
/// one of the cache that has drifted is measured anew. What the reader must know becomes a warning. Where `isolated`,
/// and for a GPU always, another process measures: what that takes would make every later kernel of this one slower
/// (gpu/cuda/handles.h).
void find_ceilings(const CeilingOptions& options, bool quiet, bool isolated, const Run* earlier, Run& run);

/// Compares GPUs of one kind, alone and all at work; prints both and warns of what stands out. Nothing below two GPUs.
void compare_several_gpus(const Options& options, Run& run);

/// What share of its cores a calibration under load had, in one sentence. Pure.
std::string load_text(const Calibration& calibration);
/// What a drift check found, in one sentence; empty when everything agrees. Pure.
std::string drift_text(const DriftCheck& check, const Device& device);

/// "cuda:3 is the slowest of 8 NVIDIA H200 in dram-read: 4.21 TB/s, 8.9 % below their median." Pure.
std::string slowest_text(const GpuSpread& spread);
/// "cuda:3 reaches 4.10 TB/s in dram-copy while all GPUs work, 4.7 % below 4.30 TB/s alone." Pure.
std::string together_text(const calibrate::TogetherReading& reading);

}  // namespace gpubench
