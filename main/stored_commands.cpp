// SPDX-License-Identifier: Apache-2.0
// Commands that work from stored runs and need no device.
#include <fmt/format.h>

#include <string>

#include "classifier/transfer.h"
#include "main/commands.h"
#include "main/terminal.h"
#include "reports/reports.h"
#include "storage/storage.h"

namespace gpubench {
namespace {

/// With other ceilings than those of the run.
void judge_anew(const std::string& file, Run& run) {
  const Calibration calibration = storage::read_calibration(file);
  if (!classifier::judge_by(calibration, file, run))
    throw UsageError(fmt::format("{} holds the ceilings of a {}, and the run has no device of that kind.", file,
                                 calibration.device.kind == DeviceKind::cuda ? "GPU" : "CPU"));
}

}  // namespace

int report_command(const Options& options) {
  for (const std::string& output : options.outputs) storage::check_writable(output);
  Run run = storage::read_run(options.inputs.at(0));
  if (options.calibration_file) judge_anew(*options.calibration_file, run);
  if (!options.quiet && options.outputs.empty()) fmt::print("{}", reports::console(run, stdout_style(options.color)));
  for (const std::string& output : options.outputs) reports::write(run, output);
  return exit_codes::fine;
}

}  // namespace gpubench
