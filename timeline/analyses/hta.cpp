// SPDX-License-Identifier: Apache-2.0
// The figures of a trace under the names and in the units of HTA's reports and of sessions of PyTorch's profiler.

#include "core/base/units.h"
#include "timeline/analyses/gpu/kernels.h"
#include "timeline/analyses/gpu/memory.h"
#include "timeline/analyses/summary.h"
#include "timeline/analysis.h"
#include "timeline/program/program.h"
#include "timeline/statistics/breakdown.h"

namespace gpubench::timeline {
namespace {

constexpr double megabyte = 1e6;

double us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

/// Without work on a GPU there is no percentage, rather than zero.
ResultTable facts(const Linked& linked, const Program& program) {
  const std::vector<Breakdown> gpus = breakdowns(linked);
  const Breakdown all = together(gpus);
  const Activity active = activity(linked.timeline);
  const Allocator allocator = allocator_of(linked.timeline);
  const Absent no_gpu{"no GPU worked while the trace was recorded"};
  ResultTable table{
      "", columns_of("gpu_idle_time_pct:count; :share=GPU idle; compute_time_pct:count; :share=compute; "
                     "communication_time_pct:count; :share=communication; memory_time_pct:count; "
                     ":share=copies and fills; total_time_ms:count; cuda_time_ms:count; cpu_time_ms:count; "
                     "peak_memory_mb:count; allocated_memory_mb:count; reserved_memory_mb:count; total_time_us:count; "
                     "cpu_active_time_us:count; gpu_active_time_us:count; overlap_time_us:count")};
  if (all.span_ns() <= 0) table.shown = 0;
  auto& row = table.add({});
  for (const std::int64_t part : {all.idle_ns(), all.compute_ns(), all.communication_ns(), all.memory_ns()})
    for (const double whole : {100.0, 1.0})
      row.push_back(all.span_ns() > 0 ? Value(whole * (static_cast<double>(part) / static_cast<double>(all.span_ns())))
                                      : no_gpu);
  row.emplace_back(program.wall_seconds * 1e3);
  row.push_back(gpus.empty() ? Value(no_gpu) : us(all.busy_ns()) / 1e3 / static_cast<double>(gpus.size()));
  row.emplace_back(us(active.host_ns) / 1e3);
  for (const auto& bytes : {allocator.peak, allocator.allocated, allocator.reserved})
    row.push_back(bytes ? Value(*bytes / megabyte) : Absent{std::string(no_allocator)});
  for (const std::int64_t ns : {active.total_ns, active.host_ns, active.gpu_ns, active.both_ns})
    row.emplace_back(us(ns));
  return table;
}

std::vector<ResultTable> hta_tables(const Linked& linked, std::string_view /*by*/) {
  const Program program = analyze(linked);
  ResultTable kernels{"kernels", columns_of("name:kernel=kernel, copy or fill|(none); kind; cuda_time_us; time_us; "
                                            ":seconds=time; self_time_us; count=count; p50_us; p95_us; p99_us")};
  kernels.none = "No GPU worked while the trace was recorded.";
  ResultTable top{"top_kernels", columns_of("name; time_us; count")};
  top.shown = 0;
  constexpr std::size_t top_kernels = 10;
  for (const KernelTime& one : kernel_times(linked, KernelsBy::name)) {
    const Distribution& took = one.durations_ns;
    const std::string& name = linked.timeline.names.text(one.name);
    kernels.add({name, std::string(name_of(one.kind)), us(one.total_ns), us(one.total_ns), seconds_of(one.total_ns),
                 us(one.self_ns), took.count, took.p50 / 1e3, took.p95 / 1e3, took.p99 / 1e3});
    if (top.rows.size() < top_kernels) top.add({name, us(one.total_ns), took.count});
  }
  kernels.shown = top_kernels;
  ResultTable bottlenecks{"bottlenecks", columns_of("bottleneck")},
      advice{"recommendations", columns_of("recommendation:prose=Recommendations")};
  bottlenecks.shown = 0;
  for (const Finding& one : all_findings(linked, program)) {
    bottlenecks.add({one.evidence});
    advice.add({one.text});
  }
  ResultTable memory{"memory",
                     columns_of("process; kind; peak_allocated_mb; peak_time_ms; allocations; never_freed_mb")};
  ResultTable curve{"memory_timeline", columns_of("process; kind; time_ms; allocated_mb")};
  memory.shown = curve.shown = 0;
  const auto mb = [](std::int64_t bytes) { return static_cast<double>(bytes) / megabyte; };
  for (const ProgramMemory& one : program.memory) {
    memory.add({one.process, one.kind, mb(one.peak_bytes), one.peak_seconds * 1e3, one.allocations,
                mb(one.never_freed_bytes)});
    for (std::size_t i = 0; i < one.curve_seconds.size(); ++i)
      curve.add({one.process, one.kind, one.curve_seconds[i] * 1e3, mb(one.curve_bytes[i])});
  }
  return {facts(linked, program), std::move(kernels), std::move(top),  std::move(advice),
          std::move(bottlenecks), std::move(memory),  std::move(curve)};
}

}  // namespace

extern const Analysis hta_analysis{"hta", "Give the figures of Meta's HTA, by its names and in its units", hta_tables};

}  // namespace gpubench::timeline
