// SPDX-License-Identifier: Apache-2.0
// What a calibration of several GPUs says beyond that of each.
#pragma once

#include "calibrate/check/drift.h"
#include "core/model/run.h"
#include "main/cli/options.h"

namespace gpubench {

/// Compares the GPUs of one kind in a run, then loads all of its GPUs at once; prints both and puts what stands out
/// among the warnings. Does nothing for fewer than two GPUs.
void compare_several_gpus(const Options& options, Run& run);

/// "cuda:3 is the slowest of 8 NVIDIA H200 in dram-read: 4.21 TB/s, 8.9 % below their median." Pure.
std::string slowest_text(const GpuSpread& spread);
/// "cuda:3 reaches 4.10 TB/s in dram-copy while all GPUs work, 4.7 % below 4.30 TB/s alone." Pure.
std::string together_text(const calibrate::TogetherReading& reading);

}  // namespace gpubench
