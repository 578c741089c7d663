// SPDX-License-Identifier: Apache-2.0
#include "reports/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "reports/console/plots.h"
#include "reports/console/program.h"
#include "reports/program.h"
#include "reports/result_table.h"
#include "reports/shared_text.h"
#include "timeline/analyses/analyses.h"
#include "timeline/analysis.h"

namespace gpubench::reports {
namespace {

using timeline::Timeline;

constexpr std::size_t shown_findings = 3;

std::string time(std::int64_t ns) { return format_seconds(seconds_of(ns)); }
std::string share(double part, double whole) { return whole > 0.0 ? format_percent(part / whole) : ""; }
std::string share(std::int64_t part, std::int64_t whole) {
  return share(static_cast<double>(part), static_cast<double>(whole));
}
std::string count(std::int64_t number) { return format_count(static_cast<double>(number)); }

std::string name_in_trace(const Timeline& timeline, std::uint32_t name) {
  const std::string& text = timeline.names.text(name);
  return printable(text.empty() ? "(none)" : short_kernel_name(text));
}

std::string heading(std::string_view text, const ConsoleStyle& style) {
  return "\n" + paragraph("", text, color::bold, style);
}

std::string rest(std::size_t all, std::size_t shown, std::int64_t left, std::int64_t whole, const ConsoleStyle& style) {
  if (all <= shown) return {};
  return paragraph("", fmt::format("and {} more, {} of the time", all - shown, share(left, whole)), color::dim, style);
}

std::string findings_text(const Program& program, const ConsoleStyle& style) {
  if (program.findings.empty()) return paragraph("", "Nothing stands out.", color::bold, style);
  std::string text = paragraph("", "What to do first", color::bold, style);
  for (std::size_t i = 0; i < std::min(program.findings.size(), shown_findings); ++i)
    text += paragraph(fmt::format("{}. ", i + 1), printable(program.findings[i].text), color::none, style);
  if (program.findings.size() > shown_findings)
    text += paragraph("", fmt::format("and {} more in --json", program.findings.size() - shown_findings), color::dim,
                      style);
  return text;
}

std::string gpu_table(const Timeline& timeline, const timeline::Summary& summary, const ConsoleStyle& style) {
  std::vector<Column> columns = {{"GPU"},         {"time", true},   {"compute", true}, {"communication", true},
                                 {"alone", true}, {"copies", true}, {"idle", true}};
  for (const timeline::Breakdown& gpu : summary.gpus) {
    const std::int64_t span = gpu.span_ns();
    add_row(columns, {{printable(timeline::gpu_name(timeline, gpu.process, gpu.device))},
                      {time(span)},
                      {share(gpu.compute_ns(), span)},
                      {share(gpu.communication_ns(), span)},
                      {share(gpu.exposed_communication_ns(), span)},
                      {share(gpu.memory_ns(), span)},
                      {share(gpu.idle_ns(), span), gpu.idle_ns() * 2 > span ? color::yellow : color::none}});
  }
  std::vector<std::string> models;
  for (const timeline::Breakdown& gpu : summary.gpus)
    if (std::string model = timeline::gpu_model(timeline, gpu.process, gpu.device);
        !model.empty() && std::ranges::find(models, model) == models.end())
      models.push_back(std::move(model));
  return heading("Time of the GPUs, from first to last work", style) +
         table_text(columns, min_shown_name, style, {{"copies"}, {"alone"}}) +
         (models.empty()
              ? ""
              : paragraph("GPU: ", printable(fmt::format("{}", fmt::join(models, ", "))), color::none, style));
}

std::string iteration_lines(const Timeline& timeline, const timeline::Summary& summary, const ConsoleStyle& style) {
  if (summary.iterations.empty()) return {};
  const auto labels = timeline::process_labels(timeline);
  std::string text;
  for (std::size_t i = 0; i < std::min(summary.iterations.size(), max_console_lines); ++i) {
    const timeline::Iterations& one = summary.iterations[i];
    const auto& took = one.duration_ns;
    text += paragraph("",
                      printable(fmt::format("{}{}{} iterations ({}): median {}, from {} to {}", labels[one.process],
                                            labels[one.process].empty() ? "" : ": ", one.all.size(), one.by,
                                            format_seconds(took.p50 / 1e9), format_seconds(took.min / 1e9),
                                            format_seconds(took.max / 1e9))),
                      color::none, style);
  }
  return heading("Iterations", style) + text;
}

std::string rank_table(const Timeline& timeline, const timeline::Stragglers& all, const ConsoleStyle& style) {
  if (all.collectives.empty()) return {};
  const auto labels = timeline::process_labels(timeline);
  std::vector<Column> columns = {{"rank"}, {"entered last", true}, {"waited", true}, {"kept others waiting", true}};
  bool clocks = false;
  for (const timeline::RankWait& rank : all.ranks) {
    clocks = clocks || rank.clock_ns != 0;
    add_row(columns, {{printable(labels[rank.process])},
                      {fmt::format("{} of {}", rank.last, all.collectives.size())},
                      {time(rank.waited_ns)},
                      {time(rank.kept_waiting_ns)}});
  }
  std::string text = heading("Collectives: who waits for whom", style) + table_text(columns, min_shown_name, style);
  if (clocks)
    text += paragraph("", "The ranks' clocks differ; they are set by the ends of the collectives.", color::dim, style);
  if (all.unmatched > 0)
    text += paragraph(
        "", fmt::format("{} found no partner in every rank and are left out.", plural(all.unmatched, "collective")),
        color::dim, style);
  return text;
}

std::string copy_table(const timeline::Summary& summary, const Timeline& timeline, const ConsoleStyle& style) {
  if (summary.copies.empty()) return {};
  std::vector<Column> columns = {{"copies and fills"}, {"count", true},  {"time", true},
                                 {"bytes", true},      {"median", true}, {"max", true}};
  for (std::size_t i = 0; i < std::min(summary.copies.size(), max_console_lines); ++i) {
    const timeline::CopyTimes& copy = summary.copies[i];
    const bool one = summary.gpus.size() < 2;
    const auto rate = [&](double value) {
      return Cell{copy.bytes_per_second.count > 0 ? format_bytes_per_second(value) : ""};
    };
    add_row(
        columns,
        {{printable(one ? copy.name
                        : fmt::format("{}, {}", copy.name, timeline::gpu_name(timeline, copy.process, copy.device)))},
         {count(copy.count)},
         {time(copy.time_ns)},
         {copy.count > copy.without_bytes ? format_bytes(static_cast<double>(copy.bytes)) : ""},
         rate(copy.bytes_per_second.p50),
         rate(copy.bytes_per_second.max)});
  }
  return "\n" + table_text(columns, min_shown_name, style, {{"median"}});
}

/// "[8,64]x3[64,1]" of "[8,64][8,64][8,64][64,1]": three or more alike are one.
std::string joined_shapes(std::string_view shapes) {
  std::string text;
  while (!shapes.empty()) {
    const std::string_view one = shapes.substr(0, shapes.find(']') + 1);
    std::size_t count = 1;
    while (!one.empty() && shapes.substr(count * one.size()).starts_with(one)) ++count;
    if (one.empty() || count < 3) count = 1;
    text += one.empty() ? shapes : one;
    if (count > 1) text += fmt::format("x{}", count);
    shapes.remove_prefix(one.empty() ? shapes.size() : count * one.size());
  }
  return text;
}

}  // namespace

std::string work_verdicts_text(const WorkVerdicts& verdicts, const ConsoleStyle& style) {
  std::vector<Column> columns = {{verdicts.of_kernels ? "kernel and its launch" : "operator and shapes"},
                                 {"calls", true},
                                 {"total", true},
                                 {"median", true},
                                 {"of max", true},
                                 {"regime"},
                                 {"limiter"}};
  for (std::size_t i = 0; i < std::min(verdicts.run.points.size(), shown_rows); ++i) {
    const Point& point = verdicts.run.points[i];
    const Verdict* const verdict = point.verdict ? &*point.verdict : nullptr;
    const auto& seconds = point.measurement.seconds();
    add_row(columns, {{printable(verdicts.of_kernels
                                     ? point.measurement.name
                                     : fmt::format("{} {} {}", point.measurement.operation,
                                                   joined_shapes(point.measurement.arguments.at(0).text.value_or("")),
                                                   point.measurement.arguments.at(1).text.value_or("")))},
                      {count(verdicts.calls.at(i))},
                      {format_seconds(verdicts.total_seconds.at(i))},
                      {seconds ? format_seconds(seconds->median) : ""},
                      {verdict != nullptr && verdict->achieved ? format_percent(*verdict->achieved) : ""},
                      verdict != nullptr ? Cell{regime_text(*verdict), color::of(verdict->regime)} : Cell{},
                      {verdict != nullptr ? printable(label_of(verdict->limiter)) : ""}});
  }
  std::string text = heading(
      verdicts.of_kernels ? "What limits the kernels, by their counters" : "What limits the operators, by their shapes",
      style);
  if (!verdicts.run.points.empty()) text += table_text(columns, 28, style, {{"median"}, {"calls"}, {"limiter"}});
  if (verdicts.run.points.size() > shown_rows)
    text +=
        paragraph("", fmt::format("and {} more in --json", verdicts.run.points.size() - shown_rows), color::dim, style);
  return text + paragraph("", verdicts.rest, color::none, style);
}

std::string trace_memory_text(const Program& program, const ConsoleStyle& style) {
  if (program.memory.empty())
    return paragraph("", "The trace tells nothing of a GPU's memory. PyTorch's profiler does with profile_memory=True.",
                     color::none, style);
  std::string text;
  for (const ProgramMemory& memory : program.memory)
    text += paragraph(printable(name_of(memory)) + " memory: ", memory_text(memory), color::none, style);
  for (std::size_t i = 0; i < std::min(program.never_freed.size(), max_console_lines); ++i)
    text += paragraph("never freed: ", printable(never_freed_text(program.never_freed[i])), color::none, style);
  return text;
}

std::string trace_summary_text(const Timeline& timeline, const timeline::Summary& summary, const ConsoleStyle& style) {
  if (summary.gpus.empty() && summary.program.findings.empty() && !timeline.slices.empty())
    return paragraph("",
                     fmt::format("{} of the host alone, with these functions and operators:",
                                 time(summary.activity.total_ns)),
                     color::bold, style) +
           console_text(timeline::table_of(timeline, "operators"), shown_rows, style);
  std::string text = findings_text(summary.program, style);
  if (!summary.gpus.empty()) text += gpu_table(timeline, summary, style);
  for (std::size_t i = 0; i < std::min(summary.program.gpus.size(), max_console_lines); ++i) {
    const GpuTime& gpu = summary.program.gpus[i];
    text += paragraph(printable(name_of(gpu)) + ": ", idle_text(gpu) + " (of all time recorded)", color::none, style);
  }
  if (!summary.kernels.empty())
    text += "\n" + console_text(timeline::kernel_table(timeline, summary.kernels, timeline::KernelsBy::name, {}),
                                max_console_kernels, style);
  text += copy_table(summary, timeline, style) + iteration_lines(timeline, summary, style) +
          rank_table(timeline, summary.stragglers, style);
  if (!summary.program.memory.empty()) text += heading("Memory", style) + trace_memory_text(summary.program, style);
  return text;
}

std::string trace_idle_text(const Timeline& timeline, const timeline::Summary& summary, const ConsoleStyle& style) {
  std::string text;
  for (const GpuTime& gpu : summary.program.gpus) {
    std::vector<Column> columns = {
        {"why " + printable(name_of(gpu)) + " was idle"}, {"time", true}, {"of all", true}, {"gaps", true}};
    for (const Idle& idle : gpu.idle)
      add_row(columns, {{std::string(text_of(idle.cause))},
                        {format_seconds(idle.seconds)},
                        {share(idle.seconds, gpu.wall_seconds)},
                        {count(idle.gaps)}});
    text += (text.empty() ? "" : "\n") + table_text(columns, min_shown_name, style);
  }
  std::vector<Column> columns = {
      {"stream, by HTA's causes"}, {"host wait", true}, {"kernel wait", true}, {"other", true}};
  for (const timeline::StreamIdle& idle : summary.idle) {
    const timeline::Track& track = timeline.tracks[idle.track];
    add_row(columns, {{printable(fmt::format("{} {}", timeline::gpu_name(timeline, track.process, track.device),
                                             track.name.empty() ? fmt::format("stream {}", track.id) : track.name))},
                      {time(idle.host_ns)},
                      {time(idle.kernel_ns)},
                      {time(idle.other_ns)}});
  }
  text += "\n" + table_text(columns, min_shown_name, style);
  for (const timeline::LaunchTimes& launch : summary.launches) {
    if (launch.call_ns.count == 0) continue;
    const std::string lead = printable(timeline::gpu_name(timeline, launch.process, launch.device)) + " launches: ";
    text += (&launch == summary.launches.data() ? "\n" : "") +
            paragraph(lead,
                      fmt::format("{}; a call takes {} (median), its work starts {} after it and lasts {}; {} of the "
                                  "work is shorter than its call, {} started more than {} late",
                                  count(launch.call_ns.count), format_seconds(launch.call_ns.p50 / 1e9),
                                  format_seconds(launch.delay_ns.p50 / 1e9), format_seconds(launch.work_ns.p50 / 1e9),
                                  share(launch.shorter_work, launch.call_ns.count), count(launch.late_starts),
                                  time(timeline::late_start_ns)),
                      color::none, style);
  }
  if (!summary.launch_bound.empty()) {
    std::vector<Column> bound = {{"bound by launches"}, {"from", true}, {"for", true}, {"works", true}, {"idle", true}};
    for (std::size_t i = 0; i < std::min(summary.launch_bound.size(), max_console_lines); ++i) {
      const timeline::LaunchBound& one = summary.launch_bound[i];
      add_row(bound, {{printable(timeline::gpu_name(timeline, one.process, one.device))},
                      {time(one.start_ns)},
                      {time(one.end_ns - one.start_ns)},
                      {count(one.works)},
                      {share(one.idle_ns, one.end_ns - one.start_ns)}});
    }
    text += "\n" + table_text(bound, min_shown_name, style);
    if (summary.launch_bound.size() > max_console_lines)
      text +=
          paragraph("", fmt::format("and {} more", summary.launch_bound.size() - max_console_lines), color::dim, style);
  }
  return text;
}

std::string critical_path_text(const Timeline& timeline, const timeline::CriticalPath& path,
                               const ConsoleStyle& style) {
  const std::int64_t whole = path.end_ns - path.start_ns;
  if (path.parts.empty()) return paragraph("", "The trace holds no work and no call.", color::none, style);
  std::string text = paragraph(
      "",
      fmt::format("{} from the first call to the end, in {}. What is not on this path could take longer for free.",
                  time(whole), plural(static_cast<long long>(path.parts.size()), "part")),
      color::none, style);
  std::vector<Column> kinds = {{"on the critical path"}, {"time", true}, {"share", true}};
  std::vector<std::size_t> order(path.by_kind.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return path.by_kind[i]; });
  constexpr std::array<std::string_view, timeline::path_kind_names.size()> words = {"kernels",
                                                                                    "communication",
                                                                                    "copies and fills",
                                                                                    "launches",
                                                                                    "between queued work",
                                                                                    "waiting for another stream",
                                                                                    "from work to the waiting host",
                                                                                    "other work of the host",
                                                                                    "not known"};
  for (const std::size_t i : order)
    if (path.by_kind[i] > 0)
      add_row(kinds, {{std::string(words[i])}, {time(path.by_kind[i])}, {share(path.by_kind[i], whole)}});
  text += "\n" + table_text(kinds, min_shown_name, style);
  std::vector<Column> columns = {{"what"}, {"kind"}, {"times", true}, {"time", true}, {"share", true}};
  std::int64_t left = 0;
  for (std::size_t i = 0; i < path.sums.size(); ++i) {
    const timeline::PathSum& sum = path.sums[i];
    if (i >= shown_rows) {
      left += sum.total_ns;
      continue;
    }
    add_row(columns, {{sum.name == 0 ? "(nothing recorded)" : name_in_trace(timeline, sum.name)},
                      {std::string(timeline::name_of(sum.kind))},
                      {count(sum.count)},
                      {time(sum.total_ns)},
                      {share(sum.total_ns, whole)}});
  }
  return text + "\n" + table_text(columns, min_shown_name, style, {{"times"}}) +
         rest(path.sums.size(), shown_rows, left, whole, style);
}

