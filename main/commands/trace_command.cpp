// SPDX-License-Identifier: Apache-2.0
#include "main/commands/trace_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "main/cli/terminal.h"
#include "main/commands/commands.h"
#include "profile/spool.h"
#include "reports/program.h"
#include "traces/analyses.h"
#include "traces/kernels.h"
#include "traces/readers.h"
#include "traces/writers.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

/// What `gpubench profile --keep` leaves.
std::optional<traces::Timeline> spool_of(const fs::path& file) {
  std::array<char, profile::spool_magic.size()> magic = {};
  std::ifstream(file, std::ios::binary).read(magic.data(), magic.size());
  if (magic != profile::spool_magic) return std::nullopt;
  profile::Spools spools;
  try {
    profile::read_spool(file, spools);
  } catch (const profile::SpoolError& error) {
    throw storage::ReadError(error.what());
  }
  sort(spools.timeline);
  return std::move(spools.timeline);
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
  return traces::read_timeline({files_and_folders.begin(), files_and_folders.end()}, spool_of);
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
