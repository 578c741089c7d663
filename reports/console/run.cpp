// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/table.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "reports/console/program.h"
#include "reports/findings.h"
#include "reports/regimes.h"
#include "reports/reports.h"
#include "reports/shared_text.h"

namespace gpubench::reports {
namespace {

/// Columns from the widest table to the narrowest; the first that fits the terminal is shown.
const std::vector<std::vector<std::string_view>> layouts = {
    {"point", "time", "\u00b1", "since last", "as called", "on device", "bandwidth", "FLOP rate", "clock", "regime",
     "limiter", "of ceiling", "confidence"},
    {"point", "time", "\u00b1", "since last", "as called", "on device", "bandwidth", "FLOP rate", "regime", "limiter",
     "of ceiling"},
    {"point", "time", "\u00b1", "since last", "as called", "on device", "rate", "regime", "limiter", "of ceiling"},
    {"point", "time", "since last", "as called", "rate", "regime", "limiter", "of ceiling"},
    {"point", "time", "as called", "regime", "limiter", "of ceiling"},
    {"point", "time", "regime"}};

std::string bandwidth_text(const Measurement& measurement) {
  const auto value = bytes_per_second(measurement);
  return value ? format_bytes_per_second(*value) : "";
}

std::string flops_text(const Measurement& measurement) {
  const auto value = flops_per_second(measurement);
  return value ? format_flops_per_second(*value) : "";
}

/// The one rate to show where there is room for one: that of the regime.
std::string rate_text(const Point& point) {
  const bool compute = point.verdict && point.verdict->regime == Regime::compute;
  std::string first = compute ? flops_text(point.measurement) : bandwidth_text(point.measurement);
  if (!first.empty()) return first;
  return compute ? bandwidth_text(point.measurement) : flops_text(point.measurement);
}

std::string confidence_text(const Verdict& verdict) {
  if (verdict.regime == Regime::unknown) return "";
  const std::string percent = verdict.confidence >= 0.995 ? ">99 %" : format_percent(verdict.confidence);
  const std::string runner_up = verdict.certainty == Certainty::certain ? "" : runner_up_text(verdict);
  return fmt::format("{} {}{}", percent, name_of(verdict.certainty), runner_up.empty() ? "" : ", else " + runner_up);
}

/// By device and name.
using Changes = std::map<std::pair<std::string_view, std::string_view>, const compare::ComparedPoint*>;

Changes changes_of(const compare::Comparison* since) {
  Changes changes;
  if (since != nullptr)
    for (const compare::ComparedPoint& point : since->points) changes[{point.device, point.name}] = &point;
  return changes;
}

/// "+21 %" where that is sure, "noise" where it is not.
Cell change_cell(const Changes& changes, const Measurement& measurement) {
  const auto found = changes.find({measurement.device, measurement.name});
  if (found == changes.end()) return {};
  const compare::ComparedPoint& point = *found->second;
  switch (point.change) {
    case compare::Change::slower: return {fmt::format("{:+.1f} %", 100.0 * (point.ratio.value - 1.0)), color::red};
    case compare::Change::faster: return {fmt::format("{:+.1f} %", 100.0 * (point.ratio.value - 1.0)), color::green};
    case compare::Change::same: return {"same", color::dim};
    default: return {"noise", color::dim};
  }
}

/// "since the last run: 1 slower, 2 the same, 190 noise"; empty without one.
std::string since_text(const compare::Comparison* since) {
  if (since == nullptr) return {};
  std::vector<std::string> parts;
  for (const auto& [change, text] : {std::pair{compare::Change::slower, "slower"},
                                     {compare::Change::faster, "faster"},
                                     {compare::Change::same, "the same"},
                                     {compare::Change::inconclusive, "within noise"}})
    if (const auto number = std::ranges::count(since->points, change, &compare::ComparedPoint::change); number > 0)
      parts.push_back(fmt::format("{} {}", number, text));
  return parts.empty() ? "" : "since the last run: " + joined(parts, ", ");
}

/// What a column about part of the points is for.
bool is_empty(const Column& column) { return std::ranges::all_of(column.cells, &std::string::empty, &Cell::text); }

std::vector<Column> columns_of(const std::vector<const Point*>& timed, const Changes& changes) {
  std::vector<Column> columns = {
      {"point"},           {"time", true},      {"\u00b1", true},     {"since last", true}, {"as called", true},
      {"on device", true}, {"bandwidth", true}, {"FLOP rate", true},  {"rate", true},       {"clock", true},
      {"regime"},          {"limiter"},         {"of ceiling", true}, {"confidence"}};
  for (const Point* point : timed) {
    const Measurement& measurement = point->measurement;
    const Summary* const called = time_as_called(measurement);
    const Summary* on_device = seconds_by(measurement, TimingMode::device);
    const Verdict* verdict = point->verdict ? &*point->verdict : nullptr;
    const bool certain = verdict != nullptr && verdict->certainty == Certainty::certain;
    add_row(columns, {{printable(label(measurement))},
                      {format_seconds(measurement.seconds()->median, 4) + (share_under_load(measurement) ? " !" : "")},
                      {spread_text(measurement)},
                      change_cell(changes, measurement),
                      {called != nullptr ? format_seconds(called->median, 4) : ""},
                      {on_device != nullptr ? format_seconds(on_device->median, 4) : ""},
                      {bandwidth_text(measurement)},
                      {flops_text(measurement)},
                      {rate_text(*point)},
                      is_held(measurement) ? Cell{clock_text(measurement), color::yellow} : Cell{},
                      verdict != nullptr ? Cell{regime_text(*verdict), color::of(verdict->regime)} : Cell{},
                      {verdict != nullptr ? printable(label_of(verdict->limiter)) : ""},
                      {verdict != nullptr && verdict->achieved ? format_percent(*verdict->achieved) : ""},
                      {verdict != nullptr ? confidence_text(*verdict) : "", certain ? color::none : color::dim}});
  }
  return columns;
}

/// Columns in which all names still differ when they are shortened; no more than the narrowest layout leaves over.
std::size_t distinct_name_width(const std::vector<Cell>& names, const ConsoleStyle& style) {
  const auto differing = [&](std::size_t width) {
    std::set<std::string> shown;
    for (const Cell& name : names) shown.insert(shorten(name.text, width));
    return shown.size();
  };
  const std::size_t all = differing(std::string::npos);
  const std::size_t max = std::max(min_shown_name, usable_width(style) - 40);
  std::size_t width = min_shown_name;
  while (width < max && differing(width) < all) ++width;
  return width;
}

/// `name_width`: columns that the names of points without a time would like.
Table fitting_table(const std::vector<const Point*>& timed, const Changes& changes, std::size_t name_width,
                    const ConsoleStyle& style) {
  const bool has_device =
      std::ranges::any_of(timed, [](const Point* point) { return has_time_on_device(point->measurement); });
  std::vector<Column> all = columns_of(timed, changes);
  all.front().min_width = name_width;
  const std::size_t min_name_width = distinct_name_width(all.front().cells, style);
  std::erase_if(all, [&](const Column& column) {
    if (column.header == "on device") return !has_device;
    return column.header != "point" && is_empty(column);
  });
  const auto table_of = [&](std::size_t layout, std::size_t name) {
    std::vector<Column> columns;
    std::ranges::copy_if(all, std::back_inserter(columns),
                         [&](const Column& column) { return contains(layouts[layout], column.header); });
    return Table(std::move(columns), 0, name);
  };
  const std::size_t width = usable_width(style), whole_name = all.front().natural_width();
  const std::size_t with_whole_names = has_device ? 3 : 5;  // which are worth more than what later layouts leave out
  Table table = table_of(0, whole_name);
  for (std::size_t i = 1; i < with_whole_names && !table.fits(width); ++i) table = table_of(i, whole_name);
  if (!table.fits(width)) table = table_of(0, min_name_width);
  for (std::size_t i = 1; i < layouts.size() && !table.fits(width); ++i) table = table_of(i, min_name_width);
  table.fit(style);
  return table;
}

std::string calibration_text(const Run& run, const Device& device) {
  const Calibration* calibration = run.calibration_of(device.id);
  if (calibration == nullptr) return "not calibrated, so its points have no verdict";
  const std::string age = format_age(calibration->created_utc, run.context.created_utc);
  return fmt::format("{} calibration of {}{}", printable(calibration->mode), printable(calibration->created_utc),
                     age.empty() ? "" : fmt::format(", {} before this run", age));
}

std::string device_text(const Device& device) {
  std::string text = fmt::format("{}, {}", printable(device.name), printable(device.architecture));
  if (device.units > 0)  // other tools do not tell
    text += ", " + plural(device.units, device.kind == DeviceKind::gpu ? "multiprocessor" : "thread");
  if (device.memory_bytes > 0) text += ", " + format_bytes(static_cast<double>(device.memory_bytes));
  return text;
}

std::string heading_of_run(const Run& run, const ConsoleStyle& style) {
  std::string text = paragraph(
      "",
      fmt::format("gpubench {} on {}{}{}", printable(run.context.gpubench_version), printable(run.context.host),
                  run.context.created_utc.empty() ? "" : ", ", printable(run.context.created_utc)),
      color::bold, style);
  for (const Device& device : run.devices) {
    const std::string lead = printable(device.id) + ": ";
    text += paragraph(lead, device_text(device), color::none, style);
    text += paragraph(std::string(display_width(lead), ' '), calibration_text(run, device), color::dim, style);
  }
  if (has_cold_points(run)) text += paragraph("", "cold caches", color::none, style);
  return text;
}

std::string boundaries_text(const Group& group, const ConsoleStyle& style) {
  std::string text;
  for (const Boundary* boundary : group.boundaries) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} -> {} at ", printable(label_of(boundary->from)), printable(label_of(boundary->to)));
    if (!boundary->argument.empty() && boundary->argument != "size")
      text += printable(boundary->argument) + (boundary->placement == Placement::at ? " = " : " ");
    text += boundary_at_text(*boundary);
    if (boundary->ci95)
      text += fmt::format(" ({} to {})", format_count(boundary->ci95->low), format_count(boundary->ci95->high));
  }
  return text.empty() ? "" : paragraph("  boundaries: ", text, color::none, style);
}

