// SPDX-License-Identifier: Apache-2.0
#include "main/cli/parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

namespace gpubench {
namespace {

struct ParsedCommand {
  const CommandRow* command;
  CLI::App* app;
  std::vector<std::pair<const OptionRow*, CLI::Option*>> options;
};

void add_options(ParsedCommand& place) {
  for (const OptionRow& row : option_table()) {
    if ((row.scope & place.command->scope) == 0) continue;
    CLI::Option* const option =
        *row.value == '\0'
            ? place.app->add_flag(row.flag)
            : place.app->add_option(row.flag, CLI::callback_t([](const CLI::results_t&) { return true; }))
                  ->type_size(1)
                  ->expected(1);
    place.options.emplace_back(&row, option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
  }
}

/// One place a command, each under its group. `inputs` outlives the application.
std::vector<ParsedCommand> add_commands(CLI::App& app, std::vector<std::string>& inputs) {
  std::vector<ParsedCommand> places;
  for (const CommandRow& row : command_table()) {
    const std::string path = row.path;
    const auto space = path.rfind(' ');
    CLI::App* place = &app;
    if (space != std::string::npos) place = place->get_subcommand(path.substr(0, space));
    if (!path.empty()) place = place->add_subcommand(space == std::string::npos ? path : path.substr(space + 1));
    place->set_help_flag();
    place->allow_extras();
    if (row.max_inputs > 0) place->add_option("inputs", inputs)->expected(0, static_cast<int>(row.max_inputs));
    places.push_back({&row, place, {}});
    add_options(places.back());
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

}  // namespace

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

}  // namespace gpubench
