// SPDX-License-Identifier: Apache-2.0
#include "main/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "bench/counters/metrics.h"
#include "classifier/verdict/cross_checks.h"
#include "core/base/text.h"
#include "core/storage/document.h"
#include "main/cli/option_table.h"
#include "reports/charts/picture.h"
#include "reports/reports.h"

namespace gpubench {
namespace {

struct ParsedCommand {
  const CommandRow* command;
  CLI::App* app;
  std::vector<std::pair<const OptionRow*, CLI::Option*>> options;
};

/// One place a command, each under its group. `inputs` outlives the application.
std::vector<ParsedCommand> add_commands(CLI::App& app, std::vector<std::string>& inputs) {
  std::vector<ParsedCommand> places;
  for (const CommandRow& row : command_table()) {
    const std::string path = row.path, name = name_of(row);
    CLI::App* place = &app;
    if (path != name) place = place->get_subcommand(path.substr(0, path.size() - name.size() - 1));
    if (!path.empty()) place = place->add_subcommand(name);
    place->set_help_flag();
    place->allow_extras();
    if (row.max_inputs > 0) place->add_option("inputs", inputs)->expected(0, static_cast<int>(row.max_inputs));
    places.push_back({&row, place, {}});
    for (const OptionRow& known : option_table()) {
      if ((known.scope & row.scope) == 0) continue;
      CLI::Option* const option =
          *known.value == '\0'
              ? place->add_flag(known.flag)
              : place->add_option(known.flag, CLI::callback_t([](const CLI::results_t&) { return true; }))
                    ->type_size(1)
                    ->expected(1);
      places.back().options.emplace_back(&known, option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
    }
  }
  return places;
}

/// In the terms of the table where CLI11 names an option: "--filter: 1 required TEXT missing".
std::string message_of(const CLI::ParseError& error) {
  const std::string_view text = error.what();
  const std::string_view flag = text.substr(0, std::min(text.find_first_of(": "), text.size()));
  const auto& rows = option_table();
  const auto row = std::ranges::find_if(rows, [&](const OptionRow& one) { return one.flag == flag; });
  if (row == rows.end()) return fmt::format("{}.", text.substr(0, text.find_last_not_of('.') + 1));
  if (*row->value == '\0') return fmt::format("{} takes no value.", flag);
  return fmt::format("{} needs a value: {}.", flag, usage_of(*row));
}

struct ParsedWords {
  const CommandRow* command = nullptr;
  std::vector<std::string> inputs;                                ///< what is no option
  std::vector<std::pair<const OptionRow*, std::string>> options;  ///< the value is empty for a switch
  std::vector<std::string> unknown;                               ///< neither option nor input of the command
};

/// The words sorted by the tables; what is unknown is the caller's to judge. Throws UsageError for a missing value.
ParsedWords parse_words(const std::vector<std::string>& words) {
  ParsedWords parsed;
  CLI::App app;
  const std::vector<ParsedCommand> places = add_commands(app, parsed.inputs);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them last first
  } catch (const CLI::ParseError& error) {
    throw UsageError(message_of(error));
  }
  for (const ParsedCommand& place : places)
    if (*place.command->path == '\0' || place.app->parsed()) parsed.command = place.command;
  for (const ParsedCommand& place : places)
    for (const auto& [row, option] : place.options) {
      const auto& values = option->results();
      if (values.size() > 1 && !row->repeatable && *row->value != '\0')
        throw UsageError(fmt::format("{} is given {} times; it takes one value.", row->flag, values.size()));
      if (!values.empty() && (row->scope & parsed.command->scope) == 0) {
        parsed.unknown.emplace_back(row->flag);
        continue;
      }
      for (const std::string& value : values) {
        if (*row->value == '\0' && value != "true") throw UsageError(fmt::format("{} takes no value.", row->flag));
        parsed.options.emplace_back(row, *row->value == '\0' ? std::string() : value);
      }
    }
  const auto rest = app.remaining(true);
  parsed.unknown.insert(parsed.unknown.end(), rest.begin(), rest.end());
  return parsed;
}

std::string quoted_path(const CommandRow& command) {
  return *command.path == '\0' ? std::string("a run") : fmt::format("'{}'", command.path);
}

/// "update", "check", "history" below "gate".
std::vector<std::string> names_below(const CommandRow& row) {
  std::vector<std::string> names;
  for (const CommandRow* const child : children_of(row)) names.push_back(name_of(*child));
  if (*row.path == '\0') names.emplace_back("help");
  return names;
}

std::string see_help(const CommandRow& command, const std::string& program) {
  return fmt::format(" See {}{}{} --help.", program, *command.path == '\0' ? "" : " ", command.path);
}

/// The words with the names that others give to commands of traces, and to --out, in ours: "hta trace.json -o x.json".
std::vector<std::string> in_our_names(std::vector<std::string> words) {
  static const std::map<std::string_view, std::string_view> commands = {
      {"flame", "flame"}, {"timeline", "timeline"}, {"hta", "summary"}};
  const std::size_t first = !words.empty() && words.front() == "help" ? 1 : 0;
  if (words.size() <= first) return words;
  if (const auto found = commands.find(words[first]); found != commands.end()) {
    words[first] = found->second;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(first), "trace");
  }
  if (words[first] != "trace") return words;
  for (std::string& word : words) {
    if (word == "-o" || word == "--output") word = "--out";
    if (word.starts_with("--output=")) word.replace(0, 8, "--out");
  }
  return words;
}

/// Where "--" stands when the command is `ab` or `profile`: what follows is for the programs. Else the end.
int end_of_own_words(int argc, char** argv) {
  if (argc < 2 || (std::string_view(argv[1]) != "ab" && std::string_view(argv[1]) != "profile")) return argc;
  for (int i = 2; i < argc; ++i)
    if (std::string_view(argv[i]) == "--") return i;
  return argc;
}

/// Words that ask for help, and of which command: "help gate check", "compare --help", "--help=all".
std::optional<std::string> help_asked_for(const std::vector<std::string>& words, const std::string& program) {
  const auto asks = [](const std::string& word) { return word == "-h" || word == "--help" || word == "--help=all"; };
  const bool by_word = !words.empty() && words.front() == "help";
  const auto flag = std::ranges::find_if(words, asks);
  if (!by_word && flag == words.end()) return std::nullopt;
  const std::vector<std::string> named(words.begin() + (by_word ? 1 : 0), words.end());
  const bool all = std::ranges::find(words, "--help=all") != words.end() ||
                   (!words.empty() && words.back() == "all" && (by_word || (flag + 1 != words.end())));
  const CommandRow& command = command_of(named);
  if (by_word && *command.path == '\0' && !named.empty() && !all && !named.front().starts_with('-'))
    throw UsageError(fmt::format("There is no command '{}'.{} {} --help lists the commands.", printable(named.front()),
                                 did_you_mean(named.front(), names_below(command_table().front())), program));
  return help_text(command, program, all);
}

/// Whether a word can be the value of an option that may stand without one.
bool is_value(const std::string& word) {
  return !word.starts_with('-') && *command_of({word}).path == '\0' && !word.ends_with(".json") &&
         !word.ends_with(".json.gz");
}

/// For the parser: without Google Benchmark's flags, and a bare `--calibrate` with its implied value.
std::vector<std::string> prepare(const std::vector<std::string>& words, std::vector<std::string>& google) {
  std::vector<std::string> prepared;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--benchmark_") || words[i].starts_with("--v=")) {
      google.push_back(words[i]);
      continue;
    }
    prepared.push_back(words[i]);
    for (const OptionRow& row : option_table())
      if (words[i] == row.flag && *row.implied != '\0') {
        const bool follows = i + 1 < words.size() && is_value(words[i + 1]);
        prepared.back() += "=" + (follows ? words[++i] : std::string(row.implied));
        break;
      }
  }
  return prepared;
}