/// What would gain most in each regime of an operation, where that is worth a line.
std::string advice_lines(const Group& group, const ConsoleStyle& style) {
  constexpr double worth_a_line = 1.2;
  std::string text;
  for (const AdviceLine& line : advice_of(group)) {
    if (line.advice->gain.value_or(0.0) < worth_a_line) continue;
    const std::string interval = gain_interval(*line.advice);
    text +=
        paragraph("  advice: ",
                  fmt::format("where {}, {}{}, up to {}x faster{} at {}", name_of(line.regime),
                              line.advice->kernel.empty() ? "" : "in " + printable(line.advice->kernel) + ", ",
                              printable(line.advice->action), format_number(*line.advice->gain, 2),
                              interval.empty() ? "" : " (" + interval + ")", printable(label(line.at->measurement))),
                  color::dim, style);
  }
  return text;
}

/// Of points whose kernel was traced what its warps spend their time on.
std::string phase_lines(const Group& group, const ConsoleStyle& style) {
  constexpr std::size_t max = 6;
  std::string text;
  for (const Point* point : group.points) {
    const std::vector<Phase>& phases = point->measurement.phases;
    if (phases.empty()) continue;
    std::string line;
    for (std::size_t i = 0; i < std::min(phases.size(), max); ++i)
      line += fmt::format(
          "{}{} {}{}", i > 0 ? ", " : "", printable(phases[i].name), format_percent(phases[i].share),
          phases[i].uneven >= 1.2 ? fmt::format(" (busiest SM {}x the mean)", format_number(phases[i].uneven, 2)) : "");
    if (phases.size() > max) line += fmt::format(" and {} more", phases.size() - max);
    text +=
        paragraph("  inside: ",
                  fmt::format("{}{}: its warps spend {}", printable(label(point->measurement)),
                              point->verdict ? " (" + printable(regime_and_limiter(*point->verdict)) + ")" : "", line),
                  color::none, style);
  }
  return text;
}

