// SPDX-License-Identifier: Apache-2.0
// What the process of a job is told, and what it does. It answers on its channel, a line at a time:
//   start N       the job's point N begins
//   point N RUN   it was measured, or a later pass has added something: a run with this point alone
//   doing         it is alive
//   warning TEXT  of the run
//   ceilings C    a calibration
//   error TEXT    why it cannot go on
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "main/cli/command.h"
#include "main/run/plan.h"

namespace gpubench {

struct Job {
  enum class Task { measure, calibrate, check_drift, launch, overheads };
  Task task = Task::measure;
  std::string device = {};               ///< its id
  std::size_t planned = 0;               ///< points of the device
  std::vector<std::size_t> points = {};  ///< to be measured, by their positions in the plan, in order
  std::vector<AddedSize> added = {};     ///< to be registered before points are looked for
  std::string calibration = {};          ///< for check_drift, as JSON
};

/// "CHANNEL:JOB", the open files to report to and of the job.
inline constexpr const char* job_variable = "GPUBENCH_WORKER_JOB";

std::string job_to_json(const Job& job);
/// Throws storage::ReadError.
Job job_from_json(const std::string& text);

struct TakenJob {
  Job job;
  int channel = -1;
};
/// The job of this process, if any, taken out of its environment. Throws storage::ReadError.
std::optional<TakenJob> take_job();

/// A filter of Google Benchmark that chooses all points of these names, and perhaps some more.
std::string filter_for(const std::vector<std::string>& names);

/// The command, or in a worker the job that it was given in place of it. Returns the exit code.
int run_command_or_job(const Command& command, const Options& options);

}  // namespace gpubench
