// SPDX-License-Identifier: Apache-2.0
#include "main/commands/trace_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <utility>

#include "calibrate/check/health.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "main/cli/terminal.h"
#include "main/commands/commands.h"
#include "profile/program_run.h"
#include "profile/recording_format.h"
#include "profile/recording_reader.h"
#include "profile/verdicts.h"
#include "reports/trace.h"
#include "timeline/analyses/analyses.h"
#include "timeline/analyses/critical_path.h"
#include "timeline/analyses/difference.h"
#include "timeline/analyses/summary.h"
#include "timeline/readers.h"
#include "timeline/writers.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

/// Warnings, and why there may be nothing to say.
void say_warnings(const timeline::Timeline& timeline) {
  for (const std::string& warning : timeline.warnings) say(warning);
}

bool has_gpu_work(const timeline::Timeline& timeline) {
  return std::ranges::any_of(timeline.slices, [](const timeline::Slice& slice) { return occupies_gpu(slice.kind); });
}

std::string why_no_gpu(const timeline::Timeline& timeline) {
  if (timeline.slices.empty()) return "The trace has no events that last. Record while your program runs.";
  return fmt::format(
      "The trace has {} of the host, but no work of a GPU. Record the GPU too: in PyTorch with ProfilerActivity.CUDA, "
      "on a machine with a GPU.",
      plural(static_cast<long long>(timeline.slices.size()), "event"));
}

/// The traces, with what is wrong with them said.
timeline::Timeline read_for(const Options& options, const std::vector<std::string>& extensions) {
  check_trace_outputs(options, extensions);
  timeline::Timeline timeline = read_traces(options.inputs);
  say_warnings(timeline);
  return timeline;
}

/// On the console, or as files. `json` makes what goes into a file; it is given the file's name.
void put(const Options& options, const std::function<std::string(const ConsoleStyle&)>& text,
         const std::function<std::string(const std::string&)>& file_text) {
  if (options.outputs.empty() && options.json) {
    const std::string json = file_text("");
    show(json);
  } else if (options.outputs.empty() && !options.quiet) {
    show(text(stdout_style(options)));
  }
  write_each(options.outputs, options.quiet,
             [&](const std::string& file) { storage::write_file(file, file_text(file)); });
}

/// Recordings of `gpubench profile --keep`, or folders of nothing else.
bool are_recordings(const std::vector<std::string>& inputs) {
  return std::ranges::all_of(inputs, [](const fs::path& place) {
    if (!fs::is_directory(place)) return profile::is_recording(place);
    bool any = false;
    for (const auto& entry : fs::directory_iterator(place)) {
      if (!profile::has_recording_extension(entry.path())) continue;
      if (!profile::is_recording(entry.path())) return false;
      any = true;
    }
    return any;
  });
}

/// Throws UsageError where they were changed, or do not pass.
Calibration acceptable(Calibration calibration, const std::string& file) {
  if (const auto reason = calibrate::why_not_acceptable(calibration))
    throw UsageError(fmt::format("{} is not used: {}. Give an unchanged file written by gpubench.", file, *reason));
  return calibration;
}

/// By the ceilings in this file: of our own recordings the verdicts of kernels, else of operators.
WorkVerdicts verdicts_of(const std::vector<std::string>& inputs, const timeline::Timeline& timeline,
                         const std::string& file) {
  if (are_recordings(inputs)) {
    const auto recordings = profile::read_recordings(std::vector<fs::path>(inputs.begin(), inputs.end()));
    Run ceilings;
    ceilings.devices = profile::devices_of(recordings, {});
    for (const Device& device : ceilings.devices) {
      ceilings.calibrations.push_back(acceptable(storage::read_calibration_for(file, {device}), file));
      ceilings.calibrations.back().device.id = device.id;
    }
    return profile::kernel_verdicts(recordings, std::move(ceilings));
  }
  Device gpu;
  gpu.kind = DeviceKind::gpu;
  const Calibration calibration = storage::read_calibration_for(file, {gpu});
  if (calibration.device.kind != DeviceKind::gpu)
    throw UsageError(
        fmt::format("--calibration={} has the ceilings of a CPU. Give those of the GPU of the trace.", file));
  return profile::operator_verdicts(timeline, acceptable(calibration, file));
}

}  // namespace

void check_trace_outputs(const Options& options, const std::vector<std::string>& extensions) {
  for (const std::string& output : options.outputs) {
    if (!options.json && std::ranges::none_of(extensions, [&](const auto& one) { return output.ends_with(one); }))
      throw UsageError(fmt::format("--out={}: this can be written as {}.", output, fmt::join(extensions, ", ")));
    storage::check_writable(output);
  }
}