namespace {

std::string signed_time(double seconds) { return (seconds < 0 ? "-" : "+") + format_seconds(std::abs(seconds)); }

std::string trace_change_text(const timeline::Change& change) {
  if (change.base.seconds <= 0.0) return change.next.seconds > 0.0 ? "new" : "";
  if (change.next.seconds <= 0.0) return "gone";
  const double ratio = change.next.seconds / change.base.seconds - 1.0;
  return fmt::format("{}{}", ratio < 0 ? "-" : "+", format_percent(std::abs(ratio)));
}

DifferenceTables::Table change_table(std::string_view header, const std::vector<timeline::Change>& changes,
                                     std::size_t shown) {
  DifferenceTables::Table table{std::string(header), {}, changes.size() - std::min(changes.size(), shown)};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(changes.size(), shown); ++i) names.push_back(changes[i].name);
  names = distinct_kernel_names(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const timeline::Change& change = changes[i];
    table.rows.push_back({.name = printable(names[i]),
                          .base = format_seconds(change.base.seconds),
                          .next = format_seconds(change.next.seconds),
                          .difference = signed_time(change.difference()),
                          .interval = change.difference_ci95
                                          ? fmt::format("{} to {}", signed_time(change.difference_ci95->low),
                                                        signed_time(change.difference_ci95->high))
                                          : "",
                          .change = trace_change_text(change),
                          .sure = change.sure() ? "yes"
                                  : change.p    ? "no"
                                                : "",
                          .sign = !change.sure()              ? 0
                                  : change.difference() > 0.0 ? 1
                                                              : -1});
  }
  return table;
}

}  // namespace

