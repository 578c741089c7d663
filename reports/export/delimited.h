// SPDX-License-Identifier: Apache-2.0
// Comma-separated values as RFC 4180 has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench::reports {

/// A text as a field: printable and on one line; quoted when it holds a comma or a quote. One that begins with = + - or
/// @ gets an apostrophe before it, so that no spreadsheet takes it for a formula (numbers are never touched).
std::string csv_text(std::string_view text);

/// The shortest decimal that reads back as the same number; empty when absent or not finite.
std::string csv_number(double number);
std::string csv_number(const std::optional<double>& number);

/// Fields made by the functions above, with the line's end (CRLF).
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace gpubench::reports