/// Both figures of points whose samples do not keep one level.
std::string course_lines(const Group& group, const ConsoleStyle& style) {
  std::vector<std::string> lines;
  for (const Point* point : group.points)
    if (const std::string text = course_text(steadiness(point->measurement)); !text.empty())
      lines.push_back(fmt::format("{}: {}", label(point->measurement), text));
  return paragraphs("  in time: ", lines, color::yellow, style, 8);
}

std::string doubt_lines(const Group& group, const ConsoleStyle& style) {
  std::vector<std::string> lines;
  for (const Doubt& doubt : doubts_of(group))
    lines.push_back(fmt::format(
        "{} says {} at {}{}: {}", name_of(doubt.check->experiment), doubt.check->says, label(doubt.first->measurement),
        doubt.points > 1 ? fmt::format(" and {} more", doubt.points - 1) : "", doubt.check->evidence));
  return paragraphs("  doubt: ", lines, color::yellow, style);
}

/// Why a point of the operation has no verdict.
std::string unknown_line(const Group& group, const ConsoleStyle& style) {
  const auto is_unknown = [](const Point* point) {
    return point->verdict && point->verdict->regime == Regime::unknown;
  };
  const auto first = std::ranges::find_if(group.points, is_unknown);
  if (first == group.points.end()) return "";
  const auto others = std::ranges::count_if(group.points, is_unknown) - 1;
  return paragraph(
      "  unknown: ",
      fmt::format("{}{} {}", printable(label((*first)->measurement)),
                  others > 0 ? fmt::format(" (and {} more)", others) : "", printable((*first)->verdict->evidence)),
      color::dim, style);
}

