// SPDX-License-Identifier: Apache-2.0
// In place of calibrate_cuda.cpp in a build without CUDA.
#include "calibrate/calibrate.h"
#include "calibrate/check/drift.h"

namespace gpubench::calibrate {

Calibration calibrate_cuda(const Device&, const Options&) {
  throw std::runtime_error(
      "this gpubench was built without CUDA: install the CUDA toolkit 12.6 or newer and build again");
}

DriftSampler cuda_drift_sampler(const Device&) { throw NoDriftSamples("this gpubench was built without CUDA"); }

}  // namespace gpubench::calibrate
