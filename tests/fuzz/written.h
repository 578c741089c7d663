// SPDX-License-Identifier: Apache-2.0
// What is written of any run, and of any tables, must hold together: text has no control characters, JSON is JSON, and
// a page has no markup from a file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "reports/reports.h"
#include "reports/result_table.h"
#include "reports/timelines.h"
#include "tests/fuzz/fuzz.h"

namespace gpubench::fuzz {

/// In names, so that each writer meets it.
inline constexpr const char* hostile =
    "=</script><u>|,;\"`'\r\n\t\x1b[31m&amp;\\{{x}}$(id)\xe2\x80\xae\xc2\x9b]]>\xff\xfe";

inline void plain(std::string text) {
  std::erase(text, '\n');
  std::erase(text, '\r');
  require(printable(text) == text);
}

inline nlohmann::json parsed(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  require(!json.is_discarded());
  return json;
}

inline void page(const std::string& html) { require(html.find("<u>") == std::string::npos); }

/// By all that write runs but pictures.
inline void write_all(Run run) {
  run.context.program += hostile;
  run.warnings.emplace_back(hostile);
  for (Point& point : run.points) {
    point.measurement.name += hostile;
    for (Argument& argument : point.measurement.arguments) argument.name += hostile;
  }
  plain(reports::console(run, {}, true));
  for (const auto writer : {reports::csv, reports::kernels_csv, reports::markdown, reports::ceilings_csv,
                            reports::ceilings_markdown, reports::junit_xml})
    plain(writer(run));
  plain(reports::open_metrics(run));
  for (const auto writer : {reports::google_benchmark_json, reports::nvbench_json}) (void)parsed(writer(run));
  page(reports::html(run));
}

inline void write_all(const std::vector<ResultTable>& tables) {
  plain(reports::console_text(tables, {}));
  for (const ResultTable& table : tables) plain(reports::csv(table));
  (void)parsed(reports::json(tables, hostile, {hostile}));
  page(reports::tables_html(tables, {hostile, hostile, {hostile}}));
}

}  // namespace gpubench::fuzz
