// SPDX-License-Identifier: Apache-2.0
// Operations measured each in a process of its own, so that what one of them breaks costs the points it breaks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/point_runner.h"
#include "calibrate/calibrate.h"
#include "core/base/files.h"
#include "core/model/calibration.h"
#include "main/cli/options.h"
#include "main/commands/plan.h"
#include "main/worker/checkpoint.h"
#include "main/worker/job.h"

namespace gpubench {

/// How points are to be run, as the command line asks for.
bench::PointRunner::Settings runner_settings(const Options& options);

/// Starts the processes of one run.
class Isolation {
 public:
  /// `limit_seconds`: the longest that one point may take, and a process to get to its first.
  /// `on_point` is called when a point begins.
  using OnPoint = std::function<void(const Plan& plan, std::size_t position)>;
  explicit Isolation(double limit_seconds) : limit_seconds_(limit_seconds) {}

  /// Sizes that the processes are to register before they look for their points.
  void set_added(std::vector<AddedSize> added) { added_ = std::move(added); }
  /// Measures all points of a plan that `kept` does not know yet, and keeps them there, failed ones with the reason.
  /// Returns warnings. Ends early when a signal has been noted (see Interruption).
  std::vector<std::string> measure(const Plan& plan, Checkpoint& kept, const OnPoint& on_point);
  /// A quick calibration, measured in a process of its own, so that this one never holds the device. Throws
  /// std::runtime_error.
  Calibration calibrate(const Device& device);
  /// The overheads that belong to a calibration of this mode, and nothing else, measured in a process of their own.
  /// Throws std::runtime_error.
  Calibration overheads(const Device& device, calibrate::Mode mode);
  /// Checks a calibration for drift in a process of its own. Throws std::runtime_error.
  DriftCheck check_drift(const Device& device, const Calibration& stored);

 private:
  struct Attempt;
  void attempt(const Plan& plan, Checkpoint& kept, const OnPoint& on_point, Attempt& attempt);
  [[nodiscard]] std::filesystem::path write_job(Job& job);
  /// Has one job about ceilings carried out; `what` names it: "The calibration". The run's only calibration, or an
  /// empty one after a signal. Throws std::runtime_error.
  Calibration run_ceilings_job(Job& job, const std::string& what);

  PrivateFolder folder_;
  double limit_seconds_;
  std::vector<AddedSize> added_;
  int jobs_ = 0;
};

/// What the process of an job does. `measure_ceilings` calibrates a device, quickly. Returns the exit code.
int run_job(const TakenJob& taken, const Options& options, const std::string& program,
            const std::function<Calibration(const Device&)>& measure_ceilings);

}  // namespace gpubench
