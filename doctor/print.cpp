// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/table.h"
#include "core/base/text.h"
#include "doctor/judge.h"

namespace gpubench::doctor {
namespace {

constexpr int schema_version = 1;
constexpr std::array signs = {std::string_view("+"), std::string_view("!"), std::string_view("x")};
constexpr std::array colors = {color::green, color::yellow, color::red};

std::size_t index_of(State state) { return static_cast<std::size_t>(state); }

std::size_t count_of(const std::vector<Line>& lines, State state) {
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [&](const Line& line) { return line.state == state; }));
}

/// "  ! yellow  power cap       " and the text beside it, over as many lines as it needs.
std::string line_text(const Line& line, std::size_t check_width, const ConsoleStyle& style) {
  const std::string mark = fmt::format("{} {}", signs[index_of(line.state)], state_names[index_of(line.state)]);
  const std::string check = pad_right(printable(line.check), check_width);
  const std::size_t mark_width = 8;  // "! yellow"
  const std::string indent(2 + mark_width + 2 + check_width + 2, ' ');
  const std::string lead = fmt::format("  {}  {}  ", pad_right(mark, mark_width), check);
  std::string text = paragraph(lead, printable(line.found), color::none, style);
  // Painted afterwards: paragraph counts the columns of what it is given.
  text.replace(2, mark.size(), paint(mark, colors[index_of(line.state)], style));
  if (!line.remedy.empty()) text += paragraph(indent + "-> ", printable(line.remedy), color::none, style);
  return text;
}

}  // namespace

std::string console(const std::vector<Line>& lines, const ConsoleStyle& style) {
  std::size_t check_width = 0;
  for (const Line& line : lines) check_width = std::max(check_width, display_width(printable(line.check)));
  std::string text;
  std::string_view section;
  for (const Line& line : lines) {
    if (line.section != section) {
      section = line.section;
      text += paint(printable(section), color::bold, style) + "\n";
    }
    text += line_text(line, check_width, style);
  }
  const std::string summary = fmt::format("{} green, {} yellow, {} red", count_of(lines, State::green),
                                          count_of(lines, State::yellow), count_of(lines, State::red));
  return text + paragraph("", summary, colors[index_of(worst(lines))], style);
}

std::string json(const std::vector<Line>& lines, const Context& context) {
  using Json = nlohmann::ordered_json;
  Json checks = Json::array();
  for (const Line& line : lines) {
    Json check;
    check["section"] = line.section;
    check["check"] = line.check;
    check["state"] = state_names[index_of(line.state)];
    check["found"] = line.found;
    if (!line.remedy.empty()) check["remedy"] = line.remedy;
    if (line.value) check["seconds"] = *line.value;
    if (!line.method.empty()) check["method"] = line.method;
    checks.push_back(std::move(check));
  }
  Json document;
  document["schema"] = {{"name", "gpubench-doctor"}, {"version", schema_version}};
  document["gpubench_version"] = context.gpubench_version;
  document["created_utc"] = context.created_utc;
  document["host"] = context.host;
  document["environment"] = context.environment;
  document["worst"] = state_names[index_of(worst(lines))];
  document["checks"] = std::move(checks);
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gpubench::doctor
