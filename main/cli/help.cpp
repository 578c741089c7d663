// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "core/base/text.h"
#include "main/cli/option_table.h"

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
  return *row.default_value == '\0' ? std::string(row.help)
                                    : fmt::format("{} Default: {}.", row.help, row.default_value);
}

std::string usage(const CommandRow& command, const std::string& program) {
  return fmt::format("{}{}{}{}{} [OPTIONS]", program, *command.path != '\0' ? " " : "", command.path,
                     *command.inputs != '\0' ? " " : "", command.inputs);
}

bool has_children(const CommandRow& command) { return *command.path == '\0' || command.scope == 0; }

std::string list_of_commands(const CommandRow& command) {
  std::string text;
  for (const CommandRow* child : children_of(command))
    text += entry(name_of(*child), std::string(child->summary) + ".");
  return text;
}

std::string exit_code_lines() {
  std::string text = "Exit codes:";
  for (const auto& [code, meaning] : exit_code_rows)
    text += fmt::format("{} {} {}", code == "0" ? "" : ",", code, meaning);
  return text + ".";
}

std::string list_of_options(unsigned scope, Rank rank) {
  std::string text;
  for (const OptionRow& row : option_table())
    if ((row.scope & scope) != 0 && row.rank == rank) text += entry(usage_of(row), with_default(row));
  return text;
}

/// In a cell of a Markdown table, or beside one.
std::string escaped(std::string_view raw, std::string_view special = "|<*") {
  std::string out;
  for (const char c : raw) out += (special.find(c) != std::string_view::npos ? "\\" : "") + std::string(1, c);
  return out;
}

std::string code(std::string_view raw) { return "`" + escaped(raw, "|") + "`"; }

std::string options_markdown(unsigned scope) {
  std::string text = "| Option | Meaning | Default |\n|---|---|---|\n";
  for (const Rank rank : {Rank::common, Rank::other})
    for (const OptionRow& row : option_table())
      if ((row.scope & scope) != 0 && row.rank == rank)
        text += fmt::format("| {} | {} | {} |\n", code(usage_of(row)), escaped(row.help),
                            *row.default_value == '\0' ? std::string() : code(row.default_value));
  return text;
}

// The scripts ask the program itself what a word may become, and add file names. PROGRAM stands for its name.

constexpr std::string_view bash =
    R"(# Completion of PROGRAM for bash: source this, or put it into ~/.local/share/bash-completion/completions/PROGRAM
