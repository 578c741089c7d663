// SPDX-License-Identifier: Apache-2.0
// What a run of operations was asked for; its rows stand in main/commands/run_command.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/google/argument_choice.h"
#include "bench/google/google_runner.h"
#include "calibrate/calibrate.h"
#include "main/cli/command.h"

namespace gpubench {

namespace bench {
struct RunnerSettings;
}

struct RunOptions : Options, FilterOptions, CeilingOptions, PictureOptions {
  std::optional<calibrate::Mode> calibrate;
  std::string device;
  std::vector<bench::ArgumentChoice> arguments;  ///< in place of those that are registered
  bool list = false;
  int once = 0;  ///< executions of each point, for a profiler; 0: measure
  bool isolate = false;
  bool since_last = true;  ///< show what changed since the last run, and keep this one to be compared with
  std::vector<TimingMode> modes = {TimingMode::stream, TimingMode::device};  ///< as bench::RunnerSettings::clocks
  double time_budget_seconds = 0.25;
  bool brief = false;                ///< as bench::SamplingOptions::brief
  std::string cache_state = "warm";  ///< or "cold"
  bool verify_every = false;         ///< check results after timing too, for each set of inputs
  std::vector<std::string> metrics;  ///< to be counted, by name; sets are spelt out
  std::vector<std::string> checks;   ///< by name: "activity", "ncu-rule"
  std::optional<double> isolate_timeout_seconds;
  std::optional<std::string> resume_file;
  std::size_t adaptive_sizes = 0;  ///< maximum to add to an operation; 0: none
  bench::GoogleFlags google;
};

/// How points are to be run, as the command line asks for.
bench::RunnerSettings runner_settings(const RunOptions& options);

}  // namespace gpubench
