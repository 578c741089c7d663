// SPDX-License-Identifier: Apache-2.0
// Operations each in a process of its own, so that what one breaks costs its points alone: this program, with a job.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/calibrate.h"
#include "core/model/calibration.h"
#include "main/run/plan.h"
#include "main/worker/checkpoint.h"
#include "main/worker/job.h"

namespace gpubench {

/// A quick calibration, only the overheads that belong to one of this mode, or a check, in a process of its own. A
/// noted signal ends it; the calibration is empty then. Throw std::runtime_error.
Calibration calibrate_in_worker(const Device& device);
Calibration overheads_in_worker(const Device& device, calibrate::Mode mode);
DriftCheck check_drift_in_worker(const Device& device, const Calibration& stored);

/// Starts the processes that measure the points of a run.
class Isolation {
 public:
  /// Called when a point begins.
  using OnPoint = std::function<void(const Plan& plan, std::size_t position)>;
  /// `limit_seconds`: maximum time of one point, and of a process before its first.
  explicit Isolation(double limit_seconds) : limit_seconds_(limit_seconds) {}

  /// Sizes that the processes are to register before they look for their points.
  void set_added(std::vector<AddedSize> added) { added_ = std::move(added); }
  /// Measures what `kept` lacks of a plan and keeps it there, failures too. Returns warnings. A noted signal ends it.
  std::vector<std::string> measure(const Plan& plan, Checkpoint& kept, const OnPoint& on_point);

 private:
  double limit_seconds_;
  std::vector<AddedSize> added_;
};

}  // namespace gpubench