_gpubench() {
  local line=${COMP_LINE:0:COMP_POINT} current flag='' list
  current=${line##*[[:space:]]}
  [[ $current == --*=* ]] && flag=${current%%=*}=
  local - && set -f
  set -- ${line%"$current"}
  list=$("${1/#\~/$HOME}" --complete "${@:2}" "$current" 2>/dev/null | cut -f1)
  COMPREPLY=($(compgen -W "$list" -- "$current"))
  if [[ -z $list || $current != -* ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -P "$flag" -f -- "${current#"$flag"}")
  fi
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  # Where '=' parts words only what is behind it is replaced.
  [[ $COMP_WORDBREAKS == *=* ]] && COMPREPLY=("${COMPREPLY[@]#"${flag:-=}"}")
  return 0
}
complete -F _gpubench PROGRAM
)";

constexpr std::string_view zsh = R"(#compdef PROGRAM
# Completion of PROGRAM for zsh: put it as _PROGRAM into a folder of $fpath, or source it after compinit.
_gpubench() {
  local tab=$'\t' text
  local -a list valued plain
  text=$(${~words[1]} --complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)
  list=(${(f)text})
  if [[ $PREFIX == --*=* ]]; then
    compset -P '*='
    (( $#list )) && compadd -- ${${list%%$tab*}#*=} || _files
    return
  fi
  plain=(${${list:#*=$tab*}/$tab/:})
  valued=(${${(M)list:#*=$tab*}/=$tab/:})
  _describe word plain -- valued -q -S =
  [[ $PREFIX == -* ]] || _files
}
compdef _gpubench PROGRAM
)";

constexpr std::string_view fish =
    R"(# Completion of PROGRAM for fish: put it into ~/.config/fish/completions/PROGRAM.fish
function __gpubench
  set -l words (commandline -opc)
  set -l program (string replace -r '^~' $HOME -- $words[1])
  $program --complete $words[2..] (commandline -ct) 2>/dev/null
end
complete -c PROGRAM -a '(__gpubench)'
complete -c PROGRAM -f -n 'string match -q -- "-*" (commandline -ct) && count (__gpubench) >/dev/null'
)";

}  // namespace

std::string help_text(const CommandRow& command, const std::string& program, bool all) {
  const bool is_run = *command.path == '\0';
  std::string text = paragraph(std::string(command.summary) + ".");
  text += fmt::format("\nUsage: {}\n", command.scope == 0 ? fmt::format("{} {} ACTION", program, command.path)
                                                          : usage(command, program));
  if (is_run) text += fmt::format("       {} COMMAND [OPTIONS]\n", program);
  if (*command.inputs_help != '\0') text += "\n" + entry(command.inputs, command.inputs_help);
  if (has_children(command))
    text += fmt::format("\n{}:\n{}", is_run ? "Commands" : "Actions", list_of_commands(command));
  const bool short_form = is_run && !all;
  if (command.scope != 0) {
    text += "\nOptions:\n" + list_of_options(command.scope, Rank::common);
    if (!short_form) text += (is_run ? "\nFurther options:\n" : "") + list_of_options(command.scope, Rank::other);
  }
  if (is_run && all) text += "\n" + paragraph(google_flags);
  if (*command.examples != '\0') text += "\nExamples:\n";
  std::istringstream examples(command.examples);
  for (std::string line; std::getline(examples, line);)
    text += fmt::format("  {}{}\n", program, line.substr(line.find(' ')));
  text += "\n" + paragraph(exit_code_lines());
  if (short_form)
    text += paragraph(fmt::format("{0} --help=all prints every option, {0} help COMMAND those of a command.", program));
  if (!is_run && command.scope == 0)
    text += paragraph(fmt::format("{} {} ACTION --help prints the options of an action.", program, command.path));
  return text;
}

std::string help_markdown() {
  std::string text =
      "<!-- Generated by gpubench --help-markdown; edit main/cli/option_table.cpp instead. -->\n"
      "# Command line\n\n"
      "Every benchmark program has this command line, with its own name in place of `gpubench`.\n"
      "A value follows `=` or a space. `--help` prints the options most people need, `--help=all` every one,\n"
      "and `gpubench help COMMAND` those of a command.\n";
  for (const CommandRow& row : command_table()) {
    if (row.scope == 0) continue;
    const bool is_run = *row.path == '\0';
    text += fmt::format("\n## {}\n\n{}.\n\n", is_run ? std::string("Run") : row.path, row.summary);
    text += fmt::format("```text\n{}\n```\n\n", usage(row, "gpubench"));
    if (*row.inputs_help != '\0') text += fmt::format("`{}`: {}\n\n", row.inputs, escaped(row.inputs_help));
    text += options_markdown(row.scope);
    if (is_run) text += fmt::format("\n{}\n", google_flags);
    text += "\nExamples:\n\n```sh\n";
    text += fmt::format("{}\n```\n", row.examples);
  }
  text += "\n## Exit codes\n\n| Code | Meaning |\n|---|---|\n";
  for (const auto& [number, meaning] : exit_code_rows) text += fmt::format("| {} | {} |\n", number, meaning);
  return text;
}

std::string completion_script(std::string program, std::string_view shell) {
  const bool plain = std::all_of(program.begin(), program.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '+';
  });
  if (!plain || program.empty()) program = "gpubench";  // it becomes part of a script
  constexpr std::string_view placeholder = "PROGRAM";
  std::string text(shell == "bash" ? bash : shell == "zsh" ? zsh : fish);
  for (std::size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos; at += program.size())
    text.replace(at, placeholder.size(), program);
  return text;
}

std::string completions(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const std::string& current = words.back();
  const std::vector<std::string> before(words.begin(), words.end() - 1);
  const CommandRow& command = command_of(before);
  const auto meaning = [](std::string_view help) { return help.substr(0, help.find_first_of(".:;(")); };
  std::string text;
  if (!current.starts_with('-')) {
    for (const CommandRow* const child : children_of(command))
      text += fmt::format("{}\t{}\n", name_of(*child), meaning(child->summary));
    return text;
  }
  const auto equals = current.find('=');
  for (const OptionRow& row : option_table()) {
    if ((row.scope & command.scope) == 0 || row.rank == Rank::hidden) continue;
    if (equals == std::string::npos)
      text += fmt::format("{}{}\t{}\n", row.flag, *row.value == '\0' ? "" : "=", meaning(row.help));
    else if (current.substr(0, equals) == row.flag)
      for (const std::string& choice : choices_of(row.value)) text += fmt::format("{}={}\t\n", row.flag, choice);
  }
  return equals == std::string::npos ? text + "--help\tPrint help\n" : text;
}

}  // namespace gpubench
