// SPDX-License-Identifier: Apache-2.0
#include "reports/export/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "core/base/text.h"

namespace gpubench::reports {

std::string csv_text(std::string_view text) {
  std::string field;
  // Where a comma is the decimal point, spreadsheets split fields at semicolons.
  for (std::string_view rest = text; !rest.empty() || field.empty();) {
    const std::size_t end = std::min(rest.find_first_of(";\t"), rest.size());
    const std::string_view cell = rest.substr(0, end);
    const std::size_t start = std::min(cell.find_first_not_of(" \""), cell.size());
    // Full-width signs, too: spreadsheets in East Asian locales take them for the plain ones.
    const bool formula = std::ranges::any_of(
        std::to_array<std::string_view>({"=", "+", "-", "@", "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"}),
        [&](std::string_view sign) { return cell.substr(start).starts_with(sign); });
    if (formula && (rest.data() == text.data() || !number_in<double>(cell))) field += '\'';
    field += printable(rest.substr(0, end + 1));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_number(double number) { return std::isfinite(number) ? fmt::format("{}", number) : ""; }

std::string csv_number(const std::optional<double>& number) { return number ? csv_number(*number) : ""; }

std::string csv_header(const CsvRecord& record) { return joined(record, ",", &CsvRecord::value_type::first) + "\r\n"; }

std::string csv_line(const CsvRecord& record) { return joined(record, ",", &CsvRecord::value_type::second) + "\r\n"; }

std::string markdown_text(std::string_view text) {
  const std::string safe = printable(text);
  const auto alphanumeric = [&](std::size_t i) {
    return i < safe.size() && std::isalnum(static_cast<unsigned char>(safe[i])) != 0;
  };
  std::string result;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const char c = safe[i];
    const bool inside_word = c == '_' && i > 0 && alphanumeric(i - 1) && alphanumeric(i + 1);
    const bool line_start = (i == 0 || safe[i - 1] == ';' || safe.substr(0, i).ends_with("\\t")) && contains("#+-=", c);
    if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '&') {
      result += "&amp;";
    } else if (line_start || (contains("\\`*_[]|~$!@", c) && !inside_word)) {
      result += fmt::format("&#{};", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::vector<Heading> headings(std::string_view text) {
  std::vector<Heading> list;
  while (!text.empty()) {
    const std::string_view each = text.substr(0, text.find("; "));
    text.remove_prefix(std::min(each.size() + 2, text.size()));
    const std::string_view title = each.substr(0, each.find_last_not_of(">*-") + 1);
    const auto has = [marks = each.substr(title.size())](char mark) { return contains(marks, mark); };
    list.push_back({std::string(title), has('>'), has('*'), has('-')});
  }
  return list;
}

std::string markdown_table(const std::vector<Heading>& headings, const Rows& rows) {
  const auto rule = [](const Heading& heading) { return heading.right ? "---:" : ":---"; };
  std::string text =
      fmt::format("| {} |\n| {} |\n", joined(headings, " | ", &Heading::title), joined(headings, " | ", rule));
  for (const auto& row : rows) {
    text += "|";
    for (std::size_t i = 0; i < row.size(); ++i)
      text += fmt::format(" {} |", headings.at(i).made ? row[i] : markdown_text(row[i]));
    text += "\n";
  }
  return text;
}

}  // namespace gpubench::reports