/// What is neither an option nor an input of the command: says what it may have been meant for.
[[noreturn]] void refuse_unknown(const std::vector<std::string>& unknown, const CommandRow& command,
                                 const std::string& program) {
  const std::string& word = unknown.front();
  if (word.starts_with('-')) {
    const std::string flag = word.substr(0, word.find('='));
    std::vector<std::string> others, known;
    for (const OptionRow& row : option_table()) {
      if ((row.scope & command.scope) != 0 && row.rank != Rank::hidden) known.emplace_back(row.flag);
      if (row.flag != flag) continue;
      for (const CommandRow& other : command_table())
        if ((row.scope & other.scope) != 0) others.push_back(*other.path == '\0' ? "a run" : other.path);
    }
    if (!others.empty())
      throw UsageError(fmt::format("{} belongs to {}, not to {}.{}", flag, fmt::join(others, ", "),
                                   quoted_path(command), see_help(command, program)));
    const std::string suggestion = did_you_mean(flag, known);
    throw UsageError(fmt::format("There is no option {}.{}", printable(flag),
                                 suggestion.empty() ? see_help(command, program) : suggestion));
  }
  const bool is_run = *command.path == '\0';
  if (is_run && (word.ends_with(".json") || word.ends_with(".json.gz"))) {
    std::vector<std::string> files;
    for (const std::string& one : unknown)
      if (one.ends_with(".json") || one.ends_with(".json.gz")) files.push_back(printable(one));
    const std::string other = files.size() == 2
                                  ? fmt::format(" To compare them: {} compare {}", program, fmt::join(files, " "))
                                  : std::string();
    throw UsageError(fmt::format("{} is a file, not a command. To show it: {} report {}{}", files.front(), program,
                                 files.front(), other));
  }
  if (std::ranges::any_of(option_table(), [&](const OptionRow& row) { return row.flag == "--" + word; }))
    throw UsageError(fmt::format("There is no command '{0}'. Did you mean --{0}?", word));
  if (is_run || command.scope == 0)
    throw UsageError(fmt::format("There is no {} '{}'{}.{}{}", is_run ? "command" : "action", printable(word),
                                 is_run ? std::string() : fmt::format(" of {}", command.path),
                                 did_you_mean(word, names_below(command)), see_help(command, program)));
  throw UsageError(command.max_inputs == 0
                       ? fmt::format("'{}' takes no arguments, but got '{}'.{}", command.path, printable(word),
                                     see_help(command, program))
                       : fmt::format("'{}' takes at most {} of {}; '{}' is one too many.{}", command.path,
                                     command.max_inputs, command.inputs, printable(word), see_help(command, program)));
}

