// SPDX-License-Identifier: Apache-2.0
// What an isolated process is to do: the program is started again with the command line it has, and an job in the
// environment.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "main/commands/plan.h"

namespace gpubench {

/// A size of an operation that its author did not register.
struct AddedSize {
  std::string operation;
  std::vector<Argument> arguments;
  friend bool operator==(const AddedSize&, const AddedSize&) = default;
};

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
/// The job of this process, if it has one; its environment is cleared of it, so that processes it starts have none.
/// Throws storage::ReadError.
std::optional<TakenJob> take_job();

/// A filter of Google Benchmark that chooses all points of an operation, and perhaps some more.
std::string filter_for(const std::string& operation);

}  // namespace gpubench
