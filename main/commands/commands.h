// SPDX-License-Identifier: Apache-2.0
// The commands behind the command line. Each returns its exit code and throws on what it cannot do.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compare/compare.h"
#include "core/model/run.h"
#include "core/storage/storage.h"
#include "main/cli/options.h"
#include "reports/comparisons.h"

namespace gpubench {

/// A command that a program has.
struct Command {
  unsigned scope;  ///< its bit in the table of commands
  CommandFunction* run;
};

/// run_command_line of a program with these commands. For any other it becomes the program `rest`, beside its own file.
int run_one_of(const std::vector<Command>& commands, const char* rest, int argc, char** argv);

namespace exit_codes {
inline constexpr int fine = 0;
inline constexpr int operation_failed = 2;
inline constexpr int not_comparable = 3;
inline constexpr int wrong_usage = 64;
}  // namespace exit_codes

/// Calibrates, measures, classifies and reports.
int run_command(const Options& options);
int report_command(const Options& options);
int compare_command(const Options& options);
/// Runs two programs in turn and compares them.
int ab_command(const Options& options);
/// Runs any program and judges its kernels. Returns the program's own exit code.
int profile_command(const Options& options);
// Baselines, and runs held against them.
int gate_update(const Options& options);
int gate_check(const Options& options);
int gate_history(const Options& options);
// Stored calibrations. They measure nothing.
int list_calibrations(const Options& options);
int show_calibrations(const Options& options);
int export_calibration(const Options& options);
int import_calibration(const Options& options);
int diff_calibrations(const Options& options);
/// A folder of runs and traces as a page, on this machine. Returns after Ctrl-C.
int serve_command(const Options& options);
/// Says what works here, what does not, and the remedy; exit code 2 when something does not.
int doctor_command(const Options& options);

/// "gpubench: message" on standard error, of any text: what a terminal or a CI log would obey is escaped.
void say(const std::string& message);
/// Printable lines on standard output, without commands for a CI log. A failure is said once, at the end.
void show(std::string_view lines);
/// What an error says, in the user's terms also where the system or a library said it.
std::string words_of(const std::exception& error);
/// Writes each file, though one fails: the last error is thrown in the end, those before are said. Says what it wrote,
/// unless `quiet`.
void write_each(const std::vector<std::string>& files, bool quiet,
                const std::function<void(const std::string& file)>& write);

/// The runs of files, and of all *.json in folders. Throws storage::ReadError; UsageError for an empty folder.
std::vector<Run> read_runs(const std::vector<std::string>& files_and_folders);

/// Leaves out the points whose names --filter does not match. Throws UsageError where none is left.
void keep_matching(const std::string& filter, Run& run);
/// The same, also where no point is left.
void drop_others(const std::string& filter, Run& run);

compare::CompareOptions compare_options(const Options& options);

/// Refuses what a comparison cannot be written as. Throws UsageError or storage::WriteError.
void check_comparison_outputs(const Options& options);

/// ".json" of "run.JSON".
std::string extension_of(const std::filesystem::path& file);

/// Writes a comparison or a history to each output, as its extension says: .json, .csv or .md.
template <class Result>
void write_results(const Result& result, const Options& options) {
  write_each(options.outputs, options.quiet, [&](const std::string& file) {
    const std::string extension = extension_of(file);
    storage::write_file(file, extension == ".json"  ? reports::json(result)
                              : extension == ".csv" ? reports::csv(result)
                                                    : reports::markdown(result));
  });
}

/// Prints and writes it. Returns the exit code.
int report_comparison(const compare::Comparison& comparison, const Options& options);

Context gather_context(const std::string& program, const std::vector<std::string>& arguments);

/// Hashes (64-bit FNV-1a) of an ELF executable's sections: "host_code" of .text, "device_code" of .nv_fatbin (SASS and
/// PTX of all kernels). A section or file that is not sound has no key.
std::map<std::string, std::string> code_identity(const std::filesystem::path& executable);

}  // namespace gpubench
