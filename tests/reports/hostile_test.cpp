// SPDX-License-Identifier: Apache-2.0
// Names that try to break each format.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/storage/storage.h"
#include "reports/comparisons.h"
#include "reports/reports.h"
#include "tests/compare/compared_runs.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

/// A comparison with hostile text in every place.
compare::Comparison hostile_comparison() {
  const std::string name = hostile_name();
  compare::Comparison comparison = compare::compare(hostile_run(), hostile_run(), {});
  comparison.only_in_base = comparison.only_in_new = comparison.failed_in_new = comparison.differences = {name};
  comparison.forbidding = comparison.notes = {name};
  for (auto& point : comparison.points) point.base_regime = point.device = point.base_bound = name;
  return comparison;
}

/// Only what `printable` made of them may remain, which are backslashes and letters.
void expect_clean(std::string text) {
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\t'), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(text.find('\xff'), std::string::npos);
  text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
  EXPECT_EQ(text, printable(text));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The records of a CSV text, read as RFC 4180 says.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> records(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& field = records.back().back();
    if (quoted) {
      if (text[i] != '"') {
        field += text[i];
      } else if (text.substr(i, 2) == "\"\"") {
        field += text[i++];
      } else {
        quoted = false;
      }
    } else if (text[i] == '"') {
      EXPECT_TRUE(field.empty());
      quoted = true;
    } else if (text[i] == ',') {
      records.back().emplace_back();
    } else if (text.substr(i, 2) == "\r\n") {
      records.emplace_back(1);
      ++i;
    } else {
      EXPECT_NE(text[i], '\n');
      field += text[i];
    }
  }
  EXPECT_FALSE(quoted);
  records.pop_back();
  return records;
}

TEST(Hostile, ConsoleShowsNoControlCharacters) {
  for (const int width : {40, 80, 200}) {
    expect_clean(console(hostile_run(), {false, width}));
    expect_clean(console(hostile_run().calibrations[0], {false, width}));
    expect_clean(console(hostile_comparison(), {false, width}));
    const auto counts = [&](const gpubench::Run& run) {
      for (const auto& line : lines_of(console(run, {false, width})))
        if (line.starts_with("10 points: ")) return line;
      return std::string("no line counts the points");
    };
    EXPECT_EQ(counts(hostile_run()), counts(sample_run()));
  }
}

TEST(Hostile, CsvKeepsItsShape) {
  const std::string text = csv(hostile_run());
  std::string without_returns = text;
  without_returns.erase(std::remove(without_returns.begin(), without_returns.end(), '\r'), without_returns.end());
  expect_clean(without_returns);
  const auto records = parse_csv(text);
  ASSERT_EQ(records.size(), hostile_run().points.size() + 1);
  for (const auto& record : records) EXPECT_EQ(record.size(), records[0].size());
  EXPECT_EQ(records[1][2], "'" + printable(hostile_name() + "/saxpy/1024"));
  for (const auto& record : parse_csv(csv(hostile_comparison()))) EXPECT_EQ(record.size(), 19U);
}

TEST(Hostile, CsvNumbersAreComplete) {
  const gpubench::Run run = sample_run();
  const auto records = parse_csv(csv(run));
  const auto column = std::find(records[0].begin(), records[0].end(), "median_s") - records[0].begin();
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    const auto& seconds = run.points[i].measurement.seconds();
    const std::string& field = records[i + 1][static_cast<std::size_t>(column)];
    if (seconds) {
      EXPECT_EQ(std::stod(field), seconds->median);
    } else {
      EXPECT_EQ(field, "");
    }
  }
}

TEST(Hostile, MarkdownKeepsItsShape) {
  for (const std::string& text : {markdown(hostile_run()), markdown(hostile_comparison())}) {
    expect_clean(text);
    EXPECT_EQ(text.find('<'), std::string::npos);
    EXPECT_EQ(text.find('`'), std::string::npos);
    std::ptrdiff_t pipes = 0;
    bool in_table = false;
    for (const std::string& line : lines_of(text)) {
      const bool row = line.substr(0, 2) == "| ";
      if (row && !in_table) pipes = 0;  // another table, of other columns
      in_table = row;
      if (!row) continue;
      const auto count = std::count(line.begin(), line.end(), '|');
      if (pipes == 0) pipes = count;
      EXPECT_EQ(count, pipes) << line;
    }
    EXPECT_GT(pipes, 0);
  }
}

TEST(Hostile, JsonIsReadBack) {
  const gpubench::Run run = hostile_run();
  const gpubench::Run read = storage::run_from_json(storage::to_json(run), "run.json");
  EXPECT_EQ(printable(read.points[0].measurement.name), printable(run.points[0].measurement.name));
  EXPECT_EQ(storage::run_from_json(storage::to_json(read), "run.json"), read);
  EXPECT_TRUE(nlohmann::json::parse(json(hostile_comparison())).is_object());
}

}  // namespace
}  // namespace gpubench::reports
