// SPDX-License-Identifier: Apache-2.0
// The ceiling `launch` of a device.
#pragma once

#include "core/model/calibration.h"
#include "core/model/device.h"
#include "gpu/device.h"

namespace gpubench::bench {

inline constexpr int launch_rounds = 5;

/// The ceiling `launch` of a device, from independent rounds of the sampler: on a GPU an empty-kernel launch by
/// TimingMode::stream, on the host an empty OpenMP parallel region over all threads. Throws when the device cannot be
/// used.
Ceiling measure_launch_overhead(const Device& device, int rounds = launch_rounds);
/// The same on the stream of a GPU that is open.
Ceiling measure_launch_overhead(Gpu& gpu, int rounds = launch_rounds);

}  // namespace gpubench::bench
