// SPDX-License-Identifier: Apache-2.0
#include "main/cli/command.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <sstream>

#include "bench/counters/metrics.h"
#include "core/base/text.h"
#include "reports/charts/picture.h"
#include "reports/reports.h"

namespace gpubench {
namespace {

/// "100" columns of the terminal, or "85mm" of pictures.
void use_width(Options& options, const OptionRow& row, const std::string& value) {
  if (!value.ends_with("mm")) {
    use::count(&Options::width, 40, 1000)(options, row, value);
    return;
  }
  const double width = use::parsed_number(row, value.substr(0, value.size() - 2), 30, 1000);
  auto* const drawing = dynamic_cast<PictureOptions*>(&options);
  if (drawing == nullptr)
    throw UsageError(fmt::format("{}={} is for pictures, which this command lacks.", row.flag, value));
  drawing->width_mm = width;
}

/// A picture that cannot be drawn is better refused before anything is measured.
void check_pictures(const std::vector<std::string>& outputs, const PictureOptions& options) {
  const std::string& chart = options.chart;
  try {
    bool any = false, renderer = false;
    if (!chart.empty()) (void)reports::parse_chart(chart);
    for (const std::string& output : outputs) {
      if (!reports::is_picture(output)) continue;
      any = true;
      (void)reports::choice_of(output, chart);
      renderer = renderer || reports::needs_renderer(output);
    }
    if (!any && (!chart.empty() || options.chosen()))
      throw UsageError(fmt::format("{} about pictures. Give --out=FILE with .png, .svg, .pdf or .vl.json too.",
                                   !chart.empty() ? "--chart is" : "--title, --theme and --width in mm are"));
    if (renderer) reports::check_can_draw();
  } catch (const reports::PictureError& error) {
    throw UsageError(fmt::format("{}.", error.what()));
  }
}

}  // namespace

Options::~Options() = default;

std::string Options::name() const { return std::filesystem::path(program).filename().string(); }

const std::vector<Command>& all_commands() {
  static const std::vector<Command> all = [] {
    const auto registered = command_files();
    std::vector<const CommandFile*> files(registered.begin(), registered.end());
    std::ranges::sort(files, {}, &CommandFile::place);
    std::vector<Command> commands;
    for (const CommandFile* const file : files) std::ranges::move(file->commands(), std::back_inserter(commands));
    return commands;
  }();
  return all;
}

const Command& command_of(const std::vector<std::string>& words) {
  const Command* found = &all_commands().front();
  std::string path;
  for (const std::string& word : words) {
    if (word.starts_with('-')) continue;
    path += (path.empty() ? "" : " ") + word;
    const auto longer = std::ranges::find(all_commands(), path, &Command::path);
    if (longer == all_commands().end()) break;
    found = &*longer;
  }
  return *found;
}

std::vector<const Command*> children_of(const Command& command) {
  const std::string head = command.is_run() ? "" : command.path + " ";
  std::vector<const Command*> children;
  for (const Command& other : all_commands())
    if (!other.is_run() && other.path == head + other.name()) children.push_back(&other);
  return children;
}

bool takes_several(std::string_view value) { return contains(value, '|') && value.ends_with(",..."); }

std::vector<std::string> choices_of(std::string_view value) {
  if (takes_several(value)) value.remove_suffix(4);
  std::vector<std::string> choices = split(value, '|');
  for (const std::string& word : choices)
    if (word.empty() || std::isupper(static_cast<unsigned char>(word.front())) != 0 ||
        std::ranges::any_of(word, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_'; }))
      return {};
  return choices;
}

std::string usage_of(const OptionRow& row) {
  if (row.value.empty()) return row.flag;
  return !row.implied.empty() ? fmt::format("{}[={}]", row.flag, row.value) : fmt::format("{}={}", row.flag, row.value);
}

void check_outputs(const Options& options, const std::string& formats) {
  std::istringstream words(formats);
  const std::vector<std::string> extensions{std::istream_iterator<std::string>(words), {}};
  for (const std::string& output : options.outputs)
    if (!options.json && std::ranges::none_of(extensions, [file = lower(output)](const auto& extension) {
          return file.ends_with(extension) && (extension != ".json" || !reports::is_for_another_tool(file));
        }))
      throw UsageError(fmt::format("--out={}: this can be written as {}.", output, joined(extensions, ", ")));
  if (const auto* const drawing = dynamic_cast<const PictureOptions*>(&options))
    check_pictures(options.outputs, *drawing);
}

OptionRows joined_rows(std::initializer_list<OptionRows> parts) {
  OptionRows all;
  for (const OptionRows& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

OptionRows chosen_rows(const OptionRows& rows, std::initializer_list<std::string_view> flags) {
  OptionRows chosen;
  std::ranges::copy_if(rows, std::back_inserter(chosen),
                       [&](const OptionRow& row) { return contains(flags, row.flag); });
  return chosen;
}

OptionRows common_rows(const std::string& formats) {
  OptionRows rows = {
      {"--quiet", "", "", Rank::common, "Print no table and no progress: reports, warnings and errors only.",
       use::set(&Options::quiet)},
      {"--color", "auto|always|never", "auto", Rank::other,
       "Colour on the terminal. auto obeys NO_COLOR and CLICOLOR_FORCE.",
       use::choice(&Options::color, std::vector{ColorChoice::automatic, ColorChoice::always, ColorChoice::never})},
      {"--width", "COLUMNS", "", Rank::other,
       "Fit the terminal output into so many columns, in a pipe too. Without it: the terminal's width, COLUMNS, or "
       "100; a pipe keeps long names whole. --width=85mm is the width of pictures on paper.",
       use_width}};
  if (!formats.empty())
    rows.insert(rows.begin(), {"--out", "FILE", "", Rank::common,
                               "Write the result. Repeatable. The extension decides: " + formats + ".",
                               use::list(&Options::outputs), "", repeatable});
  return rows;
}

OptionRows shared_rows(std::initializer_list<std::string_view> flags) {
  return chosen_rows(
      {{"--filter", "REGEX", "", Rank::common,
        "Take only the points whose name matches. A leading '-' inverts the choice.",
        use::text(&FilterOptions::filter)},
       {"--calibration", "FILE", "", Rank::common,
        "Judge by the ceilings in this file instead of those in the cache or the run. In report, ceilings of another "
        "device estimate its times.",
        use::text(&CeilingFileOptions::calibration_file)},
       {"--drift-check", "on|off", "on", Rank::other,
        "Check a stored calibration against the device first, for at most a second. One that is off by more than 2 % "
        "beyond its interval is measured again; one given by --calibration is kept, with a warning.",
        use::choice(&CeilingOptions::drift_check, std::vector{true, false})},
       {"--kernels", "", "", Rank::other,
        "Show the kernels, copies and fills of each operation under its points, with share, time and verdict. A run "
        "records them by CUPTI and, with --metrics, counts each kernel by itself, too.",
        use::set(&Options::kernels)},
       {"--chart", "NAME[:WHICH][@DEVICE]", "", Rank::other,
        "What .png, .svg, .pdf and .vl.json show: overview, roofline, map, strip, time, rate, shares, kernels, "
        "samples, ladder, latency or intensity; of several runs rooflines, times or changes. WHICH is an operation "
        "(for samples, a point). Without it the name of the file decides, as in h200-roofline.svg.",
        use::text(&PictureOptions::chart)},
       {"--json", "", "", Rank::common, "Print the result as JSON; with --out, write it there as JSON.",
        use::set(&Options::json)},
       {"--title", "TEXT", "", Rank::other, "The title of pictures, in place of the chart's own.",
        use::text(&reports::PictureStyle::title)},
       {"--theme", "light|dark", "light", Rank::other, "Colours of pictures: for white paper or for a dark page.",
        use::choice(&reports::PictureStyle::dark, std::vector{false, true})}},
      flags);
}

namespace use {

double parsed_number(const OptionRow& row, const std::string& text, double low, double high) {
  const auto value = number_in<double>(text);
  if (!value || !(*value >= low && *value <= high))
    throw UsageError(fmt::format("{} takes a number from {} to {}, not '{}'.", row.flag, low, high, text));
  return *value;
}

std::vector<std::string> parsed_metrics(const std::string& text) { return bench::parse_metrics(text); }

double parsed_count(const OptionRow& row, const std::string& text, double low, double high) {
  const double value = parsed_number(row, text, low, high);
  if (value != std::floor(value)) throw UsageError(fmt::format("{} takes a whole number, not '{}'.", row.flag, text));
  return value;
}

}  // namespace use
}  // namespace gpubench
