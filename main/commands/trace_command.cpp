// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
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
#include "profile/verdicts.h"
#include "reports/charts/picture.h"
#include "reports/result_table.h"
#include "reports/timelines.h"
#include "timeline/analyses/steps/critical_path.h"
#include "timeline/analysis.h"
#include "timeline/operators/replay.h"
#include "timeline/selection.h"
#include "timeline/statistics/difference.h"
#include "timeline/structure/steps.h"
#include "timeline/writers.h"

namespace gpubench {
namespace {

constexpr std::size_t max_traces = 10'000;

struct TraceOptions : Options, CeilingFileOptions, timeline::Selection, timeline::FlameOptions {
  const timeline::Analysis* analysis = nullptr;
  std::string by;                                     ///< a word of the analysis; empty: its first
  std::optional<timeline::FlameWeight> flame_weight;  ///< of flame and diff; absent: GPU time where there is any
};

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
      plural(timeline.slices.size(), "event"));
}

/// What `make` returns; that it cannot be made of these inputs is wrong usage.
template <class Make>
auto made_of(const std::vector<std::string>& inputs, const Make& make) {
  try {
    return make();
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{}: {}.", joined(inputs, ", "), error.what()));
  }
}

/// These traces, or what is selected of them, with what is wrong with them said.
timeline::Timeline read_selected(const TraceOptions& options, const std::vector<std::string>& inputs) {
  timeline::Timeline timeline = read_traces(inputs);
  const timeline::Selection& selection = options;
  if (selection.is_all()) return timeline;
  return made_of(inputs, [&] { return timeline::selected(std::move(timeline), selection); });
}

/// The same of all inputs, with what is wrong with them said.
timeline::Timeline read_for(const TraceOptions& options) {
  timeline::Timeline timeline = read_selected(options, options.inputs);
  say_warnings(timeline);
  return timeline;
}

/// On the console, or as files. `other` writes what is no .json and no .csv.
void put(const TraceOptions& options, std::string_view name, const std::vector<ResultTable>& tables,
         const std::vector<std::string>& warnings, const std::function<std::string(const std::string&)>& other) {
  const std::string schema = fmt::format("gpubench trace {}", name);
  if (options.outputs.empty()) show_tables(tables, schema, options, warnings);
  write_each(options.outputs, options.quiet, [&](const std::string& file) {
    const std::string extension = extension_of(file);
    storage::write_file(file, options.json || extension == ".json" ? reports::json(tables, schema, warnings)
                              : extension == ".csv"                ? reports::csv(tables.front())
                                                                   : other(file));
  });
}

/// By the ceilings in this file.
WorkVerdicts verdicts_of(const timeline::Timeline& timeline, const std::string& file, timeline::Roofs& roofs) {
  Device gpu;
  gpu.kind = DeviceKind::gpu;
  const Calibration calibration = storage::read_calibration_for(file, {gpu});
  if (calibration.device.kind != DeviceKind::gpu)
    throw UsageError(
        fmt::format("--calibration={} has the ceilings of a CPU. Give those of the GPU of the trace.", file));
  if (const auto reason = calibrate::why_not_acceptable(calibration))
    throw UsageError(fmt::format("{} is not used: {}. Give an unchanged file written by gpubench.", file, *reason));
  return profile::operator_verdicts(timeline, calibration, &roofs);
}

