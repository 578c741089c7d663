// SPDX-License-Identifier: Apache-2.0
#include "core/base/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.h"

namespace gpubench {

std::string paint(std::string_view text, std::string_view color, const ConsoleStyle& style) {
  if (!style.color || color.empty() || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", color, text);
}

std::size_t usable_width(const ConsoleStyle& style) { return static_cast<std::size_t>(std::max(style.width, 40)); }

std::string paragraph(std::string_view lead, std::string_view text, std::string_view color, const ConsoleStyle& style) {
  const std::size_t indent = display_width(lead);
  const std::size_t width = usable_width(style);
  std::string result;
  for (const std::string& line : wrap(text, width > indent + 20 ? width - indent : 20)) {
    result += result.empty() ? std::string(lead) : std::string(indent, ' ');
    result += paint(line, color, style) + "\n";
  }
  return result;
}

std::size_t Column::natural_width() const {
  std::size_t width = std::max(display_width(header), min_width);
  for (const Cell& cell : cells) width = std::max(width, display_width(cell.text));
  return width;
}

Table::Table(std::vector<Column> columns, std::size_t elastic, std::size_t min)
    : columns_(std::move(columns)), elastic_(elastic), least_(min) {
  for (const Column& column : columns_) widths_.push_back(column.natural_width());
  least_ = std::min(least_, widths_[elastic_]);
}

std::size_t Table::width_of_others() const {
  std::size_t width = gap * (columns_.size() - 1);
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (i != elastic_) width += widths_[i];
  return width;
}

bool Table::fits(std::size_t width) const { return width_of_others() + least_ <= width; }

void Table::fit(const ConsoleStyle& style) {
  if (style.whole_names) return;
  const std::size_t width = usable_width(style);
  const std::size_t others = width_of_others();
  const std::size_t left = width > others ? width - others : 0;
  widths_[elastic_] = std::min(widths_[elastic_], std::max(left, least_));
  std::size_t excess = others + widths_[elastic_];
  excess -= std::min(excess, width);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i == elastic_ || columns_[i].right || widths_[i] <= min_text_width) continue;
    const std::size_t less = std::min(excess, widths_[i] - min_text_width);
    widths_[i] -= less;
    excess -= less;
  }
}

std::string Table::line(const std::vector<Cell>& cells, const ConsoleStyle& style) const {
  std::string result;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string text = shorten(cells[i].text, widths_[i]);
    const std::string spaces(widths_[i] - display_width(text), ' ');
    const std::string painted = paint(text, cells[i].color, style);
    if (i > 0) result += std::string(gap, ' ');
    result += columns_[i].right ? spaces + painted : painted + spaces;
  }
  result.erase(result.find_last_not_of(' ') + 1);
  return result + "\n";
}

std::string Table::header(const ConsoleStyle& style) const {
  std::vector<Cell> cells;
  for (const Column& column : columns_) cells.push_back({column.header, color::bold});
  return line(cells, style);
}

std::string Table::row(std::size_t index, const ConsoleStyle& style) const {
  std::vector<Cell> cells;
  for (const Column& column : columns_) cells.push_back(column.cells[index]);
  return line(cells, style);
}

void add_row(std::vector<Column>& columns, std::vector<Cell> cells) {
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(std::move(cells.at(i)));
}

std::string table_text(std::vector<Column> columns, std::size_t min, const ConsoleStyle& style,
                       const std::vector<std::vector<std::string_view>>& expendable, std::size_t elastic) {
  Table table(columns, elastic, min);
  for (const auto& headers : expendable) {
    if (table.fits(usable_width(style))) break;
    std::erase_if(columns, [&](const Column& column) { return contains(headers, column.header); });
    table = Table(columns, elastic, min);
  }
  table.fit(style);
  std::string text = table.header(style);
  for (std::size_t i = 0; i < columns.front().cells.size(); ++i) text += table.row(i, style);
  return text;
}

}  // namespace gpubench
