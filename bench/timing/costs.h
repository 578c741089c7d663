// SPDX-License-Identifier: Apache-2.0
// What timing and launching cost on a GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/device.h"

namespace gpubench::bench {

/// One cost, or why it is not known.
struct Cost {
  std::string what;               ///< "globaltimer step", "event pair", ...
  std::optional<double> seconds;  ///< absent when it could not be measured
  std::string method;             ///< how it was measured
  std::string reason;             ///< why `seconds` is absent
};

/// Measures the step of the GPU's nanosecond counter, an event pair around nothing and its quantum, a launch on a
/// stream, a node of a graph, launch and synchronise: about 0.1 s. Throws GpuError when no kernel can run.
std::vector<Cost> measure_costs(Gpu& gpu);

}  // namespace gpubench::bench
