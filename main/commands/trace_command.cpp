// SPDX-License-Identifier: Apache-2.0
#include "main/commands/trace_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "main/cli/terminal.h"
#include "main/commands/commands.h"
#include "reports/program.h"
#include "traces/analyses.h"
#include "traces/kernels.h"
#include "traces/readers.h"
#include "traces/writers.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

bool is_trace_file(const fs::path& file) {
  std::string name = lower(file.filename().string());
  if (name.starts_with('.')) return false;
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name.ends_with(".json");
}

std::vector<fs::path> trace_files(const std::vector<std::string>& files_and_folders) {
  std::vector<fs::path> files;
  for (const std::string& input : files_and_folders) {
    std::error_code error;
    if (!fs::is_directory(input, error)) {
      files.emplace_back(input);
      continue;
    }
    const std::size_t before = files.size();
    for (fs::directory_iterator place(input, error), end; !error && place != end; place.increment(error))
      if (is_trace_file(place->path())) files.push_back(place->path());
    if (error) throw UsageError(fmt::format("{}: the folder cannot be read: {}.", input, error.message()));
    if (files.size() == before)
      throw UsageError(
          fmt::format("{}: this folder has no trace. Give one with files such as trace.json or rank0.json.gz.", input));
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  return files;
}

/// Adds all of `other`, whose times count from its own base.
void add(traces::Timeline& all, traces::Timeline other) {
  const auto first_process = static_cast<std::uint32_t>(all.processes.size());
  const auto first_track = static_cast<std::uint32_t>(all.tracks.size());
  const auto first_shape = static_cast<std::int64_t>(all.shapes.size());
  const std::int64_t shift = other.base_ns - all.base_ns;
  std::vector<std::uint32_t> names;
  for (std::uint32_t i = 0; i < other.names.size(); ++i) names.push_back(all.names.number(other.names.text(i)));
  std::ranges::move(other.processes, std::back_inserter(all.processes));
  std::ranges::move(other.shapes, std::back_inserter(all.shapes));
  for (traces::Track& track : other.tracks) {
    track.process += first_process;
    all.tracks.push_back(std::move(track));
  }
  all.slices.reserve(all.slices.size() + other.slices.size());
  for (traces::Slice slice : other.slices) {
    slice.start_ns += shift;
    slice.name = names[slice.name];
    slice.track += first_track;
    if (slice.detail >= 0 &&
        (slice.kind == traces::SliceKind::kernel || slice.kind == traces::SliceKind::communication))
      slice.detail += first_shape;
    all.slices.push_back(slice);
  }
  for (traces::CounterTrack& counter : other.counters) {
    counter.process += first_process;
    for (traces::CounterSample& sample : counter.samples) sample.time_ns += shift;
    all.counters.push_back(std::move(counter));
  }
  for (traces::MemoryEvent event : other.memory) {
    event.time_ns += shift;
    event.process += first_process;
    event.source = names[event.source];
    all.memory.push_back(event);
  }
  all.dropped += other.dropped;
  std::ranges::move(other.warnings, std::back_inserter(all.warnings));
}

/// Warnings, and why there may be nothing to say.
void say_warnings(const traces::Timeline& timeline) {
  for (const std::string& warning : timeline.warnings) say(warning);
}

[[noreturn]] void not_yet(std::string_view what) {
  throw UsageError(fmt::format("'{}' is not in this version.", what));
}

}  // namespace

void check_trace_outputs(const Options& options, const std::vector<std::string>& extensions) {
  for (const std::string& output : options.outputs) {
    if (!options.json && std::ranges::none_of(extensions, [&](const auto& one) { return output.ends_with(one); }))
      throw UsageError(fmt::format("--out={}: this can be written as {}.", output, fmt::join(extensions, ", ")));
    storage::check_writable(output);
  }
}

traces::Timeline read_traces(const std::vector<std::string>& files_and_folders) {
  const std::vector<fs::path> files = trace_files(files_and_folders);
  std::vector<traces::Timeline> parts(files.size());
  for_each_in_parallel(files.size(), 1, [&](std::size_t i) { parts[i] = traces::read_chrome_json(files[i]); });
  traces::Timeline all = std::move(parts.front());
  if (parts.size() == 1) return all;
  for (std::size_t i = 1; i < parts.size(); ++i) add(all, std::exchange(parts[i], {}));
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const traces::Slice& slice : all.slices) first = std::min(first, slice.start_ns);
  for (const traces::MemoryEvent& event : all.memory) first = std::min(first, event.time_ns);
  if (first < 0) {
    for (traces::Slice& slice : all.slices) slice.start_ns -= first;
    for (traces::MemoryEvent& event : all.memory) event.time_ns -= first;
    for (traces::CounterTrack& counter : all.counters)
      for (traces::CounterSample& sample : counter.samples) sample.time_ns -= first;
    all.base_ns += first;
  }
  sort(all);
  return all;
}

