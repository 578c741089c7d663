// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "main/cli/option_table.h"

namespace gpubench {
namespace {

struct Word {
  std::string name;  ///< "--color", "gate"
  std::string help;
  bool takes_value = false;
  std::string choices = {};  ///< "auto always never" where it takes one of a few words
};

struct Place {
  std::string path;  ///< words of the subcommand: "calibration show"; empty at the top
  std::vector<Word> subcommands;
  std::vector<Word> flags;
};

std::string first_sentence(std::string text) {
  for (const char* const end : {". ", "; ", ": ", " ("})
    if (const auto at = text.find(end); at != std::string::npos && at > 12) text.resize(at);
  std::erase_if(text, [](char c) { return std::string_view("'\"`[]\\$").find(c) != std::string_view::npos; });
  return text;
}

std::vector<Place> places_of_table() {
  std::vector<Place> places;
  for (const CommandRow& command : command_table()) {
    Place& place = places.emplace_back(Place{command.path, {}, {}});
    for (const OptionRow& row : option_table())
      if ((row.scope & command.scope) != 0 && row.rank != Rank::hidden)
        place.flags.push_back({row.flag, first_sentence(row.help), *row.value != '\0',
                               fmt::format("{}", fmt::join(choices_of(row.value), " "))});
    place.flags.push_back({"--help", "Print help"});
    for (const CommandRow* const child : children_of(command))
      place.subcommands.push_back({name_of(*child), first_sentence(child->summary)});
  }
  return places;
}

/// The names of words, with '=' behind flags that take a value.
std::string names_of(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) text += (text.empty() ? "" : " ") + word.name + (word.takes_value ? "=" : "");
  return text;
}

/// bash's patterns of "PLACE:FLAG" with the words that the flag takes there.
std::string value_cases(const std::vector<Place>& places) {
  std::string cases;
  for (const auto& place : places)
    for (const auto& flag : place.flags)
      if (!flag.choices.empty())
        cases += fmt::format("    '{}:{}') list='{}' ;;\n", place.path, flag.name, flag.choices);
  return cases;
}

/// "'gate'|'gate check'": what a shell's case matches the subcommands by.
std::string path_pattern(const std::vector<Place>& places) {
  std::string paths;
  for (const auto& place : places)
    if (!place.path.empty()) paths += (paths.empty() ? "'" : "|'") + place.path + "'";
  return paths;
}

std::string bash(const std::vector<Place>& places, const std::string& program) {
  std::string cases;
  for (const auto& place : places)
    cases += fmt::format("    '{}') words='{}' subcommands='{}' ;;\n", place.path, names_of(place.flags),
                         names_of(place.subcommands));
  return fmt::format(
      R"(# Completion of {0} for bash: source this, or put it into ~/.local/share/bash-completion/completions/{0}
_gpubench() {{
  local line=${{COMP_LINE:0:COMP_POINT}} current flag value list='' place='' next words='' subcommands='' word
  local - && set -f
  current=${{line##*[[:space:]]}}
  for word in ${{line%"$current"}}; do
    next=${{place:+$place }}$word
    case $next in
      {1}) place=$next ;;
    esac
  done
  case $place in
{2}  esac
  COMPREPLY=()
  if [[ $current == --*=* ]]; then
    flag=${{current%%=*}} value=${{current#*=}}
    case $place:$flag in
{3}    esac
    if [[ -n $list ]]; then
      COMPREPLY=($(compgen -W "$list" -- "$value"))
    else
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$value")
    fi
    # Where '=' parts words only what is behind it is replaced.
    [[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=("${{COMPREPLY[@]/#/$flag=}}")
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace 2>/dev/null
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -W "$subcommands" -- "$current"; compgen -f -- "$current")
  fi
  return 0
}}
complete -F _gpubench {0}
)",
      program, path_pattern(places), cases, value_cases(places));
}

std::string zsh(const std::vector<Place>& places, const std::string& program) {
  std::string cases;
  for (const auto& place : places) {
    cases += fmt::format("    '{}')\n      flags=(", place.path);
    for (const auto& flag : place.flags) {
      const auto value = !flag.takes_value      ? std::string()
                         : flag.choices.empty() ? std::string(":value:_files")
                                                : fmt::format(":value:({})", flag.choices);
      cases += fmt::format("\n        '{}{}[{}]{}'", flag.name, flag.takes_value ? "=" : "", flag.help, value);
    }
    cases += ")\n      subcommands=(";
    for (const auto& command : place.subcommands) cases += fmt::format("\n        '{}:{}'", command.name, command.help);
    cases += ") ;;\n";
  }
  return fmt::format(R"(#compdef {0}
# Completion of {0} for zsh: put it as _{0} into a folder of $fpath, or source it after compinit.
_gpubench() {{
  local place='' next word
  local -a flags subcommands
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    next="${{place:+$place }}$word"
    case $next in
      {1}) place=$next ;;
    esac
  done
  case $place in
{2}  esac
  if (( $#subcommands )) && [[ $PREFIX != -* ]]; then
    _describe -t commands command subcommands
  fi
  _arguments -S $flags '*:file:_files'
}}
compdef _gpubench {0}
)",
                     program, path_pattern(places), cases);
}

std::string fish(const std::vector<Place>& places, const std::string& program) {
  std::string text =
      fmt::format("# Completion of {0} for fish: put it into ~/.config/fish/completions/{0}.fish\n", program);
  for (const auto& place : places) {
    // The last word of the path has been said, or at the top none of the subcommands.
    const auto last = place.path.substr(place.path.rfind(' ') + 1);
    const auto when =
        place.path.empty() ? std::string("__fish_use_subcommand") : fmt::format("__fish_seen_subcommand_from {}", last);
    for (const auto& command : place.subcommands)
      text += fmt::format("complete -c {} -n '{}' -f -a {} -d '{}'\n", program, when, command.name, command.help);
    for (const auto& flag : place.flags)
      text += fmt::format("complete -c {} -n '{}' -l {}{} -d '{}'\n", program, when, flag.name.substr(2),
                          !flag.takes_value      ? std::string()
                          : flag.choices.empty() ? std::string(" -r")
                                                 : fmt::format(" -x -a '{}'", flag.choices),
                          flag.help);
  }
  return text;
}

}  // namespace

std::string completion_script(std::string program, std::string_view shell) {
  const std::vector<Place> places = places_of_table();
  const bool plain = std::all_of(program.begin(), program.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '+';
  });
  if (!plain || program.empty()) program = "gpubench";  // it becomes part of a script
  return shell == "bash" ? bash(places, program) : shell == "zsh" ? zsh(places, program) : fish(places, program);
}

}  // namespace gpubench
