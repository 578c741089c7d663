// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "reports/export/markdown_text.h"
#include "reports/judgement.h"
#include "reports/own_figures.h"
#include "reports/reports.h"

namespace gpubench::reports {

std::string markdown_text(std::string_view text) {
  const std::string safe = printable(text);
  const auto alphanumeric = [&](std::size_t i) {
    return i < safe.size() && std::isalnum(static_cast<unsigned char>(safe[i])) != 0;
  };
  std::string result;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const char c = safe[i];
    const bool inside_word = c == '_' && i > 0 && alphanumeric(i - 1) && alphanumeric(i + 1);
    const bool line_start = i == 0 && std::string_view("#+-=").find(c) != std::string_view::npos;
    if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '&') {
      result += "&amp;";
    } else if (line_start || (std::string_view("\\`*_[]|~$!@").find(c) != std::string_view::npos && !inside_word)) {
      result += fmt::format("&#{};", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

namespace {

void add_verdict(const Point& point, std::vector<std::string>& cells) {
  if (!point.verdict) {
    cells.insert(cells.end(), 4, "");
    return;
  }
  const Verdict& verdict = *point.verdict;
  cells.emplace_back(name_of(verdict.regime));
  cells.push_back(markdown_text(verdict.limiter));
  cells.push_back(verdict.achieved ? format_percent(*verdict.achieved) : "");
  const std::string runner_up = verdict.certainty == Certainty::certain ? "" : runner_up_text(verdict);
  cells.push_back(verdict.regime == Regime::unknown ? ""
                                                    : fmt::format("{}{}", name_of(verdict.certainty),
                                                                  runner_up.empty() ? "" : ", else " + runner_up));
}

std::string row_of(const Point& point, bool with_device) {
  const Measurement& measurement = point.measurement;
  std::vector<std::string> cells = {markdown_text(label(measurement))};
  if (with_device) cells.push_back(markdown_text(measurement.device));
  if (status_of(measurement) != Status::timed) {
    cells.push_back(fmt::format("**{}**: {}", name_of(status_of(measurement)), markdown_text(reason_of(measurement))));
    cells.insert(cells.end(), 7, "");
    return markdown_row(cells);
  }
  const auto spread = relative_half_width(measurement);
  const auto bandwidth = bytes_per_second(measurement);
  const auto flops = flops_per_second(measurement);
  cells.push_back(format_seconds(measurement.seconds()->median, 4));
  cells.push_back(spread ? format_percent(*spread) : "");
  cells.push_back(bandwidth ? format_bytes_per_second(*bandwidth) : "");
  cells.push_back(flops ? format_flops_per_second(*flops) : "");
  add_verdict(point, cells);
  return markdown_row(cells);
}

std::string table(const Run& run) {
  if (run.points.empty()) return "No points.\n";
  bool several = false;
  for (const Point& point : run.points)
    several = several || point.measurement.device != run.points.front().measurement.device;
  std::vector<std::string> headers = {"point"};
  std::vector<std::string> rules = {":---"};
  if (several) headers.emplace_back("device"), rules.emplace_back(":---");
  for (const auto& [header, rule] : {std::pair("time", "---:"),
                                     {"\u00b1", "---:"},
                                     {"bandwidth", "---:"},
                                     {"FLOP rate", "---:"},
                                     {"regime", ":---"},
                                     {"limiter", ":---"},
                                     {"of ceiling", "---:"},
                                     {"confidence", ":---"}}) {
    headers.emplace_back(header);
    rules.emplace_back(rule);
  }
  std::string text = markdown_row(headers) + markdown_row(rules);
  for (const Group& group : groups_of(run))
    for (const Point* point : group.points) text += row_of(*point, several);
  return text;
}

std::string boundaries(const Run& run) {
  std::string text;
  for (const Boundary& boundary : run.boundaries) {
    text += fmt::format("- {}: {} -&gt; {} at {} {}{}", markdown_text(boundary.operation), markdown_text(boundary.from),
                        markdown_text(boundary.to), markdown_text(boundary.argument),
                        boundary.placement == Placement::at ? "= " : "", markdown_text(boundary_at_text(boundary)));
    if (boundary.ci95)
      text += fmt::format(" ({} to {})", format_count(boundary.ci95->low), format_count(boundary.ci95->high));
    text += "\n";
  }
  return text.empty() ? "" : "\nBoundaries:\n\n" + text;
}

std::string advice(const Run& run) {
  std::string text;
  for (const Group& group : groups_of(run))
    for (const AdviceLine& line : advice_of(group))
      text += fmt::format("- {}, where {}: {}\n", markdown_text(label(line.at->measurement)), name_of(line.regime),
                          markdown_text(advice_text(*line.advice)));
  return text.empty() ? "" : "\nAdvice, for the point of each regime with the largest gain:\n\n" + text;
}

std::string doubts(const Run& run) {
  std::string text;
  for (const Group& group : groups_of(run))
    for (const Doubt& doubt : doubts_of(group))
      text += fmt::format("- {}{}: {} says {}; {}\n", markdown_text(label(doubt.first->measurement)),
                          doubt.points > 1 ? fmt::format(" and {} more", doubt.points - 1) : "",
                          name_of(doubt.vote->experiment), markdown_text(doubt.vote->says),
                          markdown_text(doubt.vote->evidence));
  return text.empty() ? "" : "\nChecks that disagree:\n\n" + text;
}

std::string figures_of_operations(const Run& run) {
  std::string text;
  for (const Point& point : run.points)
    if (const std::string figures = own_figures(point.measurement); !figures.empty())
      text += fmt::format("- {}: {}\n", markdown_text(label(point.measurement)), markdown_text(figures));
  return text.empty() ? "" : "\nFigures of the operations' own:\n\n" + text;
}

std::string agreement(const Run& run) {
  const auto rows = agreement_of(run);
  if (rows.empty()) return "";
  std::vector<std::string> headers = {"ncu's rule"};
  std::vector<std::string> rules = {":---"};
  for (const auto& name : regime_names) headers.emplace_back(name), rules.emplace_back("---:");
  std::string text = "\n" + markdown_row(headers) + markdown_row(rules);
  for (const auto& row : rows) {
    std::vector<std::string> cells = {markdown_text(row.theirs)};
    for (const auto count : row.by_regime) cells.push_back(count > 0 ? fmt::format("{}", count) : "");
    text += markdown_row(cells);
  }
  text += "\n";
  for (const auto& difference : rule_differences(run)) text += "- " + markdown_text(difference) + "\n";
  return text;
}

std::string devices(const Run& run) {
  std::string text;
  for (const Device& device : run.devices) {
    text += fmt::format("- {}: {}, {}", markdown_text(device.id), markdown_text(device.name),
                        markdown_text(device.architecture));
    if (const Calibration* calibration = run.calibration_of(device.id))
      text += fmt::format(", {} calibration of {}", markdown_text(calibration->mode),
                          markdown_text(calibration->created_utc));
    text += "\n";
  }
  if (has_cold_points(run)) text += "- cold caches\n";
  return text;
}

}  // namespace

std::string markdown(const Run& run) {
  std::string text = fmt::format("gpubench {} on {}, {}\n\n", markdown_text(run.context.gpubench_version),
                                 markdown_text(run.context.host), markdown_text(run.context.created_utc));
  text += devices(run) + "\n" + table(run) + figures_of_operations(run) + boundaries(run) + advice(run) + doubts(run) +
          agreement(run);
  if (!run.warnings.empty()) text += "\n";
  for (const std::string& warning : run.warnings) text += fmt::format("- **warning**: {}\n", markdown_text(warning));
  return text;
}

}  // namespace gpubench::reports
