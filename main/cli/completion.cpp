// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/text.h"
#include "main/cli/help.h"

namespace gpubench {
namespace {

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

/// The plain words among what a value may be: cpu, cuda and all of "cpu|cuda:N|all".
std::vector<std::string> words_among(std::string_view value) {
  std::vector<std::string> words;
  for (const std::string& part : split(value, '|')) {
    std::string word = part.substr(0, part.find_first_of(":,."));
    if (!word.empty() && std::islower(static_cast<unsigned char>(word.front())) != 0) words.push_back(std::move(word));
  }
  return words;
}

}  // namespace

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
  const Command& command = command_of(before);
  const auto meaning = [](std::string_view help) { return help.substr(0, help.find_first_of(".:;(")); };
  std::string text;
  if (!current.starts_with('-')) {
    for (const Command* const child : children_of(command))
      text += fmt::format("{}\t{}\n", child->name(), meaning(child->summary));
    return text;
  }
  const auto equals = current.find('=');
  for (const OptionRow& row : command.options) {
    if (equals == std::string::npos)
      text += fmt::format("{}{}\t{}\n", row.flag, row.value.empty() ? "" : "=", meaning(row.help));
    else if (current.substr(0, equals) == row.flag) {
      const auto start = row.value.ends_with(",...") ? current.find_last_of("=,") : equals;
      for (const std::string& word : words_among(row.value))
        text += fmt::format("{}{}\t\n", current.substr(0, start + 1), word);
    }
  }
  return equals == std::string::npos ? text + "--help\tPrint help\n" : text;
}

}  // namespace gpubench
