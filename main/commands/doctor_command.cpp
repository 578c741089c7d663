// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/storage/storage.h"
#include "doctor/facts.h"
#include "doctor/judge.h"
#include "main/cli/terminal.h"
#include "main/commands/commands.h"

namespace gpubench {

int doctor_command(const Options& options) {
  for (const std::string& output : options.outputs) {
    if (std::filesystem::path(output).extension() != ".json")
      throw UsageError(fmt::format("--out={}: doctor writes .json only.", output));
    storage::check_writable(output);
  }
  const std::vector<doctor::Line> lines = doctor::judge(doctor::gather());
  if (!options.quiet) fmt::print("{}", doctor::console(lines, stdout_style(options.color)));
  const std::string text = doctor::json(lines, gather_context(options.program, options.words));
  for (const std::string& output : options.outputs) storage::write_file(output, text);
  return doctor::worst(lines) == doctor::State::red ? exit_codes::operation_failed : exit_codes::fine;
}

}  // namespace gpubench
