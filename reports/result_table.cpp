// SPDX-License-Identifier: Apache-2.0
#include "reports/result_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/storage/document.h"
#include "reports/console/program.h"
#include "reports/export/tables.h"
#include "reports/html/markup.h"

namespace gpubench::reports {
namespace {

std::string number_text(double value, ValueKind kind) {
  const auto with_sign = [&](const auto& format) { return (value < 0.0 ? "-" : "+") + format(std::abs(value)); };
  switch (kind) {
    case ValueKind::seconds: return format_seconds(value);
    case ValueKind::difference: return with_sign([](double size) { return format_seconds(size); });
    case ValueKind::bytes: return format_bytes(value);
    case ValueKind::rate: return format_bytes_per_second(value);
    case ValueKind::share: return format_percent(value);
    case ValueKind::change: return value <= -1.0 ? "gone" : with_sign([](double size) { return format_percent(size); });
    default: return format_count(value);
  }
}

bool is_words(ValueKind kind) {
  return kind == ValueKind::text || kind == ValueKind::kernel || kind == ValueKind::prose;
}

std::string text_in(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

/// What people see of a table: texts, not yet safe for any format.
struct Shown {
  std::vector<const ValueColumn*> columns;
  std::vector<std::vector<std::string>> cells;  ///< of each column
  std::size_t rows = 0;
  std::string rest;  ///< "and 7 more, 3 % of the time"
  [[nodiscard]] bool is_list() const { return columns.size() == 1 && columns.front()->kind == ValueKind::prose; }
};

Shown shown_of(const ResultTable& table) {
  Shown shown;
  shown.rows = std::min(table.rows.size(), table.shown);
  std::optional<double> left;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const ValueColumn& column = table.columns[c];
    if (column.title == "share" && !left) {
      left = 0.0;
      for (std::size_t r = shown.rows; r < table.rows.size(); ++r)
        if (const auto* share = std::get_if<double>(&table.rows[r][c])) *left += *share;
    }
    if (column.title.empty()) continue;
    shown.columns.push_back(&column);
    auto& cells = shown.cells.emplace_back();
    for (std::size_t r = 0; r < shown.rows; ++r) {
      const Value& value = table.rows[r][c];
      if (const auto* text = std::get_if<std::string>(&value))
        cells.push_back(text->empty() ? column.none : *text);
      else if (const auto* whole = std::get_if<std::int64_t>(&value))
        cells.push_back(number_text(static_cast<double>(*whole), column.kind));
      else if (const auto* number = std::get_if<double>(&value))
        cells.push_back(number_text(*number, column.kind));
      else
        cells.emplace_back();
    }
    if (shown.rows > 0 && shown.columns.size() > 1 && std::ranges::all_of(cells, &std::string::empty)) {
      shown.columns.pop_back();
      shown.cells.pop_back();
      continue;
    }
    if (column.kind == ValueKind::kernel) cells = distinct_kernel_names(cells);
  }
  if (table.rows.size() > shown.rows)
    shown.rest = fmt::format("and {} more{}", table.rows.size() - shown.rows,
                             left ? fmt::format(", {} of the time", format_percent(*left)) : "");
  return shown;
}

bool is_shown(const ResultTable& table) {
  return table.shown > 0 && (!table.rows.empty() || !table.none.empty()) &&
         std::ranges::any_of(table.columns, [](const ValueColumn& column) { return !column.title.empty(); });
}

/// "GPU idle 52 %, compute 10 %"
std::string facts_text(const Shown& shown) {
  std::vector<std::string> facts;
  for (std::size_t c = 0; c < shown.columns.size(); ++c)
    facts.push_back(shown.columns[c]->title + " " + shown.cells[c].front());
  return joined(facts, ", ");
}

constexpr std::size_t max_kernel_name = 48;  // columns on the console, in pipes too

std::string console_text(const ResultTable& table, const ConsoleStyle& style) {
  const Shown shown = shown_of(table);
  std::string text;
  if (!table.title.empty()) text += paragraph("", table.title, color::bold, style);
  if (!table.lead.empty()) text += paragraph("", printable(table.lead), color::bold, style) + "\n";
  if (shown.rows == 0) {
    text += paragraph("", printable(table.none), color::bold, style);
  } else if (table.name.empty()) {
    text += paragraph("", printable(facts_text(shown)), color::none, style);
  } else if (shown.is_list()) {
    text += paragraph("", shown.columns.front()->title, color::bold, style);
    for (std::size_t r = 0; r < shown.rows; ++r)
      text += paragraph(fmt::format("{}. ", r + 1), printable(shown.cells.front()[r]), color::none, style);
  } else {
    std::vector<Column> columns;
    std::map<int, std::vector<std::string_view>> expendable;
    for (std::size_t c = 0; c < shown.columns.size(); ++c) {
      const ValueColumn& column = *shown.columns[c];
      if (column.expendable > 0) expendable[column.expendable].push_back(column.title);
      Column& made = columns.emplace_back(Column{printable(column.title), !is_words(column.kind)});
      const bool toned = column.kind == ValueKind::difference || column.kind == ValueKind::change;
      for (std::size_t r = 0; r < shown.rows; ++r) {
        const int tone = toned && r < table.tones.size() ? table.tones[r] : 0;
        const std::string cell = printable(shown.cells[c][r]);
        made.cells.push_back(
            {column.kind == ValueKind::kernel ? shorten(cell, max_kernel_name) : cell, tone == 0  ? color::none
                                                                                       : tone > 0 ? color::red
                                                                                                  : color::green});
      }
    }
    std::vector<std::vector<std::string_view>> groups;
    for (auto& [rank, titles] : expendable) groups.push_back(std::move(titles));
    text += table_text(std::move(columns), min_shown_name, style, groups);
  }
  if (!shown.rest.empty()) text += paragraph("", shown.rest, color::dim, style);
  for (const std::string& note : table.notes) text += paragraph("", printable(note), color::dim, style);
  return text;
}

/// Of a stacked table the shares of rows with one first value.
nlohmann::json bars_of(const ResultTable& table) {
  auto bars = nlohmann::json::array();
  if (!table.stacked) return bars;
  const auto share = std::ranges::find(table.columns, "share", &ValueColumn::title) - table.columns.begin();
  const auto shown = std::ranges::find_if(table.columns.begin() + 2, table.columns.end(),
                                          [](const ValueColumn& column) {
                                            return column.kind == ValueKind::text && !column.title.empty();
                                          }) -
                     table.columns.begin();
  if (share >= std::ssize(table.columns) || shown >= std::ssize(table.columns)) return bars;
  for (const auto& row : table.rows) {
    const auto* const part = std::get_if<double>(&row[static_cast<std::size_t>(share)]);
    if (part == nullptr || !(*part > 0.0)) continue;
    if (bars.empty() || bars.back()["name"] != text_in(row[0]))
      bars.push_back({{"name", text_in(row[0])}, {"parts", nlohmann::json::array()}});
    bars.back()["parts"].push_back(
        {{"look", text_in(row[1])},
         {"text", fmt::format("{}: {}", text_in(row[static_cast<std::size_t>(shown)]), format_percent(*part))},
         {"part", fmt::format("{:.6f}", *part)}});
  }
  return bars;
}

std::string html(const ResultTable& table) {
  using nlohmann::json;
  const Shown shown = shown_of(table);
  json values = {{"title", table.title},   {"text", table.lead}, {"none", ""},
                 {"bars", bars_of(table)}, {"table", ""},        {"notes", json::array()}};
  if (shown.rows == 0) {
    values["none"] = table.none;
  } else if (table.name.empty()) {
    values["text"] = facts_text(shown);
  } else if (shown.is_list()) {
    if (table.title.empty()) values["title"] = shown.columns.front()->title;
    values["list"]["items"] = shown.cells.front();
  } else {
    markup::CaptionedTable made{.caption = shown.columns.front()->title, .columns = {}, .folds = false, .quiet = true};
    made.rows.resize(shown.rows);
    for (std::size_t c = 0; c < shown.columns.size(); ++c) {
      const ValueColumn& column = *shown.columns[c];
      made.columns.push_back({.title = column.title, .right = !is_words(column.kind), .detail = column.expendable > 0});
      for (std::size_t r = 0; r < shown.rows; ++r) made.rows[r].push_back(shown.cells[c][r]);
    }
    values["table"] = markup::render(made);
  }
  if (!shown.rest.empty()) values["notes"].push_back(shown.rest);
  for (const std::string& note : table.notes) values["notes"].push_back(note);
  return markup::part("result", values);
}

nlohmann::ordered_json json_of(const Value& value) {
  return std::visit(
      [](const auto& one) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, Absent>)
          return nlohmann::ordered_json();
        else
          return nlohmann::ordered_json(one);
      },
      value);
}