DifferenceTables difference_tables(const timeline::Difference& difference, std::size_t shown) {
  DifferenceTables all;
  std::string reason = difference.reason;
  if (!reason.empty() && difference.by.empty())
    reason[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(reason[0])));
  if (!difference.by.empty())
    all.notes.push_back(fmt::format("Times of one iteration ({}): the mean of {} and of {}.", printable(difference.by),
                                    difference.base_iterations, difference.next_iterations));
  if (!reason.empty())
    all.notes.push_back(difference.by.empty() ? reason + ", so that there are no intervals."
                                              : fmt::format("There are no intervals: {}.", reason));
  const auto add = [&](std::string_view header, const std::vector<timeline::Change>& changes, std::size_t most) {
    if (!changes.empty()) all.tables.push_back(change_table(header, changes, most));
  };
  std::vector<timeline::Change> whole = {difference.iteration};
  if (difference.gpu.base.seconds > 0.0 || difference.gpu.next.seconds > 0.0) whole.push_back(difference.gpu);
  add(difference.by.empty() ? "trace" : "iteration", whole, whole.size());
  add("kernel, copy or fill", difference.kernels, shown);
  add("operator, time of its work on the GPU", difference.operators, shown);
  add("operator, time of the host in it alone", difference.host, shown);
  if (difference.reason.empty())
    all.footnote =
        "sure: unlikely (5 %) without a change, by Welch's t over iterations, Holm's correction over the table";
  return all;
}

