// SPDX-License-Identifier: Apache-2.0
// What a step of the program is made of, what it could take, and what came before the steps.
#include "timeline/structure/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "timeline/analysis.h"

namespace gpubench::timeline {
namespace {

/// "above the roof: gemm"
std::string part_text(const StepPart& part) {
  constexpr std::size_t max_columns = 48;  // of a kernel or an operator with its shapes
  const std::string text(text_of(part.kind));
  if (part.kind != StepPartKind::above_roof) return text;
  return fmt::format("{}: {}", text, part.name.empty() ? "others" : shorten(short_kernel_name(part.name), max_columns));
}

/// What a reader is to know at once: how long, of what, and what gains the most.
std::string step_sentence(const StepTime& step) {
  using enum StepPartKind;
  constexpr double min_shown_share = 0.02;
  std::map<StepPartKind, double> sums;
  for (const StepPart& part : step.parts)
    sums[part.kind == above_roof || part.kind == no_verdict ? roof : part.kind] += part.seconds;
  std::vector<std::pair<double, std::string_view>> parts, gains;
  for (const auto& [kind, seconds] : sums) parts.emplace_back(seconds, kind == roof ? "kernels" : text_of(kind));
  std::ranges::stable_sort(parts, std::greater(), &std::pair<double, std::string_view>::first);
  std::erase_if(parts, [&](const auto& part) { return part.first < min_shown_share * step.seconds; });
  const auto faster = [&](const std::optional<double>& seconds, std::string_view how) {
    if (seconds) gains.emplace_back(step.seconds - *seconds, how);
  };
  faster(step.at_roof_seconds, "kernels at their roof");
  faster(step.free_launch_seconds, "free launches, as in a CUDA graph,");
  gains.emplace_back(sums[host], "a host that does nothing but launch");
  gains.emplace_back(sums[waiting], "no waiting");
  gains.emplace_back(sums[copies], "copies and fills behind kernels");
  gains.emplace_back(sums[collectives], "collectives behind kernels");
  const auto& [seconds, how] = *std::ranges::max_element(gains, {}, &std::pair<double, std::string_view>::first);
  const auto share = [&](double of) { return format_percent(of / step.seconds); };
  return fmt::format(
      "A step of {} takes {}: {}. {}", name_of(step), format_seconds(step.seconds),
      joined(parts, ", ", [&](const auto& part) { return fmt::format("{} {}", part.second, share(part.first)); }),
      seconds < min_shown_share * step.seconds ? std::string("Nothing that is known here would save 2 % of it.")
                                               : fmt::format("The largest gain: {} would save at most {} of it ({}).",
                                                             how, format_seconds(seconds), share(seconds)));
}

std::vector<ResultTable> tables_of_steps(const Linked& linked, std::string_view /*by*/) { return step_tables(linked); }

}  // namespace

std::vector<ResultTable> step_tables(const Linked& linked, const std::string& range) {
  const std::vector<Steps> found = range.empty() ? steps(linked) : steps_in_ranges(linked, range);
  if (found.empty() && !range.empty())
    throw std::invalid_argument(fmt::format("there is no range '{}'", printable(range)));
  std::vector<ProgramPhase> of_all;
  for (const Steps& one : found) std::ranges::copy(phases(linked, one), std::back_inserter(of_all));
  std::vector<ResultTable> tables = step_tables_of(step_times(linked, found, linked.roofs));
  tables.push_back(phase_table(of_all));
  return tables;
}

std::vector<ResultTable> step_tables_of(const std::vector<StepTime>& steps) {
  ResultTable parts{"step_parts",
                    columns_of(fmt::format("gpu{}; part; ={}; kernel:kernel; seconds=time; share=share",
                                           steps.size() > 1 ? "=GPU" : "",
                                           steps.size() == 1 ? "a step of " + name_of(steps[0]) : "a step"))};
  parts.none = "No steps were found: nothing that the program does repeats itself often enough.";
  parts.stacked = true;
  parts.shown = 200;
  ResultTable all{"steps", columns_of("gpu=GPU; by=steps; count=count; seconds=a step; recording_seconds; "
                                      "at_roof_seconds=at the roof; free_launch_seconds=launches free; "
                                      "both_seconds=both")};
  if (const auto longest = std::ranges::max_element(steps, {}, &StepTime::seconds);
      longest != steps.end() && longest->seconds > 0.0)
    parts.lead = step_sentence(*longest);
  const auto known = [](const std::optional<double>& seconds, const std::string& why) {
    return or_absent(seconds, why);
  };
  for (const StepTime& step : steps) {
    for (const StepPart& part : step.parts)
      parts.add({name_of(step), std::string(name_of(part.kind)), part_text(part), part.name, part.seconds,
                 step.seconds > 0.0 ? Value(part.seconds / step.seconds) : Absent{"no time"}});
    all.add({name_of(step), step.by, step.steps, step.seconds, step.recording_seconds,
             known(step.at_roof_seconds, step.roof_reason), known(step.free_launch_seconds, "not known"),
             known(step.both_seconds, step.roof_reason)});
    if (!step.roof_reason.empty() && all.notes.empty())
      all.notes.push_back(
          fmt::format("What a step would take with its kernels at their roof is not known: {}.", step.roof_reason));
  }
  return {std::move(parts), std::move(all)};
}

ResultTable phase_table(const std::vector<ProgramPhase>& phases) {
  ResultTable table{"phases",
                    columns_of("process; phase; =phase; start_seconds=from; seconds=time; steps:count=steps")};
  for (const ProgramPhase& phase : phases)
    table.add({phase.process, std::string(name_of(phase.kind)),
               phase.process.empty() ? std::string(text_of(phase.kind))
                                     : fmt::format("{} of {}", text_of(phase.kind), phase.process),
               phase.start_seconds, phase.seconds, phase.steps});
  return table;
}

extern const Analysis steps_analysis{.name = "steps",
                                     .what = "Say what a step is made of, and what it could take",
                                     .tables = tables_of_steps,
                                     .needs_gpu = true};

}  // namespace gpubench::timeline
