// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrate.h"

#include <chrono>
#include <ctime>
#include <string>

#include "gpubench/version.h"

namespace gpubench::calibrate {
namespace {

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

}  // namespace

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
