// SPDX-License-Identifier: Apache-2.0
#include "reports/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "classifier/model/model.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "reports/result_table.h"

namespace gpubench::reports {
namespace {

constexpr double min_shown_share = 0.001;
constexpr std::size_t max_step_kernel = 40;  // columns of a kernel's name
constexpr double min_told_recording = 0.02;  // of the wall time
constexpr std::int64_t min_shown_bytes = std::int64_t{1} << 20U;

std::string of_wall(double seconds, const GpuTime& gpu) {
  const double wall = undisturbed_seconds(gpu);
  return wall > 0.0 ? format_percent(seconds / wall) : format_seconds(seconds);
}

std::string part_of(std::string_view what, double seconds, double overlap, const GpuTime& gpu) {
  const std::string text = fmt::format("{} {}", what, of_wall(seconds, gpu));
  return overlap < min_shown_share * seconds
             ? text
             : fmt::format("{} ({} of it during kernels)", text, format_percent(overlap / seconds));
}

/// Without the outer ranges that all of them have: in the middle of a long path is what tells them apart.
void leave_out_common_ranges(std::vector<std::map<std::string, std::string>>& values, const std::string& name) {
  std::string_view common = values.front()[name];
  for (auto& mine : values) {
    const std::string& path = mine[name];
    common = common.substr(0, static_cast<std::size_t>(std::ranges::mismatch(common, path).in1 - common.begin()));
  }
  const std::size_t bytes = common.rfind('/') + 1;  // npos + 1 is 0
  if (bytes < 3) return;
  for (auto& mine : values) mine[name].replace(0, bytes, "\xE2\x80\xA6/");
}

/// In their arguments and devices, of rows of one name.
void say_what_differs(const std::vector<ProgramRow*>& rows) {
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> values;
  for (const ProgramRow* row : rows) {
    const Measurement& measurement = row->point->measurement;
    auto& mine = values.emplace_back();
    mine["on"] = measurement.device;
    for (const Argument& argument : measurement.arguments) {
      mine[argument.name] = value_text(argument);
      if (!contains(names, argument.name)) names.push_back(argument.name);
    }
  }
  names.emplace_back("on");
  for (const std::string& name : names) {
    if (std::ranges::all_of(values, [&](auto& mine) { return mine[name] == values.front()[name]; })) continue;
    if (name == "in") leave_out_common_ranges(values, name);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (const std::string& value = values[i][name]; !value.empty())
        rows[i]->differs += fmt::format("{}{} {}", rows[i]->differs.empty() ? "" : ", ", name, value);
  }
}

}  // namespace

Work shown_work(const Measurement& measurement) {
  Work work = measurement.work;
  if (work.bytes() > 0.0 || work.total_flops() > 0.0) return work;
  const classifier::CountedWork counted = classifier::counted_in(measurement);
  work.bytes_read = counted.dram_read_bytes.value_or(0.0);
  work.bytes_written = counted.dram_write_bytes.value_or(0.0);
  work.flops = counted.flops;
  return work;
}

std::vector<ProgramRow> program_rows(const Run& run) {
  std::vector<ProgramRow> rows;
  if (!run.program) return rows;
  std::vector<std::string> full;
  std::map<std::string_view, const Point*> points;
  for (const Point& point : run.points) points.emplace(point.measurement.name, &point);
  for (const ProgramKernel& kernel : run.program->kernels) {
    const auto found = points.find(kernel.point);
    const Point* const point = found == points.end() ? nullptr : found->second;
    const bool named = point != nullptr && point->measurement.kernels.size() == 1 &&
                       point->measurement.kernels.front().kind == CommandKind::kernel;
    rows.push_back({&kernel, point, "", ""});
    full.emplace_back(named ? point->measurement.kernels.front().launch.name : without_suffix(kernel.point));
  }
  const auto names = distinct_kernel_names(full);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].name = names[i];
  std::map<std::string, std::vector<ProgramRow*>> same;
  for (ProgramRow& row : rows)
    if (row.point != nullptr) same[row.name].push_back(&row);
  for (const auto& [name, alike] : same) say_what_differs(alike);
  return rows;
}

std::optional<double> mean_seconds(const ProgramKernel& kernel) {
  if (kernel.launches <= 0) return std::nullopt;
  return kernel.total_seconds / static_cast<double>(kernel.launches);
}

std::string ran_text(const Program& program) {
  std::string text = program.ended.empty() ? "" : fmt::format("ended with {}; ", program.ended);
  text += fmt::format("{} recorded, {} kernel launches", format_seconds(program.wall_seconds),
                      format_count(static_cast<double>(program.kernel_launches)));
  if (program.counted_launches > 0)
    text += fmt::format(", {} of them with counters", format_count(static_cast<double>(program.counted_launches)));
  if (program.dropped_records > 0)
    text += fmt::format(", {} records lost", format_count(static_cast<double>(program.dropped_records)));
  return text;
}

std::string busy_text(const GpuTime& gpu) {
  std::vector<std::string> parts;
  if (gpu.compute_seconds > 0.0) parts.push_back("compute " + of_wall(gpu.compute_seconds, gpu));
  if (gpu.memory_seconds > 0.0)
    parts.push_back(part_of("copies and fills", gpu.memory_seconds, gpu.memory_overlap_seconds, gpu));
  if (gpu.communication_seconds > 0.0)
    parts.push_back(part_of("communication", gpu.communication_seconds, gpu.communication_overlap_seconds, gpu));
  return fmt::format("{} busy of {}{}{}", of_wall(gpu.busy_seconds, gpu), wall_text(gpu), parts.empty() ? "" : ": ",
                     joined(parts, ", "));
}

