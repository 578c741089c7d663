// SPDX-License-Identifier: Apache-2.0
// gpubench trace timeline, trace flame, and the page of trace diff.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/storage/storage.h"
#include "gpubench/version.h"
#include "main/commands/commands.h"
#include "main/commands/trace_command.h"
#include "reports/charts/picture.h"
#include "reports/timelines.h"

namespace gpubench {
namespace {

reports::AboutTrace about(const std::vector<std::string>& inputs, const timeline::Timeline& timeline) {
  const auto name = [](const std::string& file) { return std::filesystem::path(file).filename().string(); };
  std::string title = name(inputs.front());
  if (inputs.size() > 1) title += fmt::format(" and {} more", inputs.size() - 1);
  return {printable(title), std::string(version), timeline.warnings};
}

timeline::FlameWeight weight_of(const Options& options, const timeline::FlameGraph& graph) {
  return options.flame_weight.empty()    ? graph.natural_weight()
         : options.flame_weight == "gpu" ? timeline::FlameWeight::gpu
                                         : timeline::FlameWeight::host;
}

void write_all_outputs(const Options& options, const std::function<std::string(const std::string&)>& text_of) {
  write_each(options.outputs, options.quiet,
             [&](const std::string& file) { storage::write_file(file, text_of(file)); });
}

void check_drawing(const Options& options) {
  if (std::ranges::any_of(options.outputs, [](const auto& file) { return file.ends_with(".svg"); }))
    reports::check_can_draw();
}

}  // namespace

timeline::FlameOptions flame_options(const Options& options, bool by_thread) {
  timeline::FlameOptions result;
  result.min_duration_ns = std::llround(options.min_duration_us * 1e3);
  result.max_depth = options.max_depth;
  result.small_kernel_share = options.group_small_kernels ? result.small_kernel_share : 0.0;
  result.by_thread = by_thread;
  return result;
}

int trace_timeline(const Options& options) {
  if (options.outputs.empty()) throw UsageError("trace timeline needs --out=FILE.html.");
  check_trace_outputs(options, {".html"});
  const timeline::Timeline timeline = read_traces(options.inputs);
  for (const std::string& warning : timeline.warnings) say(warning);
  write_all_outputs(
      options, [&](const std::string&) { return reports::timeline_html(timeline, about(options.inputs, timeline)); });
  return exit_codes::fine;
}

int trace_flame(const Options& options) {
  if (options.outputs.empty() && !options.json)
    throw UsageError("trace flame needs --out=FILE, with .html, .svg, .folded or .speedscope.json, or --json.");
  check_trace_outputs(options, {".html", ".svg", ".folded", ".json"});
  check_drawing(options);
  const timeline::Timeline timeline = read_traces(options.inputs);
  for (const std::string& warning : timeline.warnings) say(warning);
  const timeline::FlameGraph graph = timeline::flame(timeline, flame_options(options, true));
  const timeline::FlameWeight weight = weight_of(options, graph);
  const reports::AboutTrace what = about(options.inputs, timeline);
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

std::string diff_page(const DiffSides& sides, const timeline::Difference& difference, const timeline::FlameOptions& how,
                      std::optional<timeline::FlameWeight> weight, bool as_picture) {
  const timeline::FlameGraph before = timeline::flame(sides.base, how), after = timeline::flame(sides.next, how);
  const timeline::FlameDiff diff = timeline::diff(before, after, weight.value_or(before.natural_weight()));
  reports::AboutTrace what = about({sides.next_name}, sides.next);
  what.title = fmt::format("{} against {}", what.title, about({sides.base_name}, sides.base).title);
  what.warnings.insert(what.warnings.begin(), sides.base.warnings.begin(), sides.base.warnings.end());
  return as_picture ? reports::flame_svg(diff, what)
                    : reports::flame_html(diff, reports::difference_tables(difference, rows_of_diff_page), what);
}

}  // namespace gpubench