std::string difference_text(const timeline::Difference& difference, const ConsoleStyle& style) {
  const DifferenceTables all = difference_tables(difference, max_console_kernels);
  std::string text;
  for (const std::string& note : all.notes)
    text += paragraph("", note, difference.reason.empty() ? color::none : color::yellow, style);
  for (const DifferenceTables::Table& table : all.tables) {
    std::vector<Column> columns = {{table.header},          {"base", true},   {"new", true}, {"difference", true},
                                   {"95 % interval", true}, {"change", true}, {"sure"}};
    for (const DifferenceTables::Row& row : table.rows) {
      const std::string_view colour = row.sign == 0 ? color::none : row.sign > 0 ? color::red : color::green;
      add_row(columns, {{row.name},
                        {row.base},
                        {row.next},
                        {row.difference, colour},
                        {row.interval},
                        {row.change, colour},
                        {row.sure}});
    }
    text += "\n" + table_text(columns, min_shown_name, style, {{"95 % interval"}, {"base"}});
    if (table.left_out > 0)
      text += paragraph("", fmt::format("and {} more with smaller differences", table.left_out), color::dim, style);
  }
  if (!all.footnote.empty()) text += paragraph("", all.footnote, color::dim, style);
  return text;
}

}  // namespace gpubench::reports
