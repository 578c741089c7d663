// SPDX-License-Identifier: Apache-2.0
#include "main/cli/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/base/text.h"
#include "main/cli/help.h"

namespace gpubench {
namespace {

/// Null for none.
const OptionRow* row_in(const Command& command, std::string_view flag) {
  const auto row = std::ranges::find_if(command.options, [&](const OptionRow& one) { return one.flag == flag; });
  return row == command.options.end() ? nullptr : &*row;
}

std::string quoted_path(const Command& command) {
  return command.is_run() ? std::string("a run") : fmt::format("'{}'", command.path);
}

/// "update", "check", "history" below "gate".
std::vector<std::string> names_below(const Command& command) {
  std::vector<std::string> names;
  for (const Command* const child : children_of(command)) names.push_back(child->name());
  if (command.is_run()) names.emplace_back("help");
  return names;
}

std::string see_help(const Command& command, const std::string& program) {
  return fmt::format(" See {}{}{} --help.", program, command.is_run() ? "" : " ", command.path);
}

/// The words with the names that others give to commands of traces, and to --out, in ours: "hta trace.json -o x.json";
/// and options by the names that they have now.
std::vector<std::string> in_our_names(std::vector<std::string> words) {
  static const std::map<std::string_view, std::string_view> commands = {
      {"flame", "flame"}, {"timeline", "timeline"}, {"hta", "hta"}};
  static const std::map<std::string_view, std::string_view> former = {
      {"--least-effect", "--min-effect"}, {"--max-spool", "--max-recording"}, {"--spools", "--recording"}};
  static const std::map<std::string_view, std::string_view> of_traces = {{"-o", "--out"}, {"--output", "--out"}};
  const std::size_t first = !words.empty() && words.front() == "help" ? 1 : 0;
  if (words.size() <= first) return words;
  if (const auto found = commands.find(words[first]); found != commands.end()) {
    words[first] = found->second;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(first), "trace");
  }
  // `trace FILE` is what a newcomer types: the summary. No action has a dot or a slash.
  if (words.front() == "trace" && words.size() > 1 && command_of({words[0], words[1]}).is_group() &&
      (std::filesystem::exists(words[1]) ||
       (words[1].front() != '-' && words[1].find_first_of("./") != std::string::npos)))
    words.insert(words.begin() + 1, "summary");
  const auto& names = words[first] == "trace" ? of_traces : former;
  for (std::string& word : words)
    if (const auto found = names.find(std::string_view(word).substr(0, word.find('='))); found != names.end())
      word.replace(0, found->first.size(), found->second);
  return words;
}

/// Where "--" stands when what follows is for the programs of the command. Else the end.
int end_of_own_words(int argc, char** argv) {
  if (argc < 2 || !command_of({argv[1]}).runs_program) return argc;
  for (int i = 2; i < argc; ++i)
    if (std::string_view(argv[i]) == "--") return i;
  return argc;
}

/// Words that ask for help, and of which command: "help gate check", "compare --help", "--help=all".
std::optional<std::string> help_asked_for(const std::vector<std::string>& words, const std::string& program) {
  const auto asks = [](const std::string& word) {
    if (word.starts_with("--help=") && word != "--help=all")
      throw UsageError(fmt::format("--help takes all, not '{}'.", printable(word.substr(word.find('=') + 1))));
    return word == "-h" || word == "--help" || word == "--help=all";
  };
  const bool by_word = !words.empty() && words.front() == "help";
  const auto flag = std::ranges::find_if(words, asks);
  if (!by_word && flag == words.end()) return std::nullopt;
  const std::vector<std::string> named(words.begin() + (by_word ? 1 : 0), words.end());
  const bool all = contains(words, "--help=all") ||
                   (!words.empty() && words.back() == "all" && (by_word || (flag + 1 != words.end())));
  const Command& command = command_of(named);
  if (by_word && command.is_run() && !named.empty() && !all && !named.front().starts_with('-'))
    throw UsageError(fmt::format("There is no command '{}'.{} {} --help lists the commands.", printable(named.front()),
                                 did_you_mean(named.front(), names_below(all_commands().front())), program));
  return help_text(command, program, all);
}

/// Whether a word can be the value of an option that may stand without one.
bool is_value(const std::string& word) {
  return !word.starts_with('-') && command_of({word}).is_run() && !word.ends_with(".json") &&
         !word.ends_with(".json.gz");
}

struct ParsedWords {
  const Command* command = &all_commands().front();
  std::vector<std::string> inputs;                                ///< what is no option
  std::vector<std::pair<const OptionRow*, std::string>> options;  ///< the value is empty for a switch
  std::vector<std::string> unknown;                               ///< neither option nor input of the command
  std::vector<std::string> google;                                ///< flags of Google Benchmark
};

/// The value of the option at words[i], which may be the next word; then i is moved on. Throws UsageError.
std::string value_of(const OptionRow& row, const std::vector<std::string>& words, std::size_t& i) {
  const auto equals = words[i].find('=');
  const bool given = equals != std::string::npos, follows = i + 1 < words.size();
  if (row.value.empty()) {
    if (given) throw UsageError(fmt::format("{} takes no value.", row.flag));
    return {};
  }
  if (given) return words[i].substr(equals + 1);
  if (!row.implied.empty()) return follows && is_value(words[i + 1]) ? words[++i] : row.implied;
  if (!follows) throw UsageError(fmt::format("{} needs a value: {}.", row.flag, usage_of(row)));
  return words[++i];
}

/// The words sorted by the rows; what is unknown is the caller's to judge. Throws UsageError.
ParsedWords parse_words(const std::vector<std::string>& words) {
  ParsedWords parsed;
  bool only_inputs = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string path = parsed.command->is_run() ? word : parsed.command->path + " " + word;
    const auto deeper = std::ranges::find(all_commands(), path, &Command::path);
    if (!only_inputs && word == "--") {
      only_inputs = true;
    } else if (word.starts_with("--benchmark_") || word.starts_with("--v=")) {
      parsed.google.push_back(word);
    } else if (const OptionRow* const row = row_in(*parsed.command, word.substr(0, word.find('=')));
               row != nullptr && !only_inputs) {
      parsed.options.emplace_back(row, value_of(*row, words, i));
    } else if (!only_inputs && !word.empty() && parsed.inputs.empty() && deeper != all_commands().end()) {
      parsed.command = &*deeper;
    } else if ((only_inputs || !word.starts_with('-')) && parsed.inputs.size() < parsed.command->inputs.max) {
      parsed.inputs.push_back(word);
    } else {
      parsed.unknown.push_back(word);
    }
  }
  // Options of a run may stand before the name of a command that has them too.
  for (auto& [row, value] : parsed.options) {
    const OptionRow* const own = row_in(*parsed.command, row->flag);
    if (own == nullptr)
      parsed.unknown.emplace_back(row->flag);
    else
      row = own;
  }
  for (const auto& [row, value] : parsed.options)
    if (const auto times = std::ranges::count(parsed.options, row, [](const auto& option) { return option.first; });
        times > 1 && !row->repeatable && !row->value.empty())
      throw UsageError(fmt::format("{} is given {} times; it takes one value.", row->flag, times));
  return parsed;
}

