// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "timeline/analyses/gpu/idle.h"
#include "timeline/analyses/gpu/memory.h"
#include "timeline/analyses/ranks/ranks.h"
#include "timeline/analyses/steps/iterations.h"
#include "timeline/analysis.h"
#include "timeline/names.h"
#include "timeline/program/findings.h"
#include "timeline/program/program.h"
#include "timeline/statistics/breakdown.h"

namespace gpubench::timeline {
namespace {

constexpr double min_spread = 0.1;  // of the median, from the median to the slowest iteration

/// What other ranks lose because one enters collectives late.
void add_straggler(const Timeline& timeline, double wall, std::vector<Finding>& findings) {
  const Stragglers all = stragglers(timeline);
  if (all.collectives.empty()) return;
  const auto late = std::ranges::max_element(all.ranks, {}, &RankWait::kept_waiting_ns);
  // Of the other ranks each waited for it on average as long. What it waited itself is no matter of one rank alone.
  const double waited = seconds_of(late->kept_waiting_ns) / static_cast<double>(all.ranks.size() - 1);
  const double lost = waited - seconds_of(late->waited_ns);
  if (lost < min_share * wall) return;
  findings.push_back(make_finding(
      "ranks.straggler", lost, wall,
      fmt::format("{} entered {} of {} collectives last: the others waited {} for it{}, and it {} for others.",
                  process_labels(timeline)[late->process], late->last, all.collectives.size(), format_seconds(waited),
                  all.ranks.size() > 2 ? " each, on average" : "", format_seconds(seconds_of(late->waited_ns))),
      "Compare its data, its host and its GPU's clock with those of the others.",
      fmt::format("{} of the time, more than it waits itself", format_percent(min_share))));
}

void add_slow_iterations(const Linked& linked, double wall, std::vector<Finding>& findings) {
  const auto labels = process_labels(linked.timeline);
  for (const Iterations& one : iterations(linked)) {
    if (one.all.size() < 3) continue;  // of two none is usual
    double lost = 0.0;
    for (const Iteration& iteration : one.all) {
      const auto took = static_cast<double>(iteration.end_ns - iteration.start_ns);
      if (took > Iterations::slow_factor * one.duration_ns.p50) lost += (took - one.duration_ns.p50) / 1e9;
    }
    if (one.slow() == 0 || lost < min_spread * one.duration_ns.sum / 1e9) continue;
    findings.push_back(
        make_finding("iterations.slow", lost, wall,
                     fmt::format("{} of {} iterations{}{} took more than {} times their median of {}.", one.slow(),
                                 one.all.size(), labels[one.process].empty() ? "" : " of ", labels[one.process],
                                 format_number(Iterations::slow_factor), format_seconds(one.duration_ns.p50 / 1e9)),
                     "See what only they do: first steps, loading, saving, printing.",
                     fmt::format("{} of all iterations' time", format_percent(min_spread))));
    return;
  }
}

ResultTable finding_table(const std::vector<Finding>& findings) {
  ResultTable table{"findings",
                    columns_of("code; text:prose=What to do first; evidence; advice; threshold; gain_seconds")};
  table.shown = 3;
  table.none = "Nothing stands out.";
  for (const Finding& one : findings)
    table.add({one.code, one.text, one.evidence, one.advice, one.threshold,
               or_absent(one.gain_seconds, "what it would gain is not known")});
  return table;
}

ResultTable gpu_table(const Timeline& timeline, const std::vector<Breakdown>& gpus) {
  ResultTable table{
      "gpus",
      columns_of("=GPU; device; model; process; rank; span_seconds=time; busy_seconds; idle_seconds; compute_seconds; "
                 "communication_seconds; memory_seconds; communication_overlap_seconds; exposed_communication_seconds; "
                 ":share=compute; :share=communication; :share=alone~2; :share=copies~1; :share=idle")};
  table.title = "Time of the GPUs, from first to last work";
  const auto labels = process_labels(timeline);
  std::set<std::string> models;
  for (const Breakdown& gpu : gpus) {
    const std::string model = gpu_model(timeline, gpu.process, gpu.device);
    if (!model.empty()) models.insert(model);
    const auto rank = timeline.processes[gpu.process].rank;
    auto& row = table.add({gpu_name(timeline, gpu.process, gpu.device), gpu_name(gpu.device), model,
                           labels[gpu.process], rank ? Value(*rank) : Absent{"the trace does not tell it"}});
    for (const std::int64_t ns : {gpu.span_ns(), gpu.busy_ns(), gpu.idle_ns(), gpu.compute_ns(), gpu.communication_ns(),
                                  gpu.memory_ns(), gpu.overlap_ns(), gpu.exposed_communication_ns()})
      row.emplace_back(seconds_of(ns));
    for (const std::int64_t ns :
         {gpu.compute_ns(), gpu.communication_ns(), gpu.exposed_communication_ns(), gpu.memory_ns(), gpu.idle_ns()})
      row.push_back(gpu.span_ns() > 0 ? Value(static_cast<double>(ns) / static_cast<double>(gpu.span_ns()))
                                      : Absent{"no time"});
  }
  if (std::ranges::all_of(gpus, [](const Breakdown& gpu) { return gpu.communication_ns() == 0; }))
    for (ValueColumn& column : table.columns)
      if (column.title == "communication" || column.title == "alone") column.title.clear();
  if (!models.empty()) table.notes.push_back(fmt::format("GPU: {}", joined(models, ", ")));
  return table;
}

std::vector<ResultTable> summary_tables(const Linked& linked, std::string_view /*by*/) {
  const Timeline& timeline = linked.timeline;
  const Program program = analyze(linked);
  const std::vector<Breakdown> gpus = breakdowns(linked);
  const Activity all = activity(timeline);
  std::vector<ResultTable> tables = {finding_table(all_findings(linked, program))};
  const auto add = [&](std::string_view analysis, std::size_t shown) {
    std::vector<ResultTable> more = tables_of(linked, analysis);
    if (more.front().shown > 0) more.front().shown = shown;
    more.front().none.clear();
    std::ranges::move(more, std::back_inserter(tables));
  };
  if (gpus.empty() && tables.front().rows.empty() && !timeline.slices.empty()) {
    add("operators", 20);
    tables.front().none = fmt::format("{} of the host alone{}", format_seconds(seconds_of(all.total_ns)),
                                      tables[1].rows.empty() ? "." : ", with these functions and operators:");
  }
  constexpr std::size_t shown_kernels = 10, shown_lines = 8;
  tables.push_back(gpu_table(timeline, gpus));
  tables.push_back(idle_causes(program.gpus));
  tables.back().notes = {"Of all time recorded."};
  add("kernels", shown_kernels);
  for (const char* const analysis : {"copies", "iterations", "ranks"}) add(analysis, shown_lines);
  std::vector<ResultTable> memory = memory_tables(program, allocator_of(timeline));
  memory.front().none.clear();
  std::ranges::move(memory, std::back_inserter(tables));
  std::ranges::move(tables_of(linked, "launches"), std::back_inserter(tables));
  for (auto table = tables.end() - 4; table != tables.end(); ++table) table->shown = 0;
  tables.push_back({"", columns_of("total_seconds; host_seconds; gpu_seconds; both_seconds")});
  tables.back().add(
      {seconds_of(all.total_ns), seconds_of(all.host_ns), seconds_of(all.gpu_ns), seconds_of(all.both_ns)});
  return tables;
}

}  // namespace

std::vector<Finding> all_findings(const Linked& linked, const Program& program) {
  std::vector<Finding> findings = program.findings;
  add_straggler(linked.timeline, program.wall_seconds, findings);
  add_slow_iterations(linked, program.wall_seconds, findings);
  sort_by_gain(findings);
  return findings;
}

extern const Analysis summary_analysis{"summary", "Say what to do first, and where the time of each GPU went",
                                       summary_tables};

}  // namespace gpubench::timeline