std::string untimed_row(const Point& point, std::size_t name_width, const ConsoleStyle& style) {
  const Status status = status_of(point.measurement);
  const std::string name = printable(label(point.measurement));
  const std::size_t room = std::max(name_width, usable_width(style) / 2);
  const std::string lead = pad_right(style.whole_names ? name : shorten(name, room), name_width) + "  ";
  return paragraph(lead, fmt::format("{}: {}", name_of(status), printable(reason_of(point.measurement))),
                   status == Status::failed ? color::red : color::dim, style);
}

std::size_t widest_untimed_name(const std::vector<Group>& groups) {
  std::size_t width = 0;
  for (const Group& group : groups)
    for (const Point* point : group.points)
      if (status_of(point->measurement) != Status::timed)
        width = std::max(width, display_width(printable(label(point->measurement))));
  return width;
}

/// The kernels of a point, under its row.
std::string kernel_lines(const Point& point, const ConsoleStyle& style) {
  constexpr std::size_t max = 16;
  const auto rows = kernel_rows(point);
  std::vector<Column> columns = {{"", true}, {"", true}, {"", true}, {""}, {""}, {""}};
  for (std::size_t i = 0; i < std::min(rows.size(), max); ++i) {
    const KernelRow& row = rows[i];
    add_row(columns, {{"    " + row.share},
                      {row.time},
                      {fmt::format("{} x", row.launches)},
                      row.color ? Cell{row.regime, color::of(*row.color)} : Cell{},
                      {printable(row.limiter)},
                      {printable(row.name)}});
  }
  Table table(std::move(columns), 5, min_shown_name);
  table.fit(style);
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), max); ++i) text += table.row(i, style);
  if (rows.size() > max) text += paragraph("    ", fmt::format("and {} more", rows.size() - max), color::dim, style);
  const std::string& reason = point.measurement.kernel_counters_reason;
  if (!rows.empty() && !reason.empty())
    text += paragraph("    ", "no counters of single kernels: " + printable(reason), color::dim, style);
  return text;
}

std::string table_text(const Run& run, const ConsoleStyle& style, bool kernels, const Changes& changes) {
  const auto groups = groups_of(run);
  std::vector<const Point*> timed;
  std::set<std::string> devices;
  for (const Group& group : groups) {
    devices.insert(group.device);
    for (const Point* point : group.points)
      if (status_of(point->measurement) == Status::timed) timed.push_back(point);
  }
  const Table table = fitting_table(timed, changes, widest_untimed_name(groups), style);
  const std::size_t name_width =
      timed.empty() ? std::min(widest_untimed_name(groups), usable_width(style) / 2) : table.width_of(0);

  std::string text;
  if (!timed.empty()) text.append("\n").append(table.header(style));
  std::size_t row = 0;
  for (const Group& group : groups) {
    text += "\n";
    if (devices.size() > 1)
      text += paragraph("", fmt::format("{} on {}", printable(group.operation), printable(group.device)), color::bold,
                        style);
    for (const Point* point : group.points) {
      if (status_of(point->measurement) == Status::timed) {
        text += table.row(row++, style);
        if (kernels) text += kernel_lines(*point, style);
      } else {
        text += untimed_row(*point, name_width, style);
      }
    }
    text += course_lines(group, style) + boundaries_text(group, style) + advice_lines(group, style) +
            phase_lines(group, style) + doubt_lines(group, style) + unknown_line(group, style);
  }
  return text;
}

