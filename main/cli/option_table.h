// SPDX-License-Identifier: Apache-2.0
// One table of commands and one of options. They drive parsing, --help, shell completion and
// docs/reference/command-line.md: a new option is one row here, and its use.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "main/cli/options.h"

namespace gpubench {

/// The commands that an option belongs to, as bits.
enum Scope : unsigned {
  in_run = 1U << 0U,
  in_compare = 1U << 1U,
  in_ab = 1U << 2U,
  in_gate_update = 1U << 3U,
  in_gate_check = 1U << 4U,
  in_gate_history = 1U << 5U,
  in_report = 1U << 6U,
  in_doctor = 1U << 7U,
  in_calibration_list = 1U << 8U,
  in_calibration_show = 1U << 9U,
  in_calibration_export = 1U << 10U,
  in_calibration_import = 1U << 11U,
  in_calibration_diff = 1U << 12U,
  in_profile = 1U << 13U,
  in_trace_summary = 1U << 14U,
  in_trace_timeline = 1U << 15U,
  in_trace_flame = 1U << 16U,
  in_trace_idle = 1U << 17U,
  in_trace_kernels = 1U << 18U,
  in_trace_memory = 1U << 19U,
  in_trace_critical_path = 1U << 20U,
  in_trace_diff = 1U << 21U,
  in_trace_convert = 1U << 22U,
  in_serve = 1U << 24U,
  in_gate = in_gate_update | in_gate_check | in_gate_history,
  in_trace_tables =
      in_trace_summary | in_trace_idle | in_trace_kernels | in_trace_memory | in_trace_critical_path | in_trace_diff,
  in_trace = in_trace_tables | in_trace_timeline | in_trace_flame | in_trace_convert,
  in_any_comparison = in_compare | in_ab | in_gate_check,
  everywhere = ~0U
};

struct CommandRow {
  unsigned scope;       ///< its bit; 0 for a group such as `gate`
  const char* path;     ///< "gate check"; empty for a run
  const char* summary;  ///< for the list of commands: a few words, no full stop
  const char* inputs;   ///< "BASE NEW"; empty when it takes none
  const char* inputs_help;
  std::size_t min_inputs;
  std::size_t max_inputs;
  const char* examples;  ///< one a line; each begins with "gpubench"
};

enum class Rank { common, other, hidden };

struct OptionRow {
  unsigned scope;
  const char* flag;           ///< "--calibrate"
  const char* value;          ///< what it takes: "quick|full", "FILE"; empty for a switch
  const char* implied;        ///< the value that the bare flag stands for; empty when one must be given
  const char* default_value;  ///< read as if given, and shown in the help
  Rank rank;
  bool repeatable;
  const char* help;
  std::function<void(Options&, const OptionRow&, const std::string&)> use;
};

const std::vector<CommandRow>& command_table();
/// The command whose name the words that are no options begin with; the run if they begin with none.
const CommandRow& command_of(const std::vector<std::string>& words);
/// The commands one level below: of the run (the first row) all, of "gate" its actions.
std::vector<const CommandRow*> children_of(const CommandRow& row);
/// The last word of its path: "check" of "gate check".
std::string name_of(const CommandRow& row);

const std::vector<OptionRow>& option_table();

/// "quick|full" is {"quick", "full"}; what stands for other texts, as in "cpu|cuda:N|all", is no list: empty.
std::vector<std::string> choices_of(std::string_view value);

/// "--calibrate[=quick|full]".
std::string usage_of(const OptionRow& row);

/// In 80 columns. Of a run only the options that most people need, unless `all`.
std::string help_text(const CommandRow& command, const std::string& program, bool all);

/// docs/reference/command-line.md.
std::string help_markdown();

/// `shell` is "bash", "zsh" or "fish". The script completes what `--complete WORD...` prints, and file names.
std::string completion_script(std::string program, std::string_view shell);
/// What the last word may become, a line each, with a tabulator and its meaning: the subcommands, the flags (with "="
/// where they take a value), or the values of a flag that takes one of a few words.
std::string completions(const std::vector<std::string>& words);

}  // namespace gpubench
