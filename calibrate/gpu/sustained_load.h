// SPDX-License-Identifier: Apache-2.0
// What a GPU keeps up without rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/gpu/gpu_calibration.h"

namespace gpubench::calibrate {

/// A probe that runs without rest, once or in several visits apart in time.
class SustainedLoad {
 public:
  explicit SustainedLoad(const Probe& probe) : probe_(&probe) {}
  /// Runs it for a share of its sustained_seconds; what it does in the second half counts. An error of the GPU ends it
  /// and goes to `failure`.
  void visit(GpuCalibration& bench, double share);
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// RESOURCE-sustained
  [[nodiscard]] std::string resource() const { return probe_->ceiling.resource + "-sustained"; }
  /// What it kept up, with the power at the last visit's end. After at least one visit that did not fail.
  [[nodiscard]] Ceiling ceiling(int multiprocessors) const;

 private:
  const Probe* probe_;
  std::vector<double> rates_;
  std::vector<std::int64_t> rates_of_visits_;  ///< how many of them each visit left
  std::vector<double> clocks_;
  double seconds_ = 0.0;  ///< of all visits
  std::optional<double> power_;
  std::optional<double> temperature_;
  std::uint64_t throttled_ = 0;
  std::string failure_;
};

}  // namespace gpubench::calibrate
