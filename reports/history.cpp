// SPDX-License-Identifier: Apache-2.0
// A history as text.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/table.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/comparison_text.h"
#include "reports/comparisons.h"
#include "reports/export/delimited.h"
#include "reports/export/markdown_text.h"

namespace gpubench::reports {
namespace {

std::string step_text(const compare::LevelChange& step) {
  return step.ratio() > 1.0 ? fmt::format("{:.2f}x slower", step.ratio())
                            : fmt::format("{:.2f}x faster", 1.0 / step.ratio());
}

std::string entry_text(const compare::LevelChange& step) {
  return step.label.empty() ? fmt::format("{}", step.entry) : fmt::format("{} ({})", step.entry, step.label);
}

std::string summary_of(const compare::History& history) {
  const auto count = [](std::size_t n, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", n, n == 1 ? one : many);
  };
  std::string text = fmt::format("{} in {} over {}", count(history.steps.size(), "step", "steps"),
                                 count(history.points, "point", "points"), count(history.entries, "entry", "entries"));
  if (history.entries < compare::min_entries_for_update_noise)
    text += fmt::format("; with fewer than {} entries, noise between updates is not known and can look like a step",
                        compare::min_entries_for_update_noise);
  return text;
}

}  // namespace

std::string console(const compare::History& history, const ConsoleStyle& style) {
  std::string text;
  if (!history.steps.empty()) {
    Column entry{"from entry", false, {}}, date{"added", false, {}}, name{"point", false, {}},
        before{"before", true, {}};
    Column after{"after", true, {}}, change{"change", false, {}}, code{"code", false, {}};
    for (const compare::LevelChange& step : history.steps) {
      entry.cells.push_back(
          {style.whole_names ? printable(entry_text(step)) : shorten(printable(entry_text(step)), 20)});
      date.cells.push_back({printable(step.added_utc)});
      name.cells.push_back({printable(step.name)});
      before.cells.push_back({format_seconds(step.before_seconds, 4)});
      after.cells.push_back({format_seconds(step.after_seconds, 4)});
      change.cells.push_back({step_text(step), step.ratio() > 1.0 ? color::red : color::green});
      code.cells.push_back({std::string(name_of(step.code))});
    }
    constexpr std::size_t min_name = 16;
    const std::size_t width = usable_width(style);
    std::vector<Column> all = {name, entry, before, after, change, date, code};
    Table table(all, 0, min_name);
    if (!table.fits(width)) table = Table({name, entry, before, after, change}, 0, min_name);
    if (!table.fits(width)) table = Table({name, entry, change}, 0, min_name);
    table.fit(style);
    text += table.header(style);
    for (std::size_t i = 0; i < history.steps.size(); ++i) text += table.row(i, style);
    text += "\n";
  }
  return text + paragraph("", summary_of(history), color::bold, style);
}

std::string markdown(const compare::History& history) {
  std::string text = summary_of(history) + "\n";
  if (history.steps.empty()) return text;
  text += "\n" + markdown_row({"point", "device", "from entry", "added", "before", "after", "change", "code"});
  text += markdown_row({":---", ":---", ":---", ":---", "---:", "---:", ":---", ":---"});
  for (const compare::LevelChange& step : history.steps)
    text += markdown_row({markdown_text(step.name), markdown_text(step.device), markdown_text(entry_text(step)),
                          markdown_text(step.added_utc), format_seconds(step.before_seconds, 4),
                          format_seconds(step.after_seconds, 4), step_text(step), std::string(name_of(step.code))});
  return text;
}

std::string csv(const compare::History& history) {
  std::string text =
      csv_line({"name", "device", "entry", "label", "added_utc", "before_s", "after_s", "ratio", "code"});
  for (const compare::LevelChange& step : history.steps)
    text += csv_line({csv_text(step.name), csv_text(step.device), std::to_string(step.entry), csv_text(step.label),
                      csv_text(step.added_utc), csv_number(step.before_seconds), csv_number(step.after_seconds),
                      csv_number(step.ratio()), std::string(name_of(step.code))});
  return text;
}

std::string json(const compare::History& history) {
  using Json = nlohmann::ordered_json;
  Json document;
  document["schema"] = {{"name", "gpubench-history"}, {"version", 1}};
  document["entries"] = history.entries;
  document["points"] = history.points;
  document["steps"] = Json::array();
  for (const compare::LevelChange& step : history.steps) {
    Json item;
    item["name"] = step.name;
    item["device"] = step.device;
    item["entry"] = step.entry;
    item["label"] = step.label;
    item["added_utc"] = step.added_utc;
    item["before_seconds"] = step.before_seconds;
    item["after_seconds"] = step.after_seconds;
    item["code"] = name_of(step.code);
    document["steps"].push_back(std::move(item));
  }
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gpubench::reports
