// SPDX-License-Identifier: Apache-2.0
// Operations each in a process of its own, so that what one breaks costs its points alone: this program, with a job.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/calibrate.h"
#include "core/base/files.h"
#include "core/model/calibration.h"
#include "main/cli/command.h"
#include "main/run/plan.h"
#include "main/worker/checkpoint.h"

namespace gpubench {

struct Job {
  enum class Task { measure, calibrate, check_drift, launch, overheads };
  Task task = Task::measure;
  int parent = 0;         ///< process id
  std::string device;     ///< its id
  std::string operation;  ///< of all points
  std::vector<PointKey> points;
  std::vector<AddedSize> added;  ///< of the operation, to be registered before points are looked for
  std::filesystem::path result;  ///< where the run file goes
  std::filesystem::path input;   ///< for check_drift: the calibration
};

/// "CHANNEL:FILE", the open file to report to and the job.
inline constexpr const char* job_variable = "GPUBENCH_WORKER_JOB";

std::string job_to_json(const Job& job);
/// Throws storage::ReadError.
Job job_from_json(const std::string& text, const std::string& origin);

struct TakenJob {
  Job job;
  int channel = -1;
};
/// The job of this process, if any, taken out of its environment. Throws storage::ReadError.
std::optional<TakenJob> take_job();

/// A filter of Google Benchmark that chooses all points of an operation, and perhaps some more.
std::string filter_for(const std::string& operation);

/// Starts the processes of one run. What measures ceilings throws std::runtime_error.
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
  /// A quick calibration.
  Calibration calibrate(const Device& device);
  /// Only the overheads that belong to a calibration of this mode.
  Calibration overheads(const Device& device, calibrate::Mode mode);
  DriftCheck check_drift(const Device& device, const Calibration& stored);

 private:
  struct Attempt;
  void attempt(const Plan& plan, Checkpoint& kept, const OnPoint& on_point, Attempt& attempt);
  [[nodiscard]] std::filesystem::path write_job(Job& job);
  /// Runs a job about ceilings; `what`: "The calibration". Returns the calibration, an empty one after a signal.
  Calibration run_ceilings_job(Job::Task task, const Device& device, const std::string& what,
                               const std::filesystem::path& input = {});

  PrivateFolder folder_;
  double limit_seconds_;
  std::vector<AddedSize> added_;
  int jobs_ = 0;
};

/// The command, or in a worker the job that it was given in place of it. Returns the exit code.
int run_command_or_job(const Command& command, const Options& options);

}  // namespace gpubench
