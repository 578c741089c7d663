// SPDX-License-Identifier: Apache-2.0
// The program of a quick build: what a first look needs, compiled before the rest.
#include "main/cli/option_table.h"
#include "main/commands/commands.h"

int main(int argc, char** argv) {
  using namespace gpubench;
  return run_one_of({{in_run, run_command}, {in_report, report_command}}, "gpubench-all", argc, argv);
}
