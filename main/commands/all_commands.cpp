// SPDX-License-Identifier: Apache-2.0
// A program with all commands.
#include "gpubench/gpubench.h"
#include "main/cli/option_table.h"
#include "main/commands/commands.h"
#include "main/commands/trace_command.h"

namespace gpubench {

int run_command_line(int argc, char** argv) {
  return run_one_of({{in_run, run_command},
                     {in_compare, compare_command},
                     {in_ab, ab_command},
                     {in_profile, profile_command},
                     {in_trace_summary, trace_summary},
                     {in_trace_timeline, trace_timeline},
                     {in_trace_flame, trace_flame},
                     {in_trace_idle, trace_idle},
                     {in_trace_kernels, trace_kernels},
                     {in_trace_memory, trace_memory},
                     {in_trace_critical_path, trace_critical_path},
                     {in_trace_diff, trace_diff},
                     {in_trace_convert, trace_convert},
                     {in_gate_update, gate_update},
                     {in_gate_check, gate_check},
                     {in_gate_history, gate_history},
                     {in_report, report_command},
                     {in_serve, serve_command},
                     {in_doctor, doctor_command},
                     {in_calibration_list, list_calibrations},
                     {in_calibration_show, show_calibrations},
                     {in_calibration_export, export_calibration},
                     {in_calibration_import, import_calibration},
                     {in_calibration_diff, diff_calibrations}},
                    nullptr, argc, argv);
}

}  // namespace gpubench
