// SPDX-License-Identifier: Apache-2.0
// What the command line asks for.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/google/google_runner.h"
#include "calibrate/calibrate.h"
#include "compare/compare.h"
#include "main/cli/terminal.h"
#include "reports/reports.h"
#include "reports/trace.h"

namespace gpubench {

struct Options {
  unsigned command = 0;             ///< its bit in the table of commands
  std::optional<std::string> text;  ///< to be printed instead: help, the version, a completion script
  std::string program;              ///< as it was called
  std::vector<std::string> words;   ///< all that follow the program

  // run
  std::optional<calibrate::Mode> calibrate;
  std::string device;
  std::string filter;
  std::vector<bench::ArgumentChoice> arguments;  ///< in place of those that are registered
  bool list = false;
  int once = 0;              ///< executions of each point, for a profiler; 0: measure
  bool dry = false;          ///< with once: only say how
  bool drift_check = true;   ///< of a stored calibration
  bool accept_load = false;  ///< store a calibration that was measured under load
  bool isolate = false;
  bool since_last = true;  ///< show what changed since the last run, and keep this one to be compared with
  std::optional<std::string> calibration_file;
  std::vector<TimingMode> clocks = {TimingMode::stream, TimingMode::device};  ///< as PointRunner::Settings::clocks
  double time_budget_seconds = 0.25;
  std::string cache_state = "warm";  ///< or "cold"
  std::vector<std::string> metrics;  ///< to be counted, by name; sets are spelt out
  std::vector<std::string> checks;   ///< by name: "activity", "ncu-rule"
  bool kernels = false;              ///< what each point runs, kernel by kernel
  std::optional<double> given_isolate_timeout_seconds;
  double isolate_timeout_seconds = 120.0;  ///< the one given, or long enough for the time budget
  std::optional<std::string> resume_file;
  std::size_t adaptive_sizes = 0;  ///< maximum to add to an operation; 0: none
  bench::GoogleFlags google;

  // compare, ab, gate, report, calibration and trace
  std::vector<std::string> inputs;
  compare::FailOn fail_on = compare::FailOn::regression;
  double min_effect = 0.01;
  std::vector<std::string> base_runs;  ///< files and folders of one side
  std::vector<std::string> new_runs;
  std::optional<double> process_deviation;
  bool force = false;
  bool paired = false;
  bool same_model = false;              ///< as compare::CompareOptions::same_model
  std::optional<TimingMode> compared_clock;  ///< as compare::CompareOptions::clock

  // ab
  std::vector<std::string> program_arguments;  ///< after "--"
  double total_budget_seconds = 600.0;
  double precision = 0.01;   ///< half-width of a ratio's interval that is narrow enough
  std::optional<int> pairs;  ///< exactly so many
  std::optional<std::string> keep_folder;

  // profile, with `program_arguments`
  std::string kept_kernels;  ///< a regular expression
  std::string kept_range;
  double start_after_seconds = 0.0;
  double duration_seconds = 0.0;  ///< 0: to the end
  bool capture_range = false;
  int counted_launches = 20;
  int metrics_runs = 1;
  double max_recording_gib = 4.0;               ///< of each process
  std::optional<std::string> recording_folder;  ///< of an earlier recording

  // trace
  bool json = false;  ///< the result as JSON instead of text
  reports::KernelTable kernel_table = reports::KernelTable::name;

  // trace flame and diff
  std::string flame_weight;  ///< "gpu" or "host"; empty: GPU time where there is any
  double min_duration_us = 0.0;
  std::size_t max_depth = 512;
  bool group_small_kernels = true;

  // serve
  std::string serve_host = "127.0.0.1";
  int serve_port = 6970;

  // gate
  std::string store = ".gpubench";
  std::string label;
  std::optional<std::string> summary_file;

  // all
  std::vector<std::string> outputs;
  std::string chart;  ///< what pictures among the outputs show; empty: their names say
  ColorChoice color = ColorChoice::automatic;
  int width = 0;  ///< columns of the terminal; 0: as it says
  reports::PictureStyle picture;
  bool by_operation = false;  ///< a row for each operation instead of each point
  bool quiet = false;

  /// The program's name without its folder.
  [[nodiscard]] std::string name() const { return std::filesystem::path(program).filename().string(); }
};

using CommandFunction = int(const Options&);

/// Wrong usage (exit code 64); what() is one sentence.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Whether an output of `profile` is the timeline itself: ".perfetto-trace", or Chrome's ".trace.json".
bool is_timeline_file(const std::string& file);

/// Throws UsageError.
Options parse_command_line(int argc, char** argv);

}  // namespace gpubench