int trace_analysis(const TraceOptions& options) {
  const timeline::Analysis& analysis = *options.analysis;
  const bool is_flame = analysis.name == "flame";
  if (std::ranges::any_of(options.outputs, [](const auto& file) { return file.ends_with(".svg"); })) {
    if (!is_flame && !options.calibration_file)
      throw UsageError(
          "--out=FILE.svg is the roofline of the operators. Give --calibration=FILE with the ceilings too.");
    reports::check_can_draw();
  }
  // Ranges are the steps themselves, of which nothing is cut away.
  const bool steps_are_ranges = analysis.name == "steps" && !options.range.empty() && !options.iteration;
  TraceOptions selection = options;
  if (steps_are_ranges) selection.range.clear();
  timeline::Timeline timeline = read_for(selection);
  if (!has_gpu_work(timeline) && (analysis.name == "summary" || (analysis.needs_gpu && options.by != "operator"))) {
    say(why_no_gpu(timeline));
    if (analysis.needs_gpu) return exit_codes::operation_failed;
  }
  timeline::Linked linked(timeline);
  const reports::AboutTrace about = about_trace(options.inputs, timeline);
  if (is_flame) {
    const timeline::FlameGraph graph = timeline::flame(linked, options);
    const timeline::FlameWeight weight = options.flame_weight.value_or(graph.natural_weight());
    put(options, analysis.name, {timeline::flame_table(graph, weight)}, timeline.warnings,
        [&](const std::string& file) {
          return file.ends_with(".html")  ? reports::flame_html(graph, weight, about)
                 : file.ends_with(".svg") ? reports::draw(reports::flame_picture(graph, weight, about), "svg")
                                          : timeline::folded(graph, weight);
        });
    return exit_codes::fine;
  }
  WorkVerdicts verdicts;
  timeline::Roofs roofs;
  if (options.calibration_file) {
    verdicts = verdicts_of(timeline, *options.calibration_file, roofs);
    linked.roofs = &roofs;
  }
  std::vector<ResultTable> tables =
      steps_are_ranges ? made_of(options.inputs, [&] { return timeline::step_tables(linked, options.range); })
                       : timeline::tables_of(linked, analysis.name, options.by);
  if (options.calibration_file) {
    verdicts.run.context.gpubench_version = about.version;
    for (const Calibration& one : verdicts.run.calibrations) verdicts.run.context.created_utc = one.created_utc;
    std::ranges::move(reports::verdict_tables(verdicts), std::back_inserter(tables));
  }
  put(options, analysis.name, tables, timeline.warnings, [&](const std::string& file) {
    if (file.ends_with(".py"))
      return made_of(options.inputs, [&] { return timeline::replay_script(linked, options.by); });
    if (file.ends_with(".svg"))
      return reports::picture(verdicts.run, file, {"roofline", {}}, {.title = "Operators of " + about.title});
    if (analysis.name == "critical-path") {
      if (!contains(timeline.tracks, timeline::TrackKind::path, &timeline::Track::kind))
        timeline::add_path_track(timeline, timeline::critical_path(linked));
      return reports::timeline_html(timeline, about, tables);
    }
    return analysis.name == "timeline"  ? reports::timeline_html(timeline, about)
           : analysis.name == "summary" ? reports::timeline_html(timeline, about, tables)
                                        : reports::tables_html(tables, about);
  });
  return exit_codes::fine;
}

int trace_diff(const TraceOptions& options) {
  auto base = std::async(std::launch::async | std::launch::deferred,
                         [&] { return read_selected(options, {options.inputs[0]}); });
  const timeline::Timeline next = read_selected(options, {options.inputs[1]});
  const timeline::Timeline old = base.get();
  say_warnings(old);
  say_warnings(next);
  timeline::FlameOptions frames = options;
  frames.by_thread = false;
  const timeline::Difference difference = timeline::difference(old, next);
  const std::vector<ResultTable> tables = timeline::difference_tables(difference);
  put(options, "diff", tables, next.warnings, [&](const std::string& file) {
    return diff_page({old, next, options.inputs[0], options.inputs[1]}, tables, frames, options.flame_weight,
                     file.ends_with(".svg"));
  });
  return exit_codes::fine;
}

int trace_convert(const TraceOptions& options) {
  if (options.outputs.empty()) throw UsageError("trace convert needs --out=FILE, with .perfetto-trace or .trace.json.");
  const timeline::Timeline timeline = read_for(options);
  write_each(options.outputs, options.quiet, [&](const std::string& file) { timeline::write(timeline, file); });
  return exit_codes::fine;
}

}  // namespace

