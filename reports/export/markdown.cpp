// SPDX-License-Identifier: Apache-2.0
// Runs and ceilings as Markdown.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "reports/export/tables.h"
#include "reports/findings.h"
#include "reports/program.h"
#include "reports/reports.h"
#include "reports/shared_text.h"

namespace gpubench::reports {
namespace {

void add_verdict(const Run& run, const Point& point, std::vector<std::string>& cells) {
  if (!point.verdict) {
    cells.insert(cells.end(), 4, "");
    return;
  }
  const Verdict& verdict = *point.verdict;
  cells.emplace_back(name_of(verdict.regime));
  cells.push_back(markdown_text(label_of(verdict.limiter)));
  cells.push_back(markdown_text(of_ceiling_text(run, point)));
  const std::string runner_up = verdict.certainty == Certainty::certain ? "" : runner_up_text(verdict);
  cells.push_back(verdict.regime == Regime::unknown ? ""
                                                    : fmt::format("{}{}", name_of(verdict.certainty),
                                                                  runner_up.empty() ? "" : ", else " + runner_up));
}

/// Which columns a table has besides those that all have.
struct Shown {
  bool device = false;     ///< there are several
  bool on_device = false;  ///< some point has a time by that clock besides its own
  bool clock = false;      ///< some point's clock was held down
};

std::vector<std::string> row_of(const Run& run, const Point& point, const Shown& shown) {
  const Measurement& measurement = point.measurement;
  std::vector<std::string> cells = {markdown_text(label(measurement))};
  if (shown.device) cells.push_back(markdown_text(measurement.device));
  if (status_of(measurement) != Status::timed) {
    cells.push_back(fmt::format("**{}**: {}", name_of(status_of(measurement)), markdown_text(reason_of(measurement))));
    cells.insert(cells.end(), 7 + (shown.on_device ? 1 : 0) + (shown.clock ? 1 : 0), "");
    return cells;
  }
  const auto bandwidth = bytes_per_second(measurement);
  const auto flops = flops_per_second(measurement);
  cells.push_back(format_seconds(measurement.seconds()->median, 4) + (share_under_load(measurement) ? " !" : ""));
  cells.push_back(spread_text(measurement));
  if (shown.on_device) {
    const Summary* const on_device = seconds_by(measurement, TimingMode::device);
    cells.push_back(on_device != nullptr ? format_seconds(on_device->median, 4) : "");
  }
  cells.push_back(bandwidth ? format_bytes_per_second(*bandwidth) : "");
  cells.push_back(flops ? format_flops_per_second(*flops) : "");
  if (shown.clock) cells.push_back(markdown_text(clock_text(measurement)));
  add_verdict(run, point, cells);
  return cells;
}

std::string table(const Run& run) {
  if (run.points.empty()) return "No points.\n";
  Shown shown;
  for (const Point& point : run.points) {
    const Measurement& measurement = point.measurement;
    shown.device = shown.device || measurement.device != run.points.front().measurement.device;
    shown.on_device = shown.on_device || has_time_on_device(measurement);
    shown.clock = shown.clock || is_held(measurement);
  }
  std::vector<Heading> headings = {{"point"}};
  if (shown.device) headings.push_back({"device"});
  headings.insert(headings.end(), {{"time", true}, {"\u00b1", true}});
  if (shown.on_device) headings.push_back({"on device", true});
  headings.insert(headings.end(), {{"bandwidth", true}, {"FLOP rate", true}});
  if (shown.clock) headings.push_back({"clock"});
  headings.insert(headings.end(), {{"regime"}, {"limiter"}, {"of ceiling"}, {"confidence"}});
  std::vector<std::vector<std::string>> rows;
  for (const Group& group : groups_of(run))
    for (const Point* point : group.points) rows.push_back(row_of(run, *point, shown));
  const bool loaded = std::ranges::any_of(
      run.points, [](const Point& point) { return share_under_load(point.measurement).has_value(); });
  return markdown_table(headings, rows) + (loaded ? "\n! measured under load\n" : "");
}

/// What to fix first.
std::string findings(const Run& run) {
  const auto lines = finding_lines(run);
  if (lines.empty()) return markdown_text(no_findings_text(run)) + "\n\n";
  std::string text = "**What to fix first**\n\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const FindingLine& line = lines[i];
    const std::string separator = line.head.empty() || line.action.empty() ? "" : ": ";
    text += fmt::format("{}. {}{}{}", i + 1, line.head.empty() ? "" : fmt::format("**{}**", markdown_text(line.head)),
                        separator, markdown_text(line.action));
    text += line.why.empty() ? "\n" : fmt::format("  \n   {}\n", markdown_text(line.why));
  }
  return text + "\n";
}

/// A profiled program: where its time went and its kernels.
std::string program_text(const Run& run) {
  const Program& program = *run.program;
  std::string text = fmt::format("- program: {}\n- {}\n", markdown_text(joined(program.command, " ")),
                                 markdown_text(ran_text(program)));
  for (const GpuTime& gpu : program.gpus)
    text += fmt::format("- {}: {}; {}\n", markdown_text(name_of(gpu)), markdown_text(busy_text(gpu)),
                        markdown_text(idle_text(gpu)));
  for (const ProgramMemory& memory : program.memory)
    text += fmt::format("- {} memory: {}\n", markdown_text(name_of(memory)), markdown_text(memory_text(memory)));
  if (!program.counters_reason.empty())
    text += fmt::format("- no counters: {}\n", markdown_text(program.counters_reason));
  text += "\n";
  std::vector<std::vector<std::string>> rows;
  for (const ProgramRow& row : program_rows(run)) {
    const ProgramKernel& kernel = *row.kernel;
    const auto mean = mean_seconds(kernel);
    rows.push_back({markdown_text(row.name), markdown_text(kernel.range),
                    format_count(static_cast<double>(kernel.launches)), format_seconds(kernel.total_seconds),
                    format_percent(kernel.share), mean ? format_seconds(*mean) : "",
                    format_seconds(kernel.p95_seconds)});
    add_verdict(run, row.point != nullptr ? *row.point : Point{}, rows.back());
  }
  if (rows.empty()) return text + "No kernel was recorded.\n";
  return text + markdown_table({{"kernel"},
                                {"range"},
                                {"launches", true},
                                {"total", true},
                                {"share", true},
                                {"mean", true},
                                {"p95", true},
                                {"regime"},
                                {"limiter"},
                                {"of ceiling"},
                                {"confidence"}},
                               rows);
}

/// A list under its title; nothing where it is empty.
std::string titled(std::string_view title, const std::string& list) {
  return list.empty() ? "" : fmt::format("\n{}:\n\n{}", title, list);
}

std::string boundaries(const Run& run) {
  std::string text;
  for (const Boundary& boundary : run.boundaries) {
    text += fmt::format("- {}: {} -&gt; {} at {} {}{}", markdown_text(boundary.operation),
                        markdown_text(label_of(boundary.from)), markdown_text(label_of(boundary.to)),
                        markdown_text(boundary.argument), boundary.placement == Placement::at ? "= " : "",
                        markdown_text(boundary_at_text(boundary)));
    if (boundary.ci95)
      text += fmt::format(" ({} to {})", format_count(boundary.ci95->low), format_count(boundary.ci95->high));
    text += "\n";
  }
  return titled("Boundaries", text);
}

std::string advice(const Run& run) {
  std::string text;
  for (const Group& group : groups_of(run))
    for (const AdviceLine& line : advice_of(group))
      text += fmt::format("- {}, where {}: {}\n", markdown_text(label(line.at->measurement)), name_of(line.regime),
                          markdown_text(advice_text(*line.advice)));
  return titled("Advice, for the point of each regime with the largest gain", text);
}

std::string doubts(const Run& run) {
  std::string text;
  for (const Group& group : groups_of(run))
    for (const Doubt& doubt : doubts_of(group))
      text += fmt::format("- {}{}: {} says {}; {}\n", markdown_text(label(doubt.first->measurement)),
                          doubt.points > 1 ? fmt::format(" and {} more", doubt.points - 1) : "",
                          name_of(doubt.check->experiment), markdown_text(doubt.check->says),
                          markdown_text(doubt.check->evidence));
  return titled("Checks that disagree", text);
}

std::string figures_of_operations(const Run& run) {
  std::string text;
  for (const Point& point : run.points)
    if (const std::string figures = own_figures(point.measurement); !figures.empty())
      text += fmt::format("- {}: {}\n", markdown_text(label(point.measurement)), markdown_text(figures));
  return titled("Figures of the operations' own", text);
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

std::string group_table(const std::vector<const Ceiling*>& ceilings) {
  std::vector<std::vector<std::string>> rows;
  for (const Ceiling* const ceiling : ceilings) {
    const auto share = share_of_limit(*ceiling);
    std::string method = ceiling->method;
    if (!ceiling->caveats.empty()) method += fmt::format(". Caveat: {}", fmt::join(ceiling->caveats, "; "));
    rows.push_back({markdown_text(ceiling->resource), markdown_text(format_value(ceiling->value, ceiling->unit, 4)),
                    markdown_text(format_interval(ceiling->ci95, ceiling->unit, 4)),
                    share ? format_percent(*share) : "", ceiling->clock_hz ? format_hertz(*ceiling->clock_hz) : "",
                    markdown_text(method)});
  }
  return markdown_table(
      {{"resource"}, {"ceiling", true}, {"95 % interval", true}, {"of limit", true}, {"clock", true}, {"method"}},
      rows);
}

}  // namespace

std::string markdown(const Run& run) {
  std::string text = findings(run);
  text += fmt::format("gpubench {} on {}, {}\n\n", markdown_text(run.context.gpubench_version),
                      markdown_text(run.context.host), markdown_text(run.context.created_utc));
  text += devices(run) + (run.program ? program_text(run) : "\n" + table(run)) + figures_of_operations(run) +
          boundaries(run) + advice(run) + doubts(run);
  if (const std::string surer = counters_summary(run); !surer.empty()) text += "\n" + surer + "\n";
  text += "\n";
  for (const std::string& warning : folded_warnings(run))
    text += fmt::format("- **warning**: {}\n", markdown_text(warning));
  for (const std::string& notice : point_notices(run)) text += fmt::format("- {}\n", markdown_text(notice));
  return text;
}

std::string ceilings_markdown(const Run& run) {
  std::string text = "# Ceilings\n";
  for (const Calibration& calibration : run.calibrations) {
    text += fmt::format("\n## {}: {}\n\n- {} calibration of {}, took {}\n", markdown_text(calibration.device.id),
                        markdown_text(calibration.device.name), markdown_text(calibration.mode),
                        markdown_text(calibration.created_utc), format_seconds(calibration.seconds_taken));
    if (calibration.health) text += fmt::format("- health: {}\n", markdown_text(health_text(*calibration.health)));
    for (const std::string& warning : calibration.warnings)
      text += fmt::format("- warning: {}\n", markdown_text(warning));
    for (const auto& [group, ceilings] : ceilings_by_group(calibration))
      text += fmt::format("\n### {}\n\n{}", name_of(group), group_table(ceilings));
    if (calibration.absent.empty()) continue;
    std::vector<std::vector<std::string>> rows;
    for (const AbsentCeiling& absent : calibration.absent)
      rows.push_back({markdown_text(absent.resource), markdown_text(absent.reason)});
    text += "\n### not measured\n\n" + markdown_table({{"resource"}, {"reason"}}, rows);
  }
  return text;
}

}  // namespace gpubench::reports
