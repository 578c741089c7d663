// SPDX-License-Identifier: Apache-2.0
// What timing itself costs on a GPU: the figures behind the choice of a method. Not for verdicts: calibration measures
// the ceilings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/device.h"

namespace gpubench::bench {

class Gpu;

/// One cost, or why it is not known.
struct Cost {
  std::string what;               ///< "globaltimer step", "event pair", ...
  std::optional<double> seconds;  ///< absent when it could not be measured
  std::string method;             ///< how it was measured
  std::string reason;             ///< why `seconds` is absent
};

/// Measured now, in about a tenth of a second: the step of %globaltimer, an event pair around nothing and its quantum,
/// a launch on a stream, a node of a graph, launch and synchronise. Throws CudaError when no kernel can run at all, or
/// in a build without CUDA.
std::vector<Cost> measure_costs(const Device& device);
/// The same on a GPU's own stream. A process that opened one GPU after another would use as many streams, and pay for
/// it (bench/cuda/working_stream.h).
std::vector<Cost> measure_costs(Gpu& gpu);

/// The CUDA runtime that this program was built with, as CUDART_VERSION counts (13000); absent without CUDA.
std::optional<int> built_with_cuda();

}  // namespace gpubench::bench
