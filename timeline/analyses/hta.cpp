// SPDX-License-Identifier: Apache-2.0
// The figures of a trace under the names and in the units of HTA's reports and of sessions of PyTorch's profiler.
#include <algorithm>

#include "core/base/units.h"
#include "timeline/analyses/kernels.h"
#include "timeline/analyses/memory.h"
#include "timeline/analyses/summary.h"
#include "timeline/analysis.h"
#include "timeline/breakdown.h"
#include "timeline/program/program.h"

namespace gpubench::timeline {
namespace {

constexpr double megabyte = 1e6;

double us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

/// Without work on a GPU there is no percentage, rather than zero.
ResultTable facts(const Linked& linked, const Program& program) {
  ResultTable table{"", {}, {{}}};
  const auto put = [&](const char* key, const char* title, ValueKind kind, Value value) {
    table.columns.push_back({key, title, kind});
    table.rows.front().push_back(std::move(value));
  };
  const std::vector<Breakdown> gpus = breakdowns(linked);
  const Breakdown all = together(gpus);
  const Absent no_gpu{"no GPU worked while the trace was recorded"};
  const auto percent = [&](const char* key, const char* title, std::int64_t part) {
    const double share = static_cast<double>(part) / static_cast<double>(all.span_ns());
    put(key, "", ValueKind::count, all.span_ns() > 0 ? Value(100.0 * share) : no_gpu);
    put("", title, ValueKind::share, all.span_ns() > 0 ? Value(share) : no_gpu);
  };
  percent("gpu_idle_time_pct", "GPU idle", all.idle_ns());
  percent("compute_time_pct", "compute", all.compute_ns());
  percent("communication_time_pct", "communication", all.communication_ns());
  percent("memory_time_pct", "copies and fills", all.memory_ns());
  const Activity active = activity(linked.timeline);
  const auto plain = [&](const char* key, Value value) { put(key, "", ValueKind::count, std::move(value)); };
  plain("total_time_ms", program.wall_seconds * 1e3);
  plain("cuda_time_ms", gpus.empty() ? Value(no_gpu) : us(all.busy_ns()) / 1e3 / static_cast<double>(gpus.size()));
  plain("cpu_time_ms", us(active.host_ns) / 1e3);
  const Allocator allocator = allocator_of(linked.timeline);
  for (const auto& [key, bytes] :
       {std::pair("peak_memory_mb", allocator.peak), std::pair("allocated_memory_mb", allocator.allocated),
        std::pair("reserved_memory_mb", allocator.reserved)})
    plain(key, bytes ? Value(*bytes / megabyte) : Absent{std::string(no_allocator)});
  plain("total_time_us", us(active.total_ns));
  plain("cpu_active_time_us", us(active.host_ns));
  plain("gpu_active_time_us", us(active.gpu_ns));
  plain("overlap_time_us", us(active.both_ns));
  return table;
}

std::vector<ResultTable> hta_tables(const Linked& linked, std::string_view /*by*/) {
  const Program program = analyze(linked);
  ResultTable kernels{"kernels", columns_of("name:kernel=kernel, copy or fill|(none); kind; cuda_time_us; time_us; "
                                            ":seconds=time; self_time_us; count=count; p50_us; p95_us; p99_us")};
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
    advice.add({one.advice});
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