/// A list of objects by the columns' keys, or where there is one column of its values; what is absent is null.
nlohmann::ordered_json json_rows(const ResultTable& table) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    auto one = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < row.size(); ++c)
      if (const std::string& key = table.columns[c].key; !key.empty()) one[key] = json_of(row[c]);
    all.push_back(table.columns.size() == 1 ? json_of(row[0]) : std::move(one));
  }
  return all;
}

}  // namespace

std::string console_text(const std::vector<ResultTable>& tables, const ConsoleStyle& style) {
  std::string text;
  for (const ResultTable& table : tables)
    if (is_shown(table)) text += (text.empty() ? "" : "\n") + console_text(table, style);
  return text;
}

std::string html(const std::vector<ResultTable>& tables) {
  std::string text;
  for (const ResultTable& table : tables)
    if (is_shown(table)) text += html(table);
  return text;
}

std::string json(const std::vector<ResultTable>& tables, std::string_view schema,
                 const std::vector<std::string>& warnings) {
  nlohmann::ordered_json all = {{"schema", schema}, {"schema_version", 2}};
  auto absent = nlohmann::ordered_json::object();
  for (const ResultTable& table : tables) {
    if (!table.name.empty()) {
      all[table.name] = json_rows(table);
      continue;
    }
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::string& key = table.columns[c].key;
      if (key.empty()) continue;
      all[key] = json_of(table.rows.front()[c]);
      if (const auto* none = std::get_if<Absent>(&table.rows.front()[c])) absent[key] = none->reason;
    }
  }
  if (!absent.empty()) all["absent"] = std::move(absent);
  all["warnings"] = warnings;
  return valid_json(storage::json_text(all, 1)) + "\n";
}