std::string legend(const Run& run, const ConsoleStyle& style) {
  const auto any = [&](Certainty certainty) {
    return std::ranges::any_of(run.points, [&](const Point& point) {
      return point.verdict && point.verdict->regime != Regime::unknown && point.verdict->certainty == certainty;
    });
  };
  std::vector<std::string_view> signs;
  if (any(Certainty::likely)) signs.emplace_back("~ likely (80 to 95 %)");
  if (any(Certainty::boundary)) signs.emplace_back("? near a boundary (below 80 %)");
  if (std::ranges::any_of(run.points,
                          [](const Point& point) { return share_under_load(point.measurement).has_value(); }))
    signs.emplace_back("! measured under load");
  return signs.empty() ? "" : paragraph("", joined(signs, ", "), color::dim, style);
}

/// What to fix first: the last thing on the screen, so the first that is read.
std::string findings_text(const Run& run, const ConsoleStyle& style) {
  const auto lines = finding_lines(run);
  if (lines.empty()) return paragraph("", no_findings_text(run), color::bold, style);
  std::string text = paragraph("", "what to fix first", color::bold, style);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const FindingLine& line = lines[i];
    const std::string lead = fmt::format("{}. ", i + 1);
    const std::string separator = line.head.empty() || line.action.empty() ? "" : ": ";
    text += paragraph(lead, printable(line.head + separator + line.action), line.is_failure ? color::red : color::none,
                      style);
    if (!line.why.empty()) text += paragraph(std::string(lead.size(), ' '), printable(line.why), color::dim, style);
  }
  return text;
}

std::string own_figures_lines(const Run& run, const ConsoleStyle& style) {
  std::vector<std::string> lines;
  for (const Point& point : run.points)
    if (const std::string figures = own_figures(point.measurement); !figures.empty())
      lines.push_back(fmt::format("{}: {}", label(point.measurement), figures));
  return lines.empty() ? "" : paragraphs("", lines, color::none, style) + "\n";
}

std::string summary_line(const std::string& text, const ConsoleStyle& style) {
  return text.empty() ? "" : paragraph("", printable(text), color::none, style);
}

std::string summary(const Run& run, const ConsoleStyle& style) {
  const Counts counts = count(run);
  std::string text = plural(counts.points, run.program ? "kernel group" : "point");
  if (run.unfinished) text += fmt::format(" of {} (unfinished run)", run.unfinished->planned);
  std::string_view separator = ": ";
  const auto add = [&](std::size_t number, std::string_view what) {
    if (number > 0) text += fmt::format("{}{} {}", std::exchange(separator, ", "), number, what);
  };
  for (const auto& [regime, number] : counts.by_regime) add(number, name_of(regime));
  add(counts.without_verdict, "without verdict");
  add(counts.failed, "failed");
  add(counts.skipped, "skipped");
  return paragraph("", text, counts.failed > 0 ? color::red : color::bold, style);
}

}  // namespace

std::string console(const Run& run, const ConsoleStyle& style, bool kernels, const compare::Comparison* since) {
  return heading_of_run(run, style) +
         (run.program ? program_text(run, style) : table_text(run, style, kernels, changes_of(since))) + "\n" +
         own_figures_lines(run, style) + legend(run, style) + summary(run, style) +
         summary_line(since_text(since), style) + paragraphs("warning: ", folded_warnings(run), color::yellow, style) +
         paragraphs("notice: ", point_notices(run), color::yellow, style) + summary_line(counters_summary(run), style) +
         "\n" + findings_text(run, style);
}

}  // namespace gpubench::reports