std::string wall_text(const GpuTime& gpu) {
  const double wall = undisturbed_seconds(gpu);
  const double recording = gpu.wall_seconds - wall;
  return recording < min_told_recording * wall ? format_seconds(wall)
                                               : fmt::format("{} (without the {} that the recording took)",
                                                             format_seconds(wall), format_seconds(recording));
}

std::string idle_text(const GpuTime& gpu) {
  const auto part = [&](const Idle& idle) {
    return fmt::format("{} {}", text_of(idle.cause), of_wall(idle.seconds, gpu));
  };
  std::vector<Idle> shown = gpu.idle;
  const double wall = undisturbed_seconds(gpu);
  std::erase_if(shown, [&](const Idle& idle) {
    return idle.seconds < min_shown_share * wall || idle.cause == IdleCause::recording;
  });
  return fmt::format("{} idle{}{}", of_wall(wall - gpu.busy_seconds, gpu), shown.empty() ? "" : ": ",
                     joined(shown, ", ", part));
}

std::vector<PhaseLine> phase_lines(const Program& program) {
  std::vector<PhaseLine> lines;
  for (std::size_t i = 0; i < program.phases.size(); ++i) {
    const ProgramPhase& phase = program.phases[i];
    if (i == 0 || phase.process != program.phases[i - 1].process)
      lines.push_back({phase.process.empty() ? "phases" : "phases of " + phase.process, ""});
    std::string& text = lines.back().text;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", text_of(phase.kind), format_seconds(phase.seconds));
    if (phase.steps > 0) text += fmt::format(" ({})", plural(phase.steps, "step"));
  }
  return lines;
}

std::string steady_text(const Program& program) {
  if (program.steady) {
    std::int64_t held_up = -program.steady->steps;
    for (const ProgramPhase& phase : program.phases) held_up += phase.kind == PhaseKind::steady ? phase.steps : 0;
    return fmt::format(
        "The report is of the steady state: {} ({}), {} with {} of the kernels' time.{} --whole takes all.",
        plural(program.steady->steps, "step"), program.steady->by, format_seconds(program.steady->seconds),
        format_percent(program.steady->kernel_share),
        held_up > 0 ? fmt::format(" {} that the recording held up {} left out.", plural(held_up, "step"),
                                  held_up == 1 ? "is" : "are")
                    : "");
  }
  return program.steady_reason.empty() ? "" : "The report is of the whole program. " + program.steady_reason;
}

std::vector<StepPart> joined_parts(const StepTime& step) {
  std::vector<StepPart> parts;
  for (const StepPart& part : step.parts)
    if (!parts.empty() && parts.back().kind == part.kind)
      parts.back().seconds += part.seconds;
    else
      parts.push_back({part.kind, "", part.seconds});
  return parts;
}

std::string step_text(const StepTime& step) {
  std::vector<StepPart> parts = joined_parts(step);
  std::erase_if(parts, [&](const StepPart& part) { return part.seconds < min_shown_share * step.seconds; });
  std::ranges::stable_sort(parts, std::greater(), &StepPart::seconds);
  return fmt::format("{} ({}) of {}{}{}", plural(step.steps, "step"), step.by, format_seconds(step.seconds),
                     parts.empty() ? "" : ": ", joined(parts, ", ", [&](const StepPart& part) {
                       return fmt::format("{} {}", text_of(part.kind), format_percent(part.seconds / step.seconds));
                     }));
}

std::vector<std::string> step_notes(const StepTime& step) {
  std::vector<std::string> notes;
  std::vector<std::string> could;
  const auto add = [&](const std::optional<double>& seconds, std::string_view what) {
    if (seconds) could.push_back(fmt::format("{} {}", format_seconds(*seconds), what));
  };
  add(step.at_roof_seconds, "if every kernel ran at its roof");
  add(step.free_launch_seconds, "if launches were free");
  add(step.both_seconds, "with both");
  if (!could.empty()) notes.push_back(fmt::format("It would take {}.", joined(could, ", ")));
  std::vector<std::string> above;
  constexpr std::size_t max_named = 3;
  for (const StepPart& part : step.parts)
    if (part.kind == StepPartKind::above_roof && !part.name.empty() && above.size() < max_named &&
        part.seconds >= min_shown_share * step.seconds)
      above.push_back(fmt::format("{} {}", shorten(part.name, max_step_kernel), format_seconds(part.seconds)));
  if (!above.empty()) notes.push_back(fmt::format("Most above the roof: {}.", joined(above, ", ")));
  if (!step.roof_reason.empty())
    notes.push_back(
        fmt::format("What it would take with its kernels at their roof is not known: {}.", step.roof_reason));
  return notes;
}

std::vector<ProgramMemory> shown_memory(const Program& program) {
  std::vector<ProgramMemory> shown = program.memory;
  std::erase_if(shown, [](const ProgramMemory& memory) { return memory.peak_bytes < min_shown_bytes; });
  return shown;
}

std::string name_of(const ProgramMemory& memory) {
  return memory.process.empty() ? memory.kind : fmt::format("{} of {}", memory.kind, memory.process);
}

std::string memory_text(const ProgramMemory& memory) {
  std::string text = fmt::format("peak {} at {}, {}", format_bytes(static_cast<double>(memory.peak_bytes)),
                                 format_seconds(memory.peak_seconds), plural(memory.allocations, "allocation"));
  if (memory.never_freed_bytes > 0)
    text += fmt::format(", {} never freed", format_bytes(static_cast<double>(memory.never_freed_bytes)));
  return text;
}

}  // namespace gpubench::reports