/// What is neither an option nor an input of the command: says what it may have been meant for.
[[noreturn]] void refuse_unknown(const std::vector<std::string>& unknown, const Command& command,
                                 const std::string& program) {
  const std::string& word = unknown.front();
  if (word.starts_with('-')) {
    const std::string flag = word.substr(0, word.find('='));
    std::vector<std::string> others, known;
    for (const OptionRow& row : command.options) known.emplace_back(row.flag);
    for (const Command& other : all_commands())
      if (row_in(other, flag) != nullptr) others.push_back(other.is_run() ? "a run" : other.path);
    if (!others.empty())
      throw UsageError(fmt::format("{} belongs to {}, not to {}.{}", flag, joined(others, ", "), quoted_path(command),
                                   see_help(command, program)));
    const std::string suggestion = did_you_mean(flag, known);
    throw UsageError(fmt::format("There is no option {}.{}", printable(flag),
                                 suggestion.empty() ? see_help(command, program) : suggestion));
  }
  const bool is_run = command.is_run();
  if (is_run && (word.ends_with(".json") || word.ends_with(".json.gz"))) {
    std::vector<std::string> files;
    for (const std::string& one : unknown)
      if (one.ends_with(".json") || one.ends_with(".json.gz")) files.push_back(printable(one));
    const std::string other =
        files.size() == 2 ? fmt::format(" To compare them: {} compare {}", program, joined(files, " ")) : std::string();
    throw UsageError(fmt::format("{} is a file, not a command. To show it: {} report {}{}", files.front(), program,
                                 files.front(), other));
  }
  if (std::ranges::any_of(all_commands(), [&](const Command& one) { return row_in(one, "--" + word) != nullptr; }))
    throw UsageError(fmt::format("There is no command '{0}'. Did you mean --{0}?", word));
  if (is_run || command.is_group())
    throw UsageError(fmt::format("There is no {} '{}'{}.{}{}", is_run ? "command" : "action", printable(word),
                                 is_run ? std::string() : fmt::format(" of {}", command.path),
                                 did_you_mean(word, names_below(command)), see_help(command, program)));
  throw UsageError(command.inputs.max == 0 ? fmt::format("'{}' takes no arguments, but got '{}'.{}", command.path,
                                                         printable(word), see_help(command, program))
                                           : fmt::format("'{}' takes at most {} of {}; '{}' is one too many.{}",
                                                         command.path, command.inputs.max, command.inputs.names,
                                                         printable(word), see_help(command, program)));
}

