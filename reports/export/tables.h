// SPDX-License-Identifier: Apache-2.0
// Tables as CSV (RFC 4180) and Markdown, and hostile text inside them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpubench::reports {

/// A text as a field: printable, quoted when it holds a comma or a quote. Where = + - or @ begins it, or follows a
/// semicolon or tab in it and is no number's, an apostrophe goes before, so that no spreadsheet takes it for a formula.
std::string csv_text(std::string_view text);

/// The shortest decimal that reads back as the same number; empty when absent or not finite.
std::string csv_number(double number);
std::string csv_number(const std::optional<double>& number);

/// One line: names of columns and fields, those from elsewhere made by the functions above.
using CsvRecord = std::vector<std::pair<std::string, std::string>>;

/// The line of names of any record, and the line of its fields; both end in CRLF.
std::string csv_header(const CsvRecord& record);
std::string csv_line(const CsvRecord& record);

/// Printable text that means nothing to Markdown or HTML; an underscore inside a word stays.
std::string markdown_text(std::string_view text);

struct Heading {
  std::string title;
  bool right = false;   ///< aligned to the right, as numbers are
  bool made = false;    ///< its cells are in the table's format already
  bool detail = false;  ///< the rows of phones do without it
};
/// "point; time>; kernel*; p95>-": > aligns to the right, the cells of * are in the table's format already, - is a
/// detail.
std::vector<Heading> headings(std::string_view text);

using Rows = std::vector<std::vector<std::string>>;
std::string markdown_table(const std::vector<Heading>& headings, const Rows& rows);

}  // namespace gpubench::reports