timeline::Timeline read_traces(const std::vector<std::string>& files_and_folders) {
#ifdef __GLIBC__
  // What an analysis gives back goes to the system, and not only what is over 32 MB.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
  return timeline::read_timeline({files_and_folders.begin(), files_and_folders.end()}, profile::timeline_of_recording);
}

int trace_summary(const Options& options) {
  const timeline::Timeline timeline = read_for(options, {".json"});
  const timeline::Summary summary = timeline::summarize(timeline);
  if (summary.gpus.empty()) say(why_no_gpu(timeline));
  const auto verdicts = options.calibration_file
                            ? std::optional(verdicts_of(options.inputs, timeline, *options.calibration_file))
                            : std::nullopt;
  put(
      options,
      [&](const ConsoleStyle& style) {
        return reports::trace_summary_text(timeline, summary, style) +
               (verdicts ? reports::work_verdicts_text(*verdicts, style) : "");
      },
      [&](const std::string&) {
        return reports::trace_summary_json(timeline, summary, options.inputs, verdicts ? &*verdicts : nullptr);
      });
  return exit_codes::fine;
}

int trace_idle(const Options& options) {
  const timeline::Timeline timeline = read_for(options, {".json"});
  const timeline::Summary summary = timeline::summarize(timeline);
  if (summary.gpus.empty()) {
    say(why_no_gpu(timeline));
    return exit_codes::operation_failed;
  }
  put(
      options, [&](const ConsoleStyle& style) { return reports::trace_idle_text(timeline, summary, style); },
      [&](const std::string&) { return reports::trace_idle_json(timeline, summary); });
  return exit_codes::fine;
}

int trace_kernels(const Options& options) {
  const timeline::Timeline timeline = read_for(options, {".json", ".csv"});
  if (options.kernel_table != reports::KernelTable::operation && !has_gpu_work(timeline)) {
    say(why_no_gpu(timeline));
    return exit_codes::operation_failed;
  }
  put(
      options,
      [&](const ConsoleStyle& style) { return reports::trace_kernels_text(timeline, options.kernel_table, style); },
      [&](const std::string& file) {
        return !options.json && extension_of(file) == ".csv"
                   ? reports::trace_kernels_csv(timeline, options.kernel_table)
                   : reports::trace_kernels_json(timeline, options.kernel_table);
      });
  return exit_codes::fine;
}

int trace_memory(const Options& options) {
  const timeline::Timeline timeline = read_for(options, {".json"});
  const Program program = timeline::analyze(timeline);
  put(
      options, [&](const ConsoleStyle& style) { return reports::trace_memory_text(program, style); },
      [&](const std::string&) { return reports::trace_memory_json(timeline, program); });
  return exit_codes::fine;
}

int trace_critical_path(const Options& options) {
  const timeline::Timeline timeline = read_for(options, {".json"});
  const timeline::CriticalPath path = timeline::critical_path(timeline);
  put(
      options, [&](const ConsoleStyle& style) { return reports::critical_path_text(timeline, path, style); },
      [&](const std::string&) { return reports::critical_path_json(timeline, path); });
  return exit_codes::fine;
}

int trace_diff(const Options& options) {
  check_trace_outputs(options, {".json", ".html", ".svg"});
  auto base = std::async(std::launch::async | std::launch::deferred, [&] { return read_traces({options.inputs[0]}); });
  const timeline::Timeline next = read_traces({options.inputs[1]});
  const timeline::Timeline old = base.get();
  say_warnings(old);
  say_warnings(next);
  const timeline::Difference difference = timeline::difference(old, next);
  put(
      options, [&](const ConsoleStyle& style) { return reports::difference_text(difference, style); },
      [&](const std::string& file) {
        const std::string extension = extension_of(file);
        if (options.json || (extension != ".html" && extension != ".svg")) return reports::difference_json(difference);
        const auto weight = options.flame_weight.empty()    ? std::nullopt
                            : options.flame_weight == "gpu" ? std::optional(timeline::FlameWeight::gpu)
                                                            : std::optional(timeline::FlameWeight::host);
        return diff_page({old, next, options.inputs[0], options.inputs[1]}, difference, flame_options(options, false),
                         weight, extension == ".svg");
      });
  return exit_codes::fine;
}

int trace_convert(const Options& options) {
  if (options.outputs.empty()) throw UsageError("trace convert needs --out=FILE, with .perfetto-trace or .trace.json.");
  check_trace_outputs(options, {".perfetto-trace", ".trace.json"});
  const timeline::Timeline timeline = read_traces(options.inputs);
  say_warnings(timeline);
  write_each(options.outputs, options.quiet, [&](const std::string& file) { timeline::write(timeline, file); });
  return exit_codes::fine;
}

}  // namespace gpubench
