// SPDX-License-Identifier: Apache-2.0
// What works on this machine, and what does not.

#include <fmt/format.h>

#include "calibrate/calibrate.h"
#include "core/storage/storage.h"
#include "doctor/doctor.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/run/context.h"

namespace gpubench {
namespace {

int run_doctor(const Options& options) {
  std::vector<doctor::Line> lines = doctor::judge(doctor::gather());
  const auto kept = calibrate::cache_directory();
  lines.push_back(
      {.section = "host",
       .check = "calibrations",
       .light = kept ? doctor::Light::green : doctor::Light::yellow,
       .found = kept ? fmt::format("kept in {}", kept->string()) : "not kept: there is no folder for them",
       .remedy = kept ? "" : "Set HOME or XDG_CACHE_HOME to an absolute path. Without it each run measures ceilings.",
       .value = std::nullopt,
       .method = ""});
  if (!options.quiet) show(doctor::console(lines, stdout_style(options)));
  const std::string text = doctor::json(lines, gather_context(options.program, options.words));
  write_each(options.outputs, options.quiet, [&](const std::string& file) { storage::write_file(file, text); });
  return doctor::worst(lines) == doctor::Light::red ? exit_codes::operation_failed : exit_codes::fine;
}

}  // namespace

extern const CommandFile doctor_command{
    80, [] {
      return std::vector{with(Command{"doctor",
                                      "Say what works on this machine, what does not, and how to put it right",
                                      "gpubench doctor\n"
                                      "gpubench doctor --out=doctor.json",
                                      {},
                                      ".json"},
                              run_doctor)};
    }};

}  // namespace gpubench
