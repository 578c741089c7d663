// SPDX-License-Identifier: Apache-2.0
// What timing and launching cost. Calibration takes the launch overhead from here.
#pragma once

#include "bench/devices.h"
#include "core/model/calibration.h"
#include "core/model/device.h"

namespace gpubench::bench {

/// One cost, or why it is not known.
struct Cost {
  std::string what;               ///< "globaltimer step", "event pair", ...
  std::optional<double> seconds;  ///< absent when it could not be measured
  std::string method;             ///< how it was measured
  std::string reason;             ///< why `seconds` is absent
};

/// Measures the step of %globaltimer, an event pair around nothing and its quantum, a launch on a stream, a node of a
/// graph, launch and synchronise: about 0.1 s. Throws CudaError when no kernel can run, or in a build without CUDA.
std::vector<Cost> measure_costs(const Device& device);
/// The same on the stream of a GPU that is open.
std::vector<Cost> measure_costs(Gpu& gpu);

/// The CUDA runtime that this program was built with, as CUDART_VERSION counts (13000); absent without CUDA.
std::optional<int> built_with_cuda();

inline constexpr int launch_rounds = 5;

/// The ceiling `launch` of a device, from independent rounds of the sampler: on a GPU an empty-kernel launch by the
/// clock `stream`, on the host an empty OpenMP parallel region over all threads. Throws when the device cannot be used.
Ceiling measure_launch_overhead(const Device& device);
/// The same on the stream of a GPU that is open.
Ceiling measure_launch_overhead(Gpu& gpu, int rounds = launch_rounds);

}  // namespace gpubench::bench
