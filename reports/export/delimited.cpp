// SPDX-License-Identifier: Apache-2.0
#include "reports/export/delimited.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"

namespace gpubench::reports {

std::string csv_text(std::string_view text) {
  std::string field = printable(text);
  if (!field.empty() && std::string_view("=+-@").find(field.front()) != std::string_view::npos)
    field = fmt::format("'{}", field);
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_number(double number) { return std::isfinite(number) ? fmt::format("{}", number) : ""; }

std::string csv_number(const std::optional<double>& number) { return number ? csv_number(*number) : ""; }

std::string csv_line(const std::vector<std::string>& fields) { return fmt::format("{}\r\n", fmt::join(fields, ",")); }

}  // namespace gpubench::reports