void check_inputs(const ParsedWords& parsed, const std::string& program) {
  const CommandRow& command = *parsed.command;
  if (!parsed.unknown.empty()) refuse_unknown(parsed.unknown, command, program);
  if (command.scope == 0)
    throw UsageError(fmt::format("'{}' needs an action: {}.{}", command.path, fmt::join(names_below(command), ", "),
                                 see_help(command, program)));
  if (parsed.inputs.size() < command.min_inputs)
    throw UsageError(fmt::format("'{0}' needs more arguments: {1} {0} {2}", command.path, program, command.inputs));
}

void use(const OptionRow& row, const std::string& value, Options& options) {
  const std::vector<std::string> choices = choices_of(row.value);
  if (!choices.empty() && std::ranges::find(choices, value) == choices.end())
    throw UsageError(fmt::format("{} takes {}, not '{}'.", row.flag, fmt::join(choices, ", "), printable(value)));
  row.use(options, row, value);
}

/// A picture that cannot be drawn is better refused before anything is measured.
void check_pictures(const Options& options, const CommandRow& command) {
  try {
    bool renderer = false;
    if (!options.chart.empty()) (void)reports::parse_chart(options.chart);
    bool any = false;
    for (const std::string& output : options.outputs) {
      if (!reports::is_picture(output)) continue;
      any = true;
      (void)reports::choice_of(output, options.chart);
      renderer = renderer || reports::needs_renderer(output);
    }
    if (!any && (!options.chart.empty() || options.picture.chosen()))
      throw UsageError(fmt::format("{} about pictures. Give --out=FILE with .png, .svg, .pdf or .vl.json too.",
                                   !options.chart.empty() ? "--chart is" : "--title, --theme and --width in mm are"));
    if (renderer && (command.scope & (in_run | in_report)) != 0) reports::check_can_draw();
  } catch (const reports::PictureError& error) {
    throw UsageError(fmt::format("{}.", error.what()));
  }
}

