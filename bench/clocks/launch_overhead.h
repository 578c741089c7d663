// SPDX-License-Identifier: Apache-2.0
// What a launch of nothing costs, timed exactly as operations are timed.
#pragma once

#include "bench/gpu.h"
#include "core/model/calibration.h"
#include "core/model/device.h"

namespace gpubench::bench {

inline constexpr int launch_rounds = 5;

/// The ceiling `launch` of a device, from independent rounds of the sampler: on a GPU an empty kernel under the
/// clock that times operations, on the host an empty OpenMP parallel region over all threads. Throws when the device
/// cannot be used.
Ceiling measure_launch_overhead(const Device& device);
/// The same on a GPU that is open already, and on its stream.
Ceiling measure_launch_overhead(Gpu& gpu, int rounds = launch_rounds);

}  // namespace gpubench::bench
