// SPDX-License-Identifier: Apache-2.0
// Runs and ceilings as Markdown.
#include <fmt/format.h>

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
  if (!point.verdict) return cells.resize(cells.size() + 4);
  const Verdict& verdict = *point.verdict;
  const std::string runner_up = verdict.certainty == Certainty::certain ? "" : runner_up_text(verdict);
  cells.emplace_back(name_of(verdict.regime));
  cells.emplace_back(label_of(verdict.limiter));
  cells.push_back(of_ceiling_text(run, point));
  cells.push_back(verdict.regime == Regime::unknown ? ""
                                                    : fmt::format("{}{}", name_of(verdict.certainty),
                                                                  runner_up.empty() ? "" : ", else " + runner_up));
}

std::string table(const Run& run) {
  if (run.points.empty()) return "No points.\n";
  bool several = false, on_device = false, called = false, clock = false, loaded = false;
  for (const Point& point : run.points) {
    const Measurement& measurement = point.measurement;
    several = several || measurement.device != run.points.front().measurement.device;
    called = called || time_as_called(measurement) != nullptr;
    on_device = on_device || has_time_on_device(measurement);
    clock = clock || is_held(measurement);
    loaded = loaded || share_under_load(measurement);
  }
  const std::string columns = fmt::format(
      "point{}; time>*; \u00b1>*{}{}; bandwidth>; FLOP rate>{}; regime; limiter; of ceiling; confidence",
      several ? "; device" : "", called ? "; as called>" : "", on_device ? "; on device>" : "", clock ? "; clock" : "");
  const auto names = headings(columns);
  Rows rows;
  const auto add = [&](const Point& point) {
    const Measurement& measurement = point.measurement;
    auto& cells = rows.emplace_back(std::vector{label(measurement)});
    if (several) cells.push_back(measurement.device);
    if (const Status status = status_of(measurement); status != Status::timed) {
      cells.push_back(fmt::format("**{}**: {}", name_of(status), markdown_text(reason_of(measurement))));
      return cells.resize(names.size());
    }
    const auto bandwidth = bytes_per_second(measurement), flops = flops_per_second(measurement);
    const Summary* const device_time = seconds_by(measurement, TimingMode::device);
    cells.push_back(format_seconds(measurement.seconds()->median, 4) + (share_under_load(measurement) ? " !" : ""));
    cells.push_back(spread_text(measurement));
    const Summary* const call_time = time_as_called(measurement);
    if (called) cells.push_back(call_time != nullptr ? format_seconds(call_time->median, 4) : "");
    if (on_device) cells.push_back(device_time != nullptr ? format_seconds(device_time->median, 4) : "");
    cells.push_back(bandwidth ? format_bytes_per_second(*bandwidth) : "");
    cells.push_back(flops ? format_flops_per_second(*flops) : "");
    if (clock) cells.push_back(clock_text(measurement));
    add_verdict(run, point, cells);
  };
  for (const Group& group : groups_of(run))
    for (const Point* point : group.points) add(*point);
  return markdown_table(names, rows) + (loaded ? "\n! measured under load\n" : "");
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
  for (const PhaseLine& line : phase_lines(program))
    text += fmt::format("- {}: {}\n", markdown_text(line.lead), markdown_text(line.text));
  if (const std::string of = steady_text(program); !of.empty()) text += fmt::format("- {}\n", markdown_text(of));
  for (const GpuTime& gpu : program.gpus)
    text += fmt::format("- {}: {}; {}\n", markdown_text(name_of(gpu)), markdown_text(busy_text(gpu)),
                        markdown_text(idle_text(gpu)));
  for (const StepTime& step : program.steps)
    text += fmt::format("- a step of {}: {}. {}\n", markdown_text(name_of(step)), markdown_text(step_text(step)),
                        markdown_text(joined(step_notes(step), " ")));
  for (const ProgramMemory& memory : program.memory)
    text += fmt::format("- {} memory: {}\n", markdown_text(name_of(memory)), markdown_text(memory_text(memory)));
  if (!program.counters_reason.empty())
    text += fmt::format("- no counters: {}\n", markdown_text(program.counters_reason));
  text += "\n";
  Rows rows;
  for (const ProgramRow& row : program_rows(run)) {
    const ProgramKernel& kernel = *row.kernel;
    const auto mean = mean_seconds(kernel);
    rows.push_back({row.name, kernel.range, format_count(static_cast<double>(kernel.launches)),
                    format_seconds(kernel.total_seconds), format_percent(kernel.share),
                    mean ? format_seconds(*mean) : "", format_seconds(kernel.p95_seconds)});
    add_verdict(run, row.point != nullptr ? *row.point : Point{}, rows.back());
  }
  if (rows.empty()) return text + "No kernel was recorded.\n";
  return text +
         markdown_table(
             headings(
                 "kernel; range; launches>; total>; share>*; mean>; p95>; regime; limiter; of ceiling; confidence"),
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
      text += fmt::format("\n### {}\n\n{}", name_of(group), markdown_table(ceiling_headings(), ceiling_rows(ceilings)));
    Rows rows;
    for (const AbsentCeiling& absent : calibration.absent) rows.push_back({absent.resource, absent.reason});
    if (!rows.empty()) text += "\n### not measured\n\n" + markdown_table(headings("resource; reason"), rows);
  }
  return text;
}

}  // namespace gpubench::reports
