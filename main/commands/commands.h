// SPDX-License-Identifier: Apache-2.0
// The commands behind the command line. Each returns its exit code and throws on what it cannot do.
#pragma once

#include <string>
#include <vector>

#include "core/model/run.h"
#include "main/cli/options.h"

namespace gpubench {

namespace exit_codes {
inline constexpr int fine = 0;
inline constexpr int operation_failed = 2;
inline constexpr int not_comparable = 3;
inline constexpr int wrong_usage = 64;
}  // namespace exit_codes

/// Calibrates, measures, classifies and reports.
int run_command(const Options& options, const std::string& program, const std::vector<std::string>& arguments);
int compare_command(const Options& options);
/// Runs two programs in turn and compares them.
int ab_command(const Options& options);
/// Keeps baselines and holds runs against them.
int gate_command(const Options& options);
int report_command(const Options& options);
/// Lists, shows, moves and compares stored calibrations.
int calibration_command(const Options& options);
/// Says what works here, what does not, and the remedy; exit code 2 when something does not.
int doctor_command(const Options& options, const std::string& program, const std::vector<std::string>& arguments);

/// One line on standard error: "gpubench: message".
void say(const std::string& message);

}  // namespace gpubench
