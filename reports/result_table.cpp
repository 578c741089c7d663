// SPDX-License-Identifier: Apache-2.0
#include "reports/result_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "reports/console/program.h"
#include "reports/export/tables.h"

namespace gpubench::reports {
namespace {

std::string number_text(double value, ValueKind kind) {
  switch (kind) {
    case ValueKind::seconds: return format_seconds(value);
    case ValueKind::bytes: return format_bytes(value);
    case ValueKind::share: return format_percent(value);
    default: return format_count(value);
  }
}

std::string cell_text(const Value& value, const ValueColumn& column) {
  if (const auto* text = std::get_if<std::string>(&value)) return printable(text->empty() ? column.none : *text);
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    return number_text(static_cast<double>(*whole), column.kind);
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number, column.kind);
  return {};
}

std::string text_in(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

}  // namespace

std::string console_text(const ResultTable& table, std::size_t shown, const ConsoleStyle& style) {
  const std::size_t count = std::min(table.rows.size(), shown);
  std::vector<Column> columns;
  std::map<int, std::vector<std::string_view>> expendable;
  std::optional<double> left;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const ValueColumn& column = table.columns[c];
    if (column.kind == ValueKind::share && !left) {
      left = 0.0;
      for (std::size_t r = count; r < table.rows.size(); ++r)
        if (const auto* share = std::get_if<double>(&table.rows[r][c])) *left += *share;
    }
    if (column.title.empty()) continue;
    if (column.expendable > 0) expendable[column.expendable].push_back(column.title);
    const bool words = column.kind == ValueKind::text || column.kind == ValueKind::kernel;
    Column& made = columns.emplace_back(Column{column.title, !words});
    std::vector<std::string> names;
    for (std::size_t r = 0; r < count && column.kind == ValueKind::kernel; ++r)
      names.push_back(text_in(table.rows[r][c]));
    names = distinct_kernel_names(names);
    for (std::size_t r = 0; r < count; ++r)
      made.cells.push_back({cell_text(names.empty() ? table.rows[r][c] : Value(names[r]), column)});
  }
  std::vector<std::vector<std::string_view>> groups;
  for (auto& [rank, titles] : expendable) groups.push_back(std::move(titles));
  std::string text = table_text(std::move(columns), min_shown_name, style, groups);
  if (table.rows.size() > count)
    text += paragraph("",
                      fmt::format("and {} more{}", table.rows.size() - count,
                                  left ? fmt::format(", {} of the time", format_percent(*left)) : ""),
                      color::dim, style);
  return text;
}

nlohmann::ordered_json json_rows(const ResultTable& table) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    auto one = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < row.size(); ++c)
      if (const std::string& key = table.columns[c].key; !key.empty())
        std::visit(
            [&](const auto& value) {
              if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Absent>)
                one[key] = nullptr;
              else
                one[key] = value;
            },
            row[c]);
    all.push_back(std::move(one));
  }
  return all;
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
