// SPDX-License-Identifier: Apache-2.0
#include "reports/console/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "reports/program.h"
#include "reports/regimes.h"
#include "reports/shared_text.h"

namespace gpubench::reports {
namespace {

/// Of at most 48 columns, also where lines may be longer: what tells it apart stays whole for as long as it can.
std::string shown_name(const ProgramRow& row) {
  constexpr std::size_t max_columns = 48, min_name = 16;
  if (row.differs.empty()) return shorten(printable(row.name), max_columns);
  const std::string differs = " " + shorten(printable(row.differs), max_columns - min_name - 1);
  return shorten(printable(row.name), max_columns - display_width(differs)) + differs;
}

std::string kernel_table(const Run& run, const ConsoleStyle& style) {
  const auto rows = program_rows(run);
  if (rows.empty()) return paragraph("", "no kernel was recorded", color::yellow, style);
  std::vector<Column> columns = {{"kernel"},     {"launches", true},   {"total", true}, {"share", true},
                                 {"mean", true}, {"of ceiling", true}, {"regime"},      {"limiter"}};
  double rest = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ProgramKernel& kernel = *rows[i].kernel;
    if (i >= max_console_kernels) {
      rest += kernel.share;
      continue;
    }
    const auto mean = mean_seconds(kernel);
    const Verdict* const verdict =
        rows[i].point != nullptr && rows[i].point->verdict ? &*rows[i].point->verdict : nullptr;
    add_row(columns, {{shown_name(rows[i])},
                      {format_count(static_cast<double>(kernel.launches))},
                      {format_seconds(kernel.total_seconds)},
                      {format_percent(kernel.share)},
                      {mean ? format_seconds(*mean) : ""},
                      {verdict != nullptr && verdict->achieved ? format_percent(*verdict->achieved) : ""},
                      verdict != nullptr ? Cell{regime_text(*verdict), color::of(verdict->regime)} : Cell{},
                      {verdict != nullptr ? printable(label_of(verdict->limiter)) : ""}});
  }
  std::string text = table_text(columns, min_shown_name, style, {{"mean"}, {"limiter"}, {"launches"}, {"of ceiling"}});
  if (rows.size() > max_console_kernels)
    text += paragraph(
        "",
        fmt::format("and {} more, {} of the kernels' time", rows.size() - max_console_kernels, format_percent(rest)),
        color::dim, style);
  return text;
}

/// The first few as lines, the others counted.
template <class Items, class LineOf>
std::string lines(const Items& items, const LineOf& line_of, const ConsoleStyle& style) {
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), max_console_lines); ++i) text += line_of(items[i]);
  if (items.size() > max_console_lines)
    text += paragraph("  ", fmt::format("and {} more", items.size() - max_console_lines), color::dim, style);
  return text;
}

}  // namespace

std::string paragraphs(std::string_view lead, const std::vector<std::string>& texts, std::string_view color,
                       const ConsoleStyle& style, std::size_t max) {
  std::string text;
  for (std::size_t i = 0; i < std::min(texts.size(), max); ++i)
    text += paragraph(lead, printable(texts[i]), color, style);
  return texts.size() > max ? text + paragraph(lead, fmt::format("and {} more", texts.size() - max), color, style)
                            : text;
}

std::string program_text(const Run& run, const ConsoleStyle& style) {
  const Program& program = *run.program;
  std::string text = "\n";
  if (!program.command.empty()) text += paragraph("", printable(joined(program.command, " ")), color::bold, style);
  text += paragraph("", printable(ran_text(program)), color::none, style);
  text += lines(
      phase_lines(program),
      [&](const PhaseLine& line) { return paragraph("", printable(line.lead + ": " + line.text), color::none, style); },
      style);
  if (const std::string of = steady_text(program); !of.empty())
    text += paragraph("", printable(of), color::none, style);
  const auto gpu_lines = [&](const GpuTime& gpu) {
    const std::string lead = printable(name_of(gpu)) + ": ";
    return paragraph(lead, busy_text(gpu), color::none, style) +
           paragraph(std::string(display_width(lead), ' '), idle_text(gpu), color::none, style);
  };
  const auto step_lines = [&](const StepTime& step) {
    std::string all =
        paragraph("", printable("a step of " + name_of(step) + ": " + step_text(step)), color::none, style);
    for (const std::string& note : step_notes(step)) all += paragraph("  ", printable(note), color::none, style);
    return all;
  };
  text +=
      lines(program.gpus, gpu_lines, style) + lines(program.steps, step_lines, style) + "\n" + kernel_table(run, style);
  if (!program.counters_reason.empty())
    text += paragraph(
        "", (program.counted_launches > 0 ? "counters: " : "no counters: ") + printable(program.counters_reason),
        color::dim, style);
  const auto memory = shown_memory(program);
  if (!memory.empty()) text += "\n";
  return text +
         lines(
             memory,
             [&](const ProgramMemory& memory) {
               return paragraph(printable(name_of(memory)) + " memory: ", memory_text(memory), color::none, style);
             },
             style);
}

}  // namespace gpubench::reports
