// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/commands/shared/traces.h"
#include "main/run/stored_runs.h"
#include "profile/program_run.h"
#include "profile/recording_format.h"
#include "profile/recording_reader.h"
#include "profile/verdicts.h"
#include "reports/charts/picture.h"
#include "reports/result_table.h"
#include "reports/timelines.h"
#include "reports/trace.h"
#include "timeline/analyses/analyses.h"
#include "timeline/analyses/critical_path.h"
#include "timeline/analyses/difference.h"
#include "timeline/analyses/summary.h"
#include "timeline/analysis.h"
#include "timeline/readers.h"
#include "timeline/writers.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_traces = 10'000;

struct TraceOptions : Options, CeilingFileOptions {
  bool json = false;                ///< the result as JSON instead of text
  std::string kernels_by = "name";  ///< or "stream", "range", "operator"
  std::string flame_weight;         ///< of flame and diff: "gpu" or "host"; empty: GPU time where there is any
  double min_duration_us = 0.0;
  std::size_t max_depth = 512;
  bool group_small_kernels = true;
};

/// Warnings, and why there may be nothing to say.
void say_warnings(const timeline::Timeline& timeline) {
  for (const std::string& warning : timeline.warnings) say(warning);
}

void check_trace_outputs(const TraceOptions& options, const std::vector<std::string>& extensions) {
  for (const std::string& output : options.outputs) {
    if (!options.json && std::ranges::none_of(extensions, [&](const auto& one) { return output.ends_with(one); }))
      throw UsageError(fmt::format("--out={}: this can be written as {}.", output, fmt::join(extensions, ", ")));
    storage::check_writable(output);
  }
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
timeline::Timeline read_for(const TraceOptions& options, const std::vector<std::string>& extensions) {
  check_trace_outputs(options, extensions);
  timeline::Timeline timeline = read_traces(options.inputs);
  say_warnings(timeline);
  return timeline;
}

/// On the console, or as files. `json` makes what goes into a file; it is given the file's name.
void put(const TraceOptions& options, const std::function<std::string(const ConsoleStyle&)>& text,
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

timeline::FlameWeight weight_of(const TraceOptions& options, const timeline::FlameGraph& graph) {
  return options.flame_weight.empty()    ? graph.natural_weight()
         : options.flame_weight == "gpu" ? timeline::FlameWeight::gpu
                                         : timeline::FlameWeight::host;
}

void write_all_outputs(const TraceOptions& options, const std::function<std::string(const std::string&)>& text_of) {
  write_each(options.outputs, options.quiet,
             [&](const std::string& file) { storage::write_file(file, text_of(file)); });
}

void check_drawing(const TraceOptions& options) {
  if (std::ranges::any_of(options.outputs, [](const auto& file) { return file.ends_with(".svg"); }))
    reports::check_can_draw();
}

timeline::FlameOptions flame_options(const TraceOptions& options, bool by_thread) {
  timeline::FlameOptions result;
  result.min_duration_ns = std::llround(options.min_duration_us * 1e3);
  result.max_depth = options.max_depth;
  result.small_kernel_share = options.group_small_kernels ? result.small_kernel_share : 0.0;
  result.by_thread = by_thread;
  return result;
}

int trace_summary(const TraceOptions& options) {
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

int trace_idle(const TraceOptions& options) {
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

int trace_kernels(const TraceOptions& options) {
  const timeline::Timeline timeline = read_for(options, {".json", ".csv"});
  const bool by_operator = options.kernels_by == "operator";
  if (!by_operator && !has_gpu_work(timeline)) {
    say(why_no_gpu(timeline));
    return exit_codes::operation_failed;
  }
  const ResultTable table = by_operator ? timeline::table_of(timeline, "operators")
                                        : timeline::table_of(timeline, "kernels", options.kernels_by);
  put(
      options, [&](const ConsoleStyle& style) { return reports::console_text(table, reports::shown_rows, style); },
      [&](const std::string& file) {
        return !options.json && extension_of(file) == ".csv" ? reports::csv(table)
                                                             : reports::table_json(timeline, "kernels", table);
      });
  return exit_codes::fine;
}

int trace_memory(const TraceOptions& options) {
  const timeline::Timeline timeline = read_for(options, {".json"});
  const Program program = timeline::analyze(timeline);
  put(
      options, [&](const ConsoleStyle& style) { return reports::trace_memory_text(program, style); },
      [&](const std::string&) { return reports::trace_memory_json(timeline, program); });
  return exit_codes::fine;
}

int trace_critical_path(const TraceOptions& options) {
  const timeline::Timeline timeline = read_for(options, {".json"});
  const timeline::CriticalPath path = timeline::critical_path(timeline);
  put(
      options, [&](const ConsoleStyle& style) { return reports::critical_path_text(timeline, path, style); },
      [&](const std::string&) { return reports::critical_path_json(timeline, path); });
  return exit_codes::fine;
}

int trace_diff(const TraceOptions& options) {
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

int trace_convert(const TraceOptions& options) {
  if (options.outputs.empty()) throw UsageError("trace convert needs --out=FILE, with .perfetto-trace or .trace.json.");
  check_trace_outputs(options, {".perfetto-trace", ".trace.json"});
  const timeline::Timeline timeline = read_traces(options.inputs);
  say_warnings(timeline);
  write_each(options.outputs, options.quiet, [&](const std::string& file) { timeline::write(timeline, file); });
  return exit_codes::fine;
}

int trace_timeline(const TraceOptions& options) {
  if (options.outputs.empty()) throw UsageError("trace timeline needs --out=FILE.html.");
  check_trace_outputs(options, {".html"});
  const timeline::Timeline timeline = read_traces(options.inputs);
  for (const std::string& warning : timeline.warnings) say(warning);
  write_all_outputs(options, [&](const std::string&) {
    return reports::timeline_html(timeline, about_trace(options.inputs, timeline));
  });
  return exit_codes::fine;
}

int trace_flame(const TraceOptions& options) {
  if (options.outputs.empty() && !options.json)
    throw UsageError("trace flame needs --out=FILE, with .html, .svg, .folded or .speedscope.json, or --json.");
  check_trace_outputs(options, {".html", ".svg", ".folded", ".json"});
  check_drawing(options);
  const timeline::Timeline timeline = read_traces(options.inputs);
  for (const std::string& warning : timeline.warnings) say(warning);
  const timeline::FlameGraph graph = timeline::flame(timeline, flame_options(options, true));
  const timeline::FlameWeight weight = weight_of(options, graph);
  const reports::AboutTrace what = about_trace(options.inputs, timeline);
  write_all_outputs(options, [&](const std::string& file) {
    return options.json                         ? timeline::flame_json(graph, weight) + "\n"
           : file.ends_with(".html")            ? reports::flame_html(graph, weight, what)
           : file.ends_with(".svg")             ? reports::flame_svg(graph, weight, what)
           : file.ends_with(".folded")          ? timeline::folded(graph, weight)
           : file.ends_with(".speedscope.json") ? timeline::speedscope(graph, what.title) + "\n"
                                                : timeline::flame_json(graph, weight) + "\n";
  });
  if (options.json && options.outputs.empty()) show(timeline::flame_json(graph, weight) + "\n");
  return exit_codes::fine;
}

}  // namespace

extern const CommandFile trace_command{
    40, [] {
      using enum Rank;
      const OptionRows output = {
          {"--json", "", "", "", common, once, "Print the result as JSON; with --out, write it there as JSON.",
           use::set(&TraceOptions::json)},
          {"--out", "FILE", "", "", common, repeatable,
           "Write the result. Repeatable. The extension decides: .json; of kernels also .csv, of diff .html and .svg.",
           use::list(&Options::outputs)}};
      const OptionRows frames = {
          {"--time", "gpu|host", "", "", common, once,
           "Which time the frames show: that of the kernels, copies and fills they launched, or that of the host's "
           "threads. Without it: the GPU's where there is any. Pages of trace flame have both.",
           use::choice(&TraceOptions::flame_weight, std::vector<std::string>{"gpu", "host"})},
          {"--min-duration-us", "US", "", "0", other, once,
           "Leave out frames with less time in all; their callers keep it.",
           use::number(&TraceOptions::min_duration_us, 0.0, 1e12)},
          {"--max-depth", "LEVELS", "", "512", other, once,
           "Leave out what is deeper within a thread; the time is that of the last level shown.",
           use::count(&TraceOptions::max_depth, 1, 512)},
          {"--group-small-kernels", "yes|no", "", "yes", other, once,
           "Show kernels of one caller with less than 0.1 % of all GPU time each as one frame, \"N other kernels\".",
           use::choice(&TraceOptions::group_small_kernels, std::vector{true, false})}};
      const auto of_traces = [](const char* name, const char* summary, const char* examples, const OptionRows& own,
                                int (*run)(const TraceOptions&)) {
        return with(Command{std::string("trace ") + name,
                            summary,
                            examples,
                            {"TRACE...",
                             "Traces, or folders of them: Chrome JSON (PyTorch, XLA, viztracer), plain or packed by "
                             "gzip or zstd, Perfetto's, SQLite exports of Nsight Systems, recordings of gpubench "
                             "profile. Several are those of one program: a trace for each rank.",
                             1, max_traces},
                            Writes::own,
                            false,
                            joined_rows({own})},
                    run);
      };
      std::vector<Command> commands = {
          Command{"trace", "Say where the time of a recorded program went, from its traces"},
          of_traces("summary", "Say what to do first, and where the time of each GPU went",
                    "gpubench trace summary trace.json.gz\n"
                    "gpubench trace summary rank0.json.gz rank1.json.gz --out=summary.json",
                    joined_rows({{{"--calibration", "FILE", "", "", common, once,
                                   "Judge operators whose shapes the trace tells (record_shapes=True) by the ceilings "
                                   "in this file.",
                                   use::text(&CeilingFileOptions::calibration_file)}},
                                 output}),
                    trace_summary),
          of_traces("timeline", "Draw streams, threads and ranks over time",
                    "gpubench trace timeline trace.json.gz --out=timeline.html",
                    {{"--out", "FILE.html", "", "", common, repeatable, "The page to write. Repeatable.",
                      use::list(&Options::outputs)}},
                    trace_timeline),
          of_traces("flame", "Draw what called what, and how long it took",
                    "gpubench trace flame trace.json.gz --out=flame.html",
                    joined_rows({{{"--out", "FILE", "", "", common, repeatable,
                                   "What to write. Repeatable. The extension decides: .html is a page, .svg a picture "
                                   "for a paper, .folded a line a stack, .speedscope.json a file for speedscope, .json "
                                   "the tree.",
                                   use::list(&Options::outputs)},
                                  {"--json", "", "", "", common, once,
                                   "Print the tree as JSON; with --out, write it there as JSON.",
                                   use::set(&TraceOptions::json)}},
                                 frames}),
                    trace_flame),
          of_traces("idle", "Say why the GPUs were idle", "gpubench trace idle trace.json.gz", output, trace_idle),
          of_traces("kernels", "List kernels, copies and fills by their time",
                    "gpubench trace kernels trace.json.gz --out=kernels.csv",
                    joined_rows(
                        {{{"--by", "name|stream|range|operator", "", "name", common, once,
                           "What to sum up by: the name of the kernel; that on each stream, or in each range; "
                           "or the framework's operator that launched it.",
                           use::choice(&TraceOptions::kernels_by, std::vector{"name", "stream", "range", "operator"})}},
                         output}),
                    trace_kernels),
          of_traces("memory", "Show GPU memory over time, its peak, and what was never freed",
                    "gpubench trace memory trace.json.gz", output, trace_memory),
          of_traces("critical-path", "Name the work and the waits that made up the time",
                    "gpubench trace critical-path trace.json.gz", output, trace_critical_path),
          of_traces("diff", "Compare two traces, operator by operator and kernel by kernel",
                    "gpubench trace diff before.json.gz after.json.gz", joined_rows({output, frames}), trace_diff),
          of_traces("convert", "Write traces in another format",
                    "gpubench trace convert trace.json.gz --out=trace.perfetto-trace",
                    {{"--out", "FILE", "", "", common, repeatable,
                      "What to write. Repeatable. The extension decides: .perfetto-trace, .trace.json.",
                      use::list(&Options::outputs)}},
                    trace_convert)};
      Command& diff = *std::ranges::find(commands, "trace diff", &Command::path);
      diff.inputs = {"BASE NEW", "Two traces, or two folders of traces.", 2, 2};
      return commands;
    }};

}  // namespace gpubench
