// SPDX-License-Identifier: Apache-2.0
#include "main/cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

namespace gpubench {
namespace {

struct Flag {
  std::string name;                 ///< "--color"
  std::vector<std::string> values;  ///< where it takes one of a few words
  bool takes_value = false;
  bool hidden = false;
  std::string help;
};

struct Place {
  std::string path;  ///< words of the subcommand: "calibration show"; empty at the top
  std::vector<std::string> subcommands;
  std::vector<std::string> helps;  ///< of the subcommands
  std::vector<Flag> flags;
};

bool is_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// "auto|always|never" is three words; "cpu|cuda:N|all" is no list, for N stands for a number.
std::vector<std::string> values_of(const std::string& text) {
  std::vector<std::string> values;
  for (std::size_t start = 0; start <= text.size();) {
    const auto end = std::min(text.find('|', start), text.size());
    values.push_back(text.substr(start, end - start));
    if (!is_word(values.back())) return {};
    start = end + 1;
  }
  return values;
}

std::string first_sentence(std::string text) {
  for (const char* const end : {"; ", ": ", " ("})
    if (const auto at = text.find(end); at != std::string::npos && at > 12) text.resize(at);
  std::erase_if(
      text, [](char c) { return c == '\'' || c == '"' || c == '`' || c == '[' || c == ']' || c == '\\' || c == '$'; });
  return text;
}

void collect(const CLI::App& app, const std::string& path, std::vector<Place>& places) {
  Place place{path, {}, {}, {}};
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    for (const auto& name : option->get_lnames()) {
      Flag flag{"--" + name,
                {},
                option->get_items_expected_max() > 0,
                option->get_group().empty(),
                first_sentence(option->get_description())};
      if (flag.takes_value) flag.values = values_of(option->get_option_text());
      if (!flag.hidden) place.flags.push_back(std::move(flag));
    }
  }
  const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* const subcommand : subcommands) {
    place.subcommands.push_back(subcommand->get_name());
    place.helps.push_back(first_sentence(subcommand->get_description()));
  }
  places.push_back(std::move(place));
  for (const CLI::App* const subcommand : subcommands)
    collect(*subcommand, path.empty() ? subcommand->get_name() : path + " " + subcommand->get_name(), places);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string flag_words(const Place& place) {
  std::vector<std::string> words;
  for (const auto& flag : place.flags) words.push_back(flag.takes_value ? flag.name + "=" : flag.name);
  return joined(words);
}

/// bash's patterns of "PLACE:FLAG" with the words that the flag takes there: "*:--color" where they are the same
/// everywhere.
std::string value_cases(const std::vector<Place>& places) {
  std::map<std::string, std::map<std::string, std::string>> patterns;  // by flag, by its words
  for (const auto& place : places)
    for (const auto& flag : place.flags)
      if (!flag.values.empty()) {
        std::string& pattern = patterns[flag.name][joined(flag.values)];
        pattern += fmt::format("{}'{}:{}'", pattern.empty() ? "" : "|", place.path, flag.name);
      }
  std::string cases;
  for (const auto& [flag, by_words] : patterns)
    for (const auto& [words, pattern] : by_words)
      cases += fmt::format("    {}) list='{}' ;;\n", by_words.size() == 1 ? "*:" + flag : pattern, words);
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
    cases += fmt::format("    '{}') words='{}' subcommands='{}' ;;\n", place.path, flag_words(place),
                         joined(place.subcommands));
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
      const auto value = !flag.takes_value     ? std::string()
                         : flag.values.empty() ? std::string(":value:_files")
                                               : fmt::format(":value:({})", joined(flag.values));
      cases += fmt::format("\n        '{}{}[{}]{}'", flag.name, flag.takes_value ? "=" : "", flag.help, value);
    }
    cases += ")\n      subcommands=(";
    for (std::size_t i = 0; i < place.subcommands.size(); ++i)
      cases += fmt::format("\n        '{}:{}'", place.subcommands[i], place.helps[i]);
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
    const auto last = place.path.substr(place.path.rfind(' ') == std::string::npos ? 0 : place.path.rfind(' ') + 1);
    const auto when =
        place.path.empty() ? std::string("__fish_use_subcommand") : fmt::format("__fish_seen_subcommand_from {}", last);
    for (std::size_t i = 0; i < place.subcommands.size(); ++i)
      text +=
          fmt::format("complete -c {} -n '{}' -f -a {} -d '{}'\n", program, when, place.subcommands[i], place.helps[i]);
    for (const auto& flag : place.flags)
      text += fmt::format("complete -c {} -n '{}' -l {}{} -d '{}'\n", program, when, flag.name.substr(2),
                          !flag.takes_value     ? std::string()
                          : flag.values.empty() ? std::string(" -r")
                                                : fmt::format(" -x -a '{}'", joined(flag.values)),
                          flag.help);
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, std::string_view shell) {
  std::vector<Place> places;
  collect(app, "", places);
  std::string program = app.get_name();
  const bool plain = std::all_of(program.begin(), program.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '+';
  });
  if (!plain || program.empty()) program = "gpubench";  // it becomes part of a script
  return shell == "bash" ? bash(places, program) : shell == "zsh" ? zsh(places, program) : fish(places, program);
}

}  // namespace gpubench