void check_inputs(const ParsedWords& parsed, const std::string& program) {
  const Command& command = *parsed.command;
  if (!parsed.unknown.empty()) refuse_unknown(parsed.unknown, command, program);
  if (command.is_group())
    throw UsageError(fmt::format("'{}' needs an action: {}.{}", command.path, joined(names_below(command), ", "),
                                 see_help(command, program)));
  if (parsed.inputs.size() < command.inputs.min)
    throw UsageError(
        fmt::format("'{0}' needs more arguments: {1} {0} {2}", command.path, program, command.inputs.names));
}

void apply(const OptionRow& row, const std::string& value, Options& options) {
  const std::vector<std::string> choices = choices_of(row.value);
  for (const std::string& one : takes_several(row.value) ? split(value, ',') : std::vector{value})
    if (!choices.empty() && !contains(choices, one))
      throw UsageError(fmt::format("{} takes {}, not '{}'.", row.flag, joined(choices, ", "), printable(one)));
  row.use(options, row, value);
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv) {
  Options called;
  called.program = argc > 0 ? argv[0] : "gpubench";
  called.words.assign(argv + std::min(1, argc), argv + argc);
  const std::string program = called.name();
  const int end = end_of_own_words(argc, argv);
  const std::vector<std::string> words = in_our_names({argv + std::min(1, argc), argv + end});
  called.program_arguments.assign(argv + std::min(end + 1, argc), argv + argc);
  const bool completes = !words.empty() && words.front() == "--complete";
  called.text = completes ? completions({words.begin() + 1, words.end()}) : help_asked_for(words, program);
  if (called.text) return {nullptr, std::make_unique<Options>(called)};
  const ParsedWords parsed = parse_words(words);
  check_inputs(parsed, program);
  called.inputs = parsed.inputs;
  called.google_words = parsed.google;
  const Command& command = *parsed.command;
  CommandLine line{&command, command.defaults()};
  *line.options = called;
  for (const OptionRow& row : command.options)
    if (!row.default_value.empty()) apply(row, row.default_value, *line.options);
  for (const auto& [row, value] : parsed.options) apply(*row, value, *line.options);
  if (line.options->text) return line;
  if (!command.is_run() && !called.google_words.empty())
    throw UsageError(fmt::format("{} belongs to a run, not to {}.", called.google_words.front(), quoted_path(command)));
  if (command.check) command.check(*line.options);
  if (!command.formats.empty()) check_outputs(*line.options, command.formats);
  return line;
}

}  // namespace gpubench
