// SPDX-License-Identifier: Apache-2.0
#include "main/cli/help.h"

#include <fmt/format.h>

#include "core/base/text.h"

namespace gpubench {
namespace {

constexpr std::size_t help_width = 80;
constexpr std::size_t help_column = 26;

constexpr std::string_view google_flags =
    "All flags of Google Benchmark work too, such as --benchmark_repetitions=5 and --benchmark_format=json. "
    "--benchmark_min_time=0.5s is the minimum time of a point, and with an x (100x) the count of its samples.";
constexpr std::string_view exit_code_rows[][2] = {
    {"0", "fine"},           {"1", "regression"},   {"2", "an operation failed or gave a wrong result"},
    {"3", "not comparable"}, {"4", "inconclusive"}, {"64", "wrong usage"}};

/// "  left   text", the text wrapped beside it, or below it where it is long.
std::string entry(std::string_view left, std::string_view text) {
  std::string result = fmt::format("  {}", left);
  const std::string indent(help_column, ' ');
  const bool below = result.size() + 2 > help_column;
  result = below ? result + "\n" + indent : pad_right(result, help_column);
  return result + joined(wrap(text, help_width - help_column), "\n" + indent) + "\n";
}

std::string paragraph(std::string_view text) { return joined(wrap(text, help_width), "\n") + "\n"; }

std::string with_default(const OptionRow& row) {
  return row.default_value.empty() ? std::string(row.help)
                                   : fmt::format("{} Default: {}.", row.help, row.default_value);
}

std::string usage(const Command& command, const std::string& program) {
  return fmt::format("{}{}{}{}{} [OPTIONS]", program, !command.is_run() ? " " : "", command.path,
                     !command.inputs.names.empty() ? " " : "", command.inputs.names);
}

std::string list_of_commands(const Command& command) {
  std::string text;
  for (const Command* child : children_of(command)) text += entry(child->name(), std::string(child->summary) + ".");
  return text;
}

std::string exit_code_lines() {
  std::string text = "Exit codes:";
  for (const auto& [code, meaning] : exit_code_rows)
    text += fmt::format("{} {} {}", code == "0" ? "" : ",", code, meaning);
  return text + ".";
}

std::string list_of_options(const Command& command, Rank rank) {
  std::string text;
  for (const OptionRow& row : command.options)
    if (row.rank == rank) text += entry(usage_of(row), with_default(row));
  return text;
}

}  // namespace

std::string help_text(const Command& command, const std::string& program, bool all) {
  const bool is_run = command.is_run();
  std::string text = paragraph(std::string(command.summary) + ".");
  text += fmt::format("\nUsage: {}\n", command.is_group() ? fmt::format("{} {} ACTION", program, command.path)
                                                          : usage(command, program));
  if (is_run) text += fmt::format("       {} COMMAND [OPTIONS]\n", program);
  if (!command.inputs.help.empty()) text += "\n" + entry(command.inputs.names, command.inputs.help);
  if (command.is_run() || command.is_group())
    text += fmt::format("\n{}:\n{}", is_run ? "Commands" : "Actions", list_of_commands(command));
  const bool short_form = is_run && !all;
  if (!command.is_group()) {
    text += "\nOptions:\n" + list_of_options(command, Rank::common);
    if (!short_form) text += (is_run ? "\nFurther options:\n" : "") + list_of_options(command, Rank::other);
  }
  if (is_run && all) text += "\n" + paragraph(google_flags);
  if (!command.examples.empty()) {
    text += "\nExamples:\n";
    for (const std::string& line : split(command.examples, '\n'))
      text += fmt::format("  {}{}\n", program, line.substr(line.find(' ')));
  }
  text += "\n" + paragraph(exit_code_lines());
  if (short_form)
    text += paragraph(fmt::format("{0} --help=all prints every option, {0} help COMMAND those of a command.", program));
  if (!is_run && command.is_group())
    text += paragraph(fmt::format("{} {} ACTION --help prints the options of an action.", program, command.path));
  return text;
}

}  // namespace gpubench