extern const CommandFile trace_command{
    40, [] {
      using enum Rank;
      const OptionRows as_json = shared_rows({"--json"});
      const OptionRows frames = {
          {"--time", "gpu|host", "", common,
           "Which time the frames show: that of the kernels, copies and fills they launched, or that of the host's "
           "threads. Without it: the GPU's where there is any. Pages of trace flame have both.",
           use::choice(&TraceOptions::flame_weight,
                       std::vector{timeline::FlameWeight::gpu, timeline::FlameWeight::host})},
          {"--min-duration-us", "US", "0", other, "Leave out frames with less time in all; their callers keep it.",
           use::number(&timeline::FlameOptions::min_duration_ns, 0.0, 1e12, 1e3)},
          {"--max-depth", "LEVELS", "512", other,
           "Leave out what is deeper within a thread; the time is that of the last level shown.",
           use::count(&timeline::FlameOptions::max_depth, 1, 512)},
          {"--group-small-kernels", "yes|no", "yes", other,
           "Show kernels of one caller with less than 0.1 % of all GPU time each as one frame, \"N other kernels\".",
           use::choice(&timeline::FlameOptions::small_kernel_share,
                       std::vector{timeline::FlameOptions().small_kernel_share, 0.0})}};
      const OptionRows selection = {
          {"--iteration", "N", "", common,
           "Of each process the N-th iteration alone, from 0. With --range the N-th of these ranges.",
           use::count(&timeline::Selection::iteration, 0, 1'000'000'000)},
          {"--range", "NAME", "", common,
           "What was launched in ranges of this name alone. Numbered ones: the name that they share.",
           use::text(&timeline::Selection::range)},
          {"--rank", "N", "", other, "This rank alone.", use::count(&timeline::Selection::rank, 0, 1'000'000'000)},
          {"--from", "SECONDS", "", other, "What ran from then on, since the first event.",
           use::number(&timeline::Selection::from_seconds, -1e12, 1e12)},
          {"--to", "SECONDS", "", other, "What ran until then, since the first event.",
           use::number(&timeline::Selection::to_seconds, -1e12, 1e12)}};
      const OptionRows ceilings = {
          {"--calibration", "FILE", "", common,
           "Judge operators whose shapes the trace tells (record_shapes=True) by the ceilings in this file. "
           "--out=FILE.svg draws their roofline.",
           use::text(&CeilingFileOptions::calibration_file)}};
      const auto of_traces = [&selection](const std::string& name, std::string summary, std::string examples,
                                          std::string formats, const OptionRows& own, int (*run)(const TraceOptions&)) {
        return with(Command{"trace " + name,
                            std::move(summary),
                            std::move(examples),
                            {"TRACE...",
                             "Traces, or folders of them: Chrome JSON (PyTorch, XLA, viztracer), plain or packed by "
                             "gzip or zstd, Perfetto's, SQLite exports of Nsight Systems, recordings of gpubench "
                             "profile. Several are those of one program: a trace for each rank.",
                             1, max_traces},
                            std::move(formats),
                            joined_rows({own, selection})},
                    run);
      };
      std::vector<Command> commands = {
          Command{"trace", "Say where the time of a recorded program went, from its traces"}};
      for (const timeline::Analysis* const one : timeline::analyses()) {
        const bool is_flame = one->name == "flame", is_summary = one->name == "summary",
                   is_steps = one->name == "steps";
        OptionRows own = as_json;
        if (is_flame) std::ranges::copy(frames, std::back_inserter(own));
        if (is_summary || is_steps) own.insert(own.begin(), ceilings.front());
        const bool of_operator = one->by == timeline::Analysis::any_operator;
        if (of_operator)
          own.insert(own.begin(),
                     {"--operator", "NAME", "", common, std::string(one->by_help), use::text(&TraceOptions::by)});
        else if (!one->by.empty() && !is_flame)
          own.insert(own.begin(), {"--by", std::string(one->by), std::string(one->by.substr(0, one->by.find('|'))),
                                   common, std::string(one->by_help), use::text(&TraceOptions::by)});
        Command command = of_traces(std::string(one->name), std::string(one->what),
                                    fmt::format("gpubench trace {} {}", one->name,
                                                of_operator                           ? "traces/convolution.json.gz "
                                                                                        "--operator=aten::cudnn_convolution --out=convolution.py"
                                                : is_flame || one->name == "timeline" ? "trace.json.gz --out=page.html"
                                                                                      : "trace.json.gz"),
                                    is_flame                 ? ".json .csv .html .svg .folded"
                                    : of_operator            ? ".json .csv .html .py"
                                    : is_summary || is_steps ? ".json .csv .html .svg"
                                                             : ".json .csv .html",
                                    own, trace_analysis);
        command.defaults = [one] {
          auto options = std::make_unique<TraceOptions>();
          options->analysis = one;
          return options;
        };
        commands.insert(is_summary ? commands.begin() + 1 : commands.end(), std::move(command));
      }
      commands.push_back(of_traces("diff", "Compare two traces, operator by operator and kernel by kernel",
                                   "gpubench trace diff before.json.gz after.json.gz", ".json .csv .html .svg",
                                   joined_rows({as_json, frames}), trace_diff));
      commands.back().inputs = {"BASE NEW", "Two traces, or two folders of traces.", 2, 2};
      commands.push_back(of_traces("convert", "Write traces in another format",
                                   "gpubench trace convert trace.json.gz --out=trace.perfetto-trace",
                                   ".perfetto-trace .trace.json", {}, trace_convert));
      return commands;
    }};

}  // namespace gpubench
