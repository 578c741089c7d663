// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrate.h"

#include <chrono>
#include <string>

#include "core/base/time.h"
#include "gpubench/version.h"

namespace gpubench::calibrate {
Calibration calibrate(const Device& device, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::string created = utc_now();
  Calibration calibration =
      device.kind == DeviceKind::cuda ? calibrate_cuda(device, options) : calibrate_host(device, options);
  calibration.device = device;
  calibration.mode = options.mode == Mode::quick ? "quick" : "full";
  calibration.created_utc = created;
  calibration.gpubench_version = version;
  calibration.seconds_taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return calibration;
}

}  // namespace gpubench::calibrate
