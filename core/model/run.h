// SPDX-License-Identifier: Apache-2.0
// Everything one execution knows: what is saved, reported and compared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/compiled_once.h"
#include "core/model/device.h"
#include "core/model/measurement.h"
#include "core/model/program.h"
#include "core/model/verdict.h"

namespace gpubench {

struct Context {
  std::string gpubench_version;
  std::string created_utc;  ///< ISO 8601
  std::string host;
  std::string program;                             ///< base name of the program
  std::vector<std::string> arguments;              ///< its command line
  std::map<std::string, std::string> environment;  ///< "os", "kernel", "cpu", "compiler", "cuda_runtime", ...
  friend bool operator==(const Context&, const Context&) = default;
};

struct Point {
  Measurement measurement;
  std::optional<Verdict> verdict;  ///< absent when the point failed or its device has no calibration
  /// Of each of the measurement's kernels, absent where it has none. Empty for one kernel: it has the point's verdict.
  std::vector<std::optional<Verdict>> kernel_verdicts = {};
  friend bool operator==(const Point&, const Point&) = default;
};

/// What to fix first in one operation: where, what limits it, what to do and what that could gain.
struct OperationFinding {
  std::string operation;
  std::string device;
  std::string point;                   ///< name of the measurement to begin with
  std::optional<FailureKind> failure;  ///< why its points have no valid time; absent of a limit
  Regime regime = Regime::unknown;
  std::string limiter;
  std::string why;                    ///< the advice's evidence, or the failure's message
  std::string action;                 ///< empty of a failure
  std::optional<AdviceCode> code;     ///< of the action
  std::string kernel;                 ///< that it is about; empty: the operation as a whole
  std::optional<double> gain;         ///< of the point: at most so many times faster; absent when it cannot be told
  std::optional<Interval> gain_ci95;  ///< likewise
  std::optional<double> saved;        ///< of the time of all points of the operation, at most
  double confidence = 0.0;            ///< of the point's verdict; 1 of a failure
  std::int64_t points = 0;            ///< that share it
  std::int64_t all_points = 0;        ///< of the operation on this device
  friend bool operator==(const OperationFinding&, const OperationFinding&) = default;
};

/// Of a run that was stopped: how far it came.
struct Unfinished {
  std::int64_t finished = 0;  ///< points
  std::int64_t planned = 0;
  friend bool operator==(const Unfinished&, const Unfinished&) = default;
};

struct Run {
  GPUBENCH_DECLARE_VALUE(Run)
  static constexpr int schema_version = 2;

  Context context;
  std::vector<Device> devices;
  std::vector<Calibration> calibrations;  ///< at most one a device
  std::vector<Point> points;              ///< in the order they were measured
  std::vector<Boundary> boundaries;
  std::vector<std::string> warnings;
  std::optional<Unfinished> unfinished = {};    ///< absent in a finished run, and in older files
  std::optional<Program> program = {};          ///< of a profiled program, whose kernels are the points
  std::vector<OperationFinding> findings = {};  ///< failures, then by falling saving (classifier/run/findings.h)

  [[nodiscard]] const Calibration* calibration_of(std::string_view device_id) const {
    for (const auto& calibration : calibrations)
      if (calibration.device.id == device_id) return &calibration;
    return nullptr;
  }
  friend bool operator==(const Run&, const Run&) = default;
};

/// What the operators in a trace reach of a GPU's ceilings, by their shapes.
struct WorkVerdicts {
  Run run;
  std::vector<std::int64_t> calls;    ///< of each of the run's points
  std::vector<double> total_seconds;  ///< likewise
  std::string rest;                   ///< what has no verdict, and why
};

}  // namespace gpubench
