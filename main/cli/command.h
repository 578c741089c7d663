// SPDX-License-Identifier: Apache-2.0
// What a command is. Each file of main/commands/ defines one, or one group of them, with its options: the rows drive
// parsing, --help, shell completion and docs/reference/command-line.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "main/cli/options.h"

namespace gpubench {

namespace exit_codes {
inline constexpr int fine = 0;
inline constexpr int operation_failed = 2;
inline constexpr int not_comparable = 3;
inline constexpr int inconclusive = 4;
inline constexpr int wrong_usage = 64;
}  // namespace exit_codes

enum class Rank { common, other };  ///< the help of a run shows the common ones first
inline constexpr bool repeatable = true;

struct OptionRow {
  std::string flag;           ///< "--calibrate"
  std::string value;          ///< what it takes: "quick|full", "FILE"; empty for a switch
  std::string default_value;  ///< read as if given, and shown in the help
  Rank rank;
  std::string help;
  std::function<void(Options&, const OptionRow&, const std::string&)> use;
  std::string implied = "";  ///< the value that the bare flag stands for; empty when one must be given
  bool repeatable = false;
};

using OptionRows = std::vector<OptionRow>;

/// What of the words is no option.
struct Inputs {
  std::string names = "";  ///< "BASE NEW"; empty when it takes none
  std::string help = "";
  std::size_t min = 0;
  std::size_t max = 0;
};

struct Command {
  std::string path = "";      ///< "gate check"; empty for a run
  std::string summary = "";   ///< for the list of commands: a few words, no full stop
  std::string examples = "";  ///< one a line; each begins with "gpubench"
  Inputs inputs = {};
  std::string formats = "";   ///< of --out: ".json .csv"; empty: without --out
  OptionRows options = {};    ///< its own; --out and those of the console follow
  bool runs_program = false;  ///< takes a program's words after "--"

  std::function<std::unique_ptr<Options>()> defaults = nullptr;
  std::function<void(Options&)> check = nullptr;     ///< what options rule out together; may be null
  std::function<int(const Options&)> run = nullptr;  ///< returns the exit code; null for a group such as `gate`

  [[nodiscard]] bool is_run() const { return path.empty(); }
  [[nodiscard]] bool is_group() const { return run == nullptr; }
  /// The last word of its path: "check" of "gate check".
  [[nodiscard]] std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

/// --out, where it writes anything, --quiet, --color, --width.
OptionRows common_rows(const std::string& formats);

/// The command with what it does, with the struct of its options, and with the rows that all have.
template <class Own>
Command with(Command command, int (*run)(const Own&), void (*check)(Own&) = nullptr) {
  std::ranges::move(common_rows(command.formats), std::back_inserter(command.options));
  command.defaults = [] { return std::make_unique<Own>(); };
  command.run = [run](const Options& options) { return run(static_cast<const Own&>(options)); };
  if (check != nullptr) command.check = [check](Options& options) { check(static_cast<Own&>(options)); };
  return command;
}

/// What a file of main/commands/ defines, named as the file: the commands, and their place among all.
struct CommandFile {
  int place;
  std::vector<Command> (*commands)();
};
/// Of all files, in no order (cmake/GpubenchRegistry.cmake).
std::span<const CommandFile* const> command_files();

/// All commands by their place, the run first.
const std::vector<Command>& all_commands();
/// The command whose name the words that are no options begin with; the run if they begin with none.
const Command& command_of(const std::vector<std::string>& words);
/// The commands one level below: of the run all, of "gate" its actions.
std::vector<const Command*> children_of(const Command& command);

/// Refuses outputs that are none of the command's formats, and pictures that cannot be drawn, before anything is
/// measured. Throws UsageError.
void check_outputs(const Options& options, const std::string& formats);

/// Whether a value is several choices with commas between them: "stream|device,...".
bool takes_several(std::string_view value);
/// "quick|full" is {"quick", "full"}; what stands for other texts, as in "cpu|cuda:N|all", is no list: empty.
std::vector<std::string> choices_of(std::string_view value);
/// "--calibrate[=quick|full]".
std::string usage_of(const OptionRow& row);

/// What a row does with its value: puts it into a member of the command's options, or of a group that it shares.
namespace use {

using Use = decltype(OptionRow::use);

template <class Owner>
Use set(bool Owner::*member) {
  return [member](Options& options, const OptionRow&, const std::string&) {
    dynamic_cast<Owner&>(options).*member = true;
  };
}

/// A text, or a file that may be left out.
template <class Owner, class Text>
Use text(Text Owner::*member) {
  return [member](Options& options, const OptionRow&, const std::string& value) {
    dynamic_cast<Owner&>(options).*member = value;
  };
}

template <class Owner>
Use list(std::vector<std::string> Owner::*member) {
  return [member](Options& options, const OptionRow&, const std::string& value) {
    (dynamic_cast<Owner&>(options).*member).push_back(value);
  };
}

/// Throw UsageError.
double parsed_number(const OptionRow& row, const std::string& text, double low, double high);
double parsed_count(const OptionRow& row, const std::string& text, double low, double high);
/// Throws bench::MetricNameError.
std::vector<std::string> parsed_metrics(const std::string& text);

/// `unit` is what one of the user's is in ours: 0.01 for percent.
template <class Owner, class Value>
Use number(Value Owner::*member, double low, double high, double unit = 1.0) {
  return [=](Options& options, const OptionRow& row, const std::string& value) {
    dynamic_cast<Owner&>(options).*member = static_cast<Value>(parsed_number(row, value, low, high) * unit);
  };
}

template <class Owner, class Value>
Use count(Value Owner::*member, int low, int high) {
  return [=](Options& options, const OptionRow& row, const std::string& value) {
    dynamic_cast<Owner&>(options).*member = static_cast<Value>(static_cast<int>(parsed_count(row, value, low, high)));
  };
}

/// The choices in their order, each with what it stands for.
template <class Owner, class Target, class Value>
Use choice(Target Owner::*member, std::vector<Value> values) {
  return [member, values = std::move(values)](Options& options, const OptionRow& row, const std::string& text) {
    const auto choices = choices_of(row.value);
    dynamic_cast<Owner&>(options).*member =
        values.at(static_cast<std::size_t>(std::ranges::find(choices, text) - choices.begin()));
  };
}

/// Names of counters and of sets of them, spelt out. Throws bench::MetricNameError.
template <class Owner>
Use metrics(std::vector<std::string> Owner::*member) {
  return [member](Options& options, const OptionRow&, const std::string& value) {
    dynamic_cast<Owner&>(options).*member = parsed_metrics(value);
  };
}

}  // namespace use

// Rows that several commands share.

OptionRows joined_rows(std::initializer_list<OptionRows> parts);
/// Those of these flags.
OptionRows chosen_rows(const OptionRows& rows, std::initializer_list<std::string_view> flags);
/// --chart, --title, --theme (of PictureOptions), --filter (FilterOptions), --calibration (CeilingFileOptions),
/// --drift-check (CeilingOptions), --kernels of what shows a run, --json of what shows tables.
OptionRows shared_rows(std::initializer_list<std::string_view> flags);

}  // namespace gpubench