void check_together(Options& options, const CommandRow& command) {
  if (command.scope == in_profile && options.program_arguments.empty() == !options.recording_folder)
    throw UsageError(
        "profile takes a program after --, as in: gpubench profile -- python3 train.py. Or give --recording=DIR, "
        "the folder of an earlier recording, instead.");
  if (options.dry && options.once == 0) throw UsageError("--dry goes with --once; give that too.");
  if (options.once > 0 &&
      (options.isolate || options.resume_file || options.adaptive_sizes > 0 || !options.outputs.empty() ||
       options.calibrate || !options.checks.empty() || !options.metrics.empty()))
    throw UsageError(
        "--once times nothing and keeps nothing: leave --out, --metrics, --check, --isolate, --resume, --adaptive and "
        "--calibrate out.");
  if (options.kernels && std::ranges::find(options.checks, "activity") == options.checks.end())
    options.checks.emplace_back("activity");
  if (options.kernels && !options.metrics.empty())
    for (std::string& name : bench::parse_metrics("units"))
      if (std::ranges::find(options.metrics, name) == options.metrics.end()) options.metrics.push_back(std::move(name));
  if (std::ranges::find(options.checks, "ncu-rule") != options.checks.end())
    for (const std::string_view metric : {classifier::sm_throughput, classifier::memory_throughput})
      if (std::ranges::find(options.metrics, metric) == options.metrics.end()) options.metrics.emplace_back(metric);
  if (options.given_isolate_timeout_seconds && !options.isolate) throw UsageError("--isolate-timeout needs --isolate.");
  if (options.calibrate &&
      (options.isolate || options.resume_file || options.cache_state != "warm" || options.adaptive_sizes > 0))
    throw UsageError(
        "--isolate, --resume, --adaptive and --cache=cold are for measuring operations, not for --calibrate.");
  for (const std::string& output : options.outputs)
    if ((command.scope & in_trace) == 0 && !reports::can_write(output) &&
        !(command.scope == in_profile && is_timeline_file(output)))
      throw UsageError(
          fmt::format("--out={}: the extension is unknown. Use one of {}.", output, reports::known_extensions()));
  if ((command.scope & (in_any_comparison | in_gate | in_doctor)) != 0)
    for (const std::string& output : options.outputs)
      if (reports::is_for_another_tool(output))
        throw UsageError(fmt::format("--out={}: this format is for runs. Use .json.", output));
  if ((command.scope & in_trace) == 0) check_pictures(options, command);
  // One point may well take what its sampling is allowed; a limit the user gave stands.
  options.isolate_timeout_seconds = options.given_isolate_timeout_seconds.value_or(
      options.isolate_timeout_seconds +
      2.0 * std::max(options.time_budget_seconds, options.google.min_time_seconds.value_or(0.0)));
  if ((options.isolate || options.resume_file || options.adaptive_sizes > 0) && options.google.interleaves_at_random())
    throw UsageError(
        "--isolate, --resume and --adaptive need the points in order. Leave out "
        "--benchmark_enable_random_interleaving.");
  static_assert(static_cast<std::size_t>(bench::max_exact_samples) == storage::max_array);
  if (options.google.exact_iterations.value_or(0) > bench::max_exact_samples)
    throw UsageError(fmt::format("--benchmark_min_time={}x: a run holds up to {} samples of a point. Ask for fewer.",
                                 *options.google.exact_iterations, bench::max_exact_samples));
  if (!options.filter.empty() && !options.google.filter.empty())
    throw UsageError("--filter and --benchmark_filter mean the same. Give one of them.");
  if (options.filter.empty()) options.filter = options.google.filter;
  options.list = options.list || options.google.list;
}

void take_google_flags(const std::vector<std::string>& flags, const CommandRow& command, Options& options) {
  if (command.scope != in_run && !flags.empty())
    throw UsageError(fmt::format("{} belongs to a run, not to {}.", flags.front(), quoted_path(command)));
  try {
    options.google = bench::parse_google_flags(flags);
  } catch (const bench::GoogleFlagError& error) {
    throw UsageError(error.what());
  }
}

}  // namespace

bool is_timeline_file(const std::string& file) {
  return file.ends_with(".perfetto-trace") || file.ends_with(".trace.json");
}

Options parse_command_line(int argc, char** argv) {
  Options options;
  options.program = argc > 0 ? argv[0] : "gpubench";
  options.words.assign(argv + std::min(1, argc), argv + argc);
  const std::string program = options.name();
  const int end = end_of_own_words(argc, argv);
  const std::vector<std::string> words = in_our_names({argv + std::min(1, argc), argv + end});
  options.program_arguments.assign(argv + std::min(end + 1, argc), argv + argc);
  options.text = !words.empty() && words.front() == "--complete" ? completions({words.begin() + 1, words.end()})
                                                                 : help_asked_for(words, program);
  if (options.text) return options;
  std::vector<std::string> google;
  const ParsedWords parsed = parse_words(prepare(words, google));
  check_inputs(parsed, program);
  options.command = parsed.command->scope;
  options.inputs = parsed.inputs;
  for (const OptionRow& row : option_table())
    if (*row.default_value != '\0' && (row.scope & parsed.command->scope) != 0) use(row, row.default_value, options);
  for (const auto& [row, value] : parsed.options) use(*row, value, options);
  if (options.text) return options;
  take_google_flags(google, *parsed.command, options);
  check_together(options, *parsed.command);
  return options;
}

}  // namespace gpubench
