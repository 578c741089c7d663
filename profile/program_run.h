// SPDX-License-Identifier: Apache-2.0
// From a program's recordings to a run: each kernel group a measurement. Pure; knows no CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/run.h"
#include "profile/kernel_groups.h"

namespace gpubench::profile {

/// Of the devices that the program used, those known to this process by their UUID; of others what the recordings tell.
std::vector<Device> devices_of(const Recordings& recordings, const std::vector<Device>& known);

/// Fills the run's points and its program: kernels, copies and fills by function, launch shape, size and range path, by
/// falling time. `run.devices` are those of `devices_of`, `run.calibrations` may hold their ceilings. Verdicts are left
/// to the classifier.
void add_program(const Recordings& recordings, const GroupOptions& options, Run& run);

/// Warps and blocks of a kernel that fit on one multiprocessor at once, by its registers, shared memory and threads
/// (CUDA C++ Programming Guide, compute capabilities; registers are given to warps 256 at a time). Absent where the
/// recording does not tell the multiprocessor's limits.
std::optional<std::int64_t> blocks_per_multiprocessor(const timeline::LaunchShape& shape, const RecordedDevice& device);

}  // namespace gpubench::profile
