// SPDX-License-Identifier: Apache-2.0
// Aligned columns on a terminal, with or without colour.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench {

struct ConsoleStyle {
  bool color = false;
  int width = 100;           ///< columns of the terminal
  bool whole_names = false;  ///< names of points are never shortened, though a line gets wider: for pipes and files
};

/// Parameters of the SGR control sequence (ECMA-48, section 8.3.117).
namespace color {
inline constexpr std::string_view none;
inline constexpr std::string_view bold = "1";
inline constexpr std::string_view dim = "2";
inline constexpr std::string_view red = "31";
inline constexpr std::string_view green = "32";
inline constexpr std::string_view yellow = "33";
inline constexpr std::string_view magenta = "35";
inline constexpr std::string_view cyan = "36";
}  // namespace color

std::string paint(std::string_view text, std::string_view color, const ConsoleStyle& style);

/// Columns to use: the style's width, but at least 40.
std::size_t usable_width(const ConsoleStyle& style);

/// A text over as many lines as it needs, those after the first indented under `lead`'s end. Ends with a newline.
std::string paragraph(std::string_view lead, std::string_view text, std::string_view color, const ConsoleStyle& style);

struct Cell {
  std::string text;  ///< printable
  std::string_view color = color::none;
};

struct Column {
  std::string header;
  bool right = false;  ///< aligned to the right
  std::vector<Cell> cells = {};
  std::size_t min_width = 0;  ///< for what is printed under the column besides its cells

  [[nodiscard]] std::size_t natural_width() const;
};

/// Columns of equal height, side by side. One column may be elastic: it is shortened to what the others leave over.
class Table {
 public:
  /// The column at `elastic` gives way; it keeps at least `min` columns of the terminal.
  Table(std::vector<Column> columns, std::size_t elastic, std::size_t min);

  [[nodiscard]] bool fits(std::size_t width) const;
  /// Settles the widths: the elastic column is shortened, then long texts of others, unless names are to be whole.
  void fit(const ConsoleStyle& style);

  [[nodiscard]] std::size_t width_of(std::size_t column) const { return widths_[column]; }
  [[nodiscard]] std::string header(const ConsoleStyle& style) const;
  [[nodiscard]] std::string row(std::size_t index, const ConsoleStyle& style) const;

 private:
  static constexpr std::size_t gap = 2, min_text_width = 20;
  [[nodiscard]] std::size_t width_of_others() const;
  [[nodiscard]] std::string line(const std::vector<Cell>& cells, const ConsoleStyle& style) const;

  std::vector<Column> columns_;
  std::size_t elastic_;
  std::size_t least_;
  std::vector<std::size_t> widths_;
};

void add_row(std::vector<Column>& columns, std::vector<Cell> cells);

/// A whole table. Too wide, it loses the columns of `expendable`, group by group; then `elastic` shrinks, to `min`.
std::string table_text(std::vector<Column> columns, std::size_t min, const ConsoleStyle& style,
                       const std::vector<std::vector<std::string_view>>& expendable = {}, std::size_t elastic = 0);

}  // namespace gpubench
