// SPDX-License-Identifier: Apache-2.0
// The L2 cache of a GPU, by a ladder of working sets.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/cuda_probe.h"
#include "gpubench/calibration.h"
#include "gpubench/device.h"
#include "gpubench/vectors.h"

namespace gpubench::calibrate {

struct L2Plan {
  int sweeps = 5;
  int rungs_per_octave = 4;
  double launch_seconds = 0.0;  ///< what a launch of nothing costs when launches follow each other
  std::function<void(double done)> progress;
};

struct L2Result {
  std::vector<LadderPoint> ladder;
  std::optional<CacheLevel> level;
  std::optional<Ceiling> ceiling;
  std::string reason;  ///< why there is no ceiling
};

/// Sets up to half of the declared cache are read again and again within one launch. Larger ones are read once a
/// launch, many launches after each other, and the launch is taken off: passes within one launch drift apart, so that
/// late threads find what early ones have just fetched, and an H200 then seems to hold twice its L2 (half the bytes hit
/// at 119 MiB; with a launch for each pass, as operations run, at 44 MiB). Throws CudaError.
L2Result measure_l2(const Device& device, const L2Plan& plan, const DeviceVector<float>& pool, float* sink,
                    cudaStream_t stream, Timer& timer, SmClock& clock);

}  // namespace gpubench::calibrate