int trace_summary(const Options& options) {
  check_trace_outputs(options, {".json"});
  const traces::Timeline timeline = read_traces(options.inputs);
  say_warnings(timeline);
  const Program program = traces::analyze(timeline);
  const ConsoleStyle style = stdout_style(options.color);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(program.findings.size(), 3); ++i)
    text += paragraph(fmt::format("{}. ", i + 1), printable(program.findings[i].text), color::none, style);
  for (const GpuTime& gpu : program.gpus) {
    const std::string lead = printable(reports::name_of(gpu)) + ": ";
    text += paragraph(lead, reports::busy_text(gpu), color::none, style) +
            paragraph(std::string(display_width(lead), ' '), reports::idle_text(gpu), color::none, style);
  }
  if (!options.quiet) show(text);
  return exit_codes::fine;
}

int trace_critical_path(const Options&) { not_yet("trace critical-path"); }
int trace_diff(const Options& options) {
  if (options.outputs.empty()) throw UsageError("trace diff needs --out=FILE, with .html or .svg.");
  check_trace_outputs(options, {".html", ".svg"});
  const traces::Timeline base = read_traces({options.inputs.front()}), next = read_traces({options.inputs.back()});
  say_warnings(base);
  say_warnings(next);
  write_each(options.outputs, [&](const std::string& file) {
    if (is_diff_page(file)) storage::write_file(file, diff_page(options, base, next, file));
  });
  return exit_codes::fine;
}

int trace_idle(const Options& options) {
  check_trace_outputs(options, {".json"});
  const traces::Timeline timeline = read_traces(options.inputs);
  say_warnings(timeline);
  const Program program = traces::analyze(timeline);
  std::vector<Column> columns = {{"why"}, {"time", true}, {"of all", true}, {"gaps", true}};
  std::string text;
  const ConsoleStyle style = stdout_style(options.color);
  for (const GpuTime& gpu : program.gpus) {
    std::vector<Column> table = columns;
    for (const Idle& idle : gpu.idle)
      add_row(table, {{std::string(reports::text_of(idle.cause))},
                      {format_seconds(idle.seconds)},
                      {format_percent(idle.seconds / gpu.wall_seconds)},
                      {format_count(static_cast<double>(idle.gaps))}});
    text += paragraph("", printable(reports::name_of(gpu)), color::bold, style) + table_text(table, 16, style);
  }
  if (!options.quiet) show(text);
  return exit_codes::fine;
}

int trace_kernels(const Options& options) {
  check_trace_outputs(options, {".json", ".csv"});
  const traces::Timeline timeline = read_traces(options.inputs);
  say_warnings(timeline);
  std::vector<Column> table = {{"name"}, {"calls", true}, {"total", true}, {"p50", true}, {"p95", true}, {"p99", true}};
  for (const traces::KernelTime& kernel : traces::kernel_times(timeline, traces::KernelsBy::name))
    add_row(table, {{printable(timeline.names.text(kernel.name))},
                    {format_count(static_cast<double>(kernel.durations_ns.count))},
                    {format_seconds(static_cast<double>(kernel.total_ns) / 1e9)},
                    {format_seconds(kernel.durations_ns.p50 / 1e9)},
                    {format_seconds(kernel.durations_ns.p95 / 1e9)},
                    {format_seconds(kernel.durations_ns.p99 / 1e9)}});
  if (!options.quiet) show(table_text(table, 16, stdout_style(options.color)));
  return exit_codes::fine;
}

int trace_memory(const Options& options) {
  check_trace_outputs(options, {".json"});
  const traces::Timeline timeline = read_traces(options.inputs);
  say_warnings(timeline);
  const Program program = traces::analyze(timeline);
  const ConsoleStyle style = stdout_style(options.color);
  std::string text;
  for (const ProgramMemory& memory : program.memory)
    text +=
        paragraph(printable(reports::name_of(memory)) + " memory: ", reports::memory_text(memory), color::none, style);
  if (!options.quiet) show(text);
  return exit_codes::fine;
}

int trace_convert(const Options& options) {
  if (options.outputs.empty()) throw UsageError("trace convert needs --out=FILE, with .perfetto-trace or .trace.json.");
  check_trace_outputs(options, {".perfetto-trace", ".trace.json"});
  const traces::Timeline timeline = read_traces(options.inputs);
  say_warnings(timeline);
  write_each(options.outputs, [&](const std::string& file) { traces::write(timeline, file); });
  return exit_codes::fine;
}

}  // namespace gpubench