std::string csv(const ResultTable& table) {
  std::string text;
  for (const auto& row : table.rows) {
    CsvRecord record;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (table.columns[c].key.empty()) continue;
      const auto* const whole = std::get_if<std::int64_t>(&row[c]);
      const auto* const number = std::get_if<double>(&row[c]);
      record.emplace_back(table.columns[c].key, whole != nullptr    ? fmt::format("{}", *whole)
                                                : number != nullptr ? csv_number(*number)
                                                                    : csv_text(text_in(row[c])));
    }
    if (text.empty()) text = csv_header(record);
    text += csv_line(record);
  }
  return text;
}

std::vector<std::string> distinct_kernel_names(const std::vector<std::string>& full) {
  std::map<std::string, std::set<std::string_view>> alike;
  for (const std::string& name : full) alike[short_kernel_name(name)].insert(name);
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; };
  std::vector<std::string> result;
  for (const std::string& name : full) {
    std::string text = short_kernel_name(name);
    const auto& others = alike[text];
    if (others.size() > 1) {
      // What is not the same at both ends, in whole words, without namespaces.
      std::size_t front = name.size(), back = name.size();
      for (const std::string_view other : others) {
        front = std::min(front, static_cast<std::size_t>(std::ranges::mismatch(name, other).in1 - name.begin()));
        const auto tail = std::mismatch(name.rbegin(), name.rend(), other.rbegin(), other.rend());
        back = std::min(back, static_cast<std::size_t>(tail.first - name.rbegin()));
      }
      while (front > 0 && in_word(name[front - 1])) --front;
      back = std::min(back, name.size() - front);
      while (back > 0 && in_word(name[name.size() - back])) --back;
      std::string middle;
      for (std::size_t i = front; i < name.size() - back; ++i) {
        middle += name[i];
        if (!middle.ends_with("::")) continue;
        middle.resize(middle.size() - 2);
        while (!middle.empty() && in_word(middle.back())) middle.pop_back();
      }
      constexpr std::size_t most = 48;
      if (middle.size() > most) middle = printable(middle.substr(0, most)) + "\u2026";
      constexpr std::string_view brackets = "<\u2026>";
      if (const auto at = text.find(brackets); at != std::string::npos)
        text.replace(at, brackets.size(), "<" + middle + ">");
      else
        text += " (" + middle + ")";
    }
    result.push_back(std::move(text));
  }
  return result;
}

}  // namespace gpubench::reports
