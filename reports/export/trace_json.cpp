// SPDX-License-Identifier: Apache-2.0
// docs/reference/trace-json.md describes the fields.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/device.h"
#include "reports/result_table.h"
#include "reports/trace.h"
#include "timeline/analyses/analyses.h"
#include "timeline/analyses/flame.h"
#include "timeline/analyses/rows.h"

namespace gpubench::reports {
namespace {

using Json = nlohmann::ordered_json;
using timeline::Timeline;

constexpr std::size_t max_kernels = 1000;
constexpr std::size_t top_kernels = 10;
constexpr std::size_t max_bars = 20'000;
constexpr std::size_t max_steps = 512;  // of a curve
constexpr std::size_t max_parts = 10'000;
constexpr double megabyte = 1e6;

std::string valid_text(const Json& json) {
  return valid_json(json.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }
double milliseconds(double s) { return s * 1e3; }

Json maybe(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// Quantities in `unit`: 1e9 for seconds from nanoseconds.
Json of(const timeline::Distribution& values, double unit) {
  return {{"count", values.count},      {"sum", values.sum / unit},
          {"mean", values.mean / unit}, {"stddev", values.deviation / unit},
          {"min", values.min / unit},   {"p25", values.p25 / unit},
          {"p50", values.p50 / unit},   {"p75", values.p75 / unit},
          {"p95", values.p95 / unit},   {"p99", values.p99 / unit},
          {"max", values.max / unit}};
}

template <class Items, class Of>
Json list(const Items& items, const Of& of_item) {
  Json all = Json::array();
  for (const auto& item : items) all.push_back(of_item(item));
  return all;
}

/// Every so manieth step of a curve, so that at most `max_steps` are left, and the last.
template <class Steps>
Json curve(const Steps& steps, const char* value_name) {
  Json times = Json::array(), values = Json::array();
  const std::size_t stride = steps.size() / max_steps + 1;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (i % stride == 0 || i + 1 == steps.size()) {
      times.push_back(seconds_of(steps[i].first));
      values.push_back(steps[i].second);
    }
  return {{"time_seconds", std::move(times)}, {value_name, std::move(values)}};
}

Json findings(const Program& program) {
  return list(program.findings, [](const Finding& finding) {
    return Json{{"code", finding.code},           {"text", finding.text},
                {"evidence", finding.evidence},   {"advice", finding.advice},
                {"threshold", finding.threshold}, {"gain_seconds", maybe(finding.gain_seconds)}};
  });
}

Json gpus(const Timeline& timeline, const timeline::Summary& summary) {
  const auto labels = timeline::process_labels(timeline);
  return list(summary.gpus, [&](const timeline::Breakdown& gpu) {
    Json one = {{"device", gpu.device < 0 ? "gpu" : gpu_id(gpu.device)},
                {"model", timeline::gpu_model(timeline, gpu.process, gpu.device)},
                {"process", labels[gpu.process]},
                {"rank", timeline.processes[gpu.process].rank ? Json(*timeline.processes[gpu.process].rank) : Json()},
                {"span_seconds", seconds_of(gpu.span_ns())},
                {"busy_seconds", seconds_of(gpu.busy_ns())},
                {"idle_seconds", seconds_of(gpu.idle_ns())},
                {"compute_seconds", seconds_of(gpu.compute_ns())},
                {"communication_seconds", seconds_of(gpu.communication_ns())},
                {"memory_seconds", seconds_of(gpu.memory_ns())},
                {"communication_overlap_seconds", seconds_of(gpu.overlap_ns())},
                {"exposed_communication_seconds", seconds_of(gpu.exposed_communication_ns())}};
    for (const GpuTime& time : summary.program.gpus)
      if (time.device == one["device"].get_ref<const std::string&>() && time.process == labels[gpu.process])
        one["idle_by_cause"] = list(time.idle, [](const Idle& idle) {
          return Json{{"cause", name_of(idle.cause)}, {"seconds", idle.seconds}, {"gaps", idle.gaps}};
        });
    return one;
  });
}

Json stream_idle(const Timeline& timeline, const timeline::Summary& summary) {
  return list(summary.idle, [&](const timeline::StreamIdle& idle) {
    const timeline::Track& track = timeline.tracks[idle.track];
    return Json{{"gpu", timeline::gpu_name(timeline, track.process, track.device)},
                {"stream", track.id},
                {"host_wait_seconds", seconds_of(idle.host_ns)},
                {"kernel_wait_seconds", seconds_of(idle.kernel_ns)},
                {"other_seconds", seconds_of(idle.other_ns)}};
  });
}

Json launches(const Timeline& timeline, const timeline::Summary& summary) {
  return list(summary.launches, [&](const timeline::LaunchTimes& one) {
    return Json{{"gpu", timeline::gpu_name(timeline, one.process, one.device)},
                {"call_seconds", of(one.call_ns, 1e9)},
                {"work_seconds", of(one.work_ns, 1e9)},
                {"delay_seconds", of(one.delay_ns, 1e9)},
                {"work_shorter_than_call", one.shorter_work},
                {"slow_calls", one.slow_calls},
                {"late_starts", one.late_starts},
                {"work_without_call", one.without_call}};
  });
}

Json launch_bound(const Timeline& timeline, const timeline::Summary& summary) {
  return list(summary.launch_bound, [&](const timeline::LaunchBound& one) {
    return Json{{"gpu", timeline::gpu_name(timeline, one.process, one.device)},
                {"start_seconds", seconds_of(one.start_ns)},
                {"end_seconds", seconds_of(one.end_ns)},
                {"idle_seconds", seconds_of(one.idle_ns)},
                {"works", one.works}};
  });
}

Json memory(const Program& program) {
  return list(program.memory, [](const ProgramMemory& one) {
    return Json{{"process", one.process},
                {"kind", one.kind},
                {"allocations", one.allocations},
                {"peak_bytes", one.peak_bytes},
                {"peak_seconds", one.peak_seconds},
                {"never_freed_bytes", one.never_freed_bytes},
                {"curve_seconds", one.curve_seconds},
                {"curve_bytes", one.curve_bytes}};
  });
}

Json never_freed(const Program& program) {
  return list(program.never_freed, [](const NeverFreed& one) {
    return Json{{"source", one.source}, {"kind", one.kind}, {"allocations", one.allocations}, {"bytes", one.bytes}};
  });
}

/// What PyTorch's allocator said last, and the most: of all processes and GPUs together.
struct Allocator {
  std::optional<double> peak, allocated, reserved;
};
Allocator allocator_of(const Timeline& timeline) {
  Allocator all;
  const auto add = [](std::optional<double>& sum, double value) { sum = sum.value_or(0.0) + value; };
  for (const timeline::CounterTrack& counter : timeline.counters) {
    if (counter.samples.empty()) continue;
    double most = 0.0;
    for (const timeline::CounterSample& sample : counter.samples) most = std::max(most, sample.value);
    if (counter.name.starts_with(timeline::allocated_counter)) {
      add(all.allocated, counter.samples.back().value);
      add(all.peak, most);
    } else if (counter.name.starts_with(timeline::reserved_counter)) {
      add(all.reserved, counter.samples.back().value);
    }
  }
  return all;
}

std::string name_in(const Timeline& timeline, std::uint32_t name) { return timeline.names.text(name); }

Json flame_of(const Timeline& timeline) {
  timeline::FlameOptions options;
  options.max_depth = 64;
  options.by_thread = false;
  options.min_duration_ns = 0;
  if (!timeline.slices.empty()) {
    std::int64_t end = 0;
    for (const timeline::Slice& slice : timeline.slices) end = std::max(end, slice.end_ns());
    options.min_duration_ns = (end - timeline.slices.front().start_ns) / 1000;
  }
  const timeline::FlameGraph graph = timeline::flame(timeline, options);
  return Json::parse(timeline::flame_json(graph, graph.natural_weight()), nullptr, false);
}

/// Of `trace summary` and of /api/profiler alike: what HTA and the seed's sessions call them.
Json kernel_fields(const Timeline& timeline, const timeline::KernelTime& kernel) {
  return {{"name", name_in(timeline, kernel.name)},        {"kind", name_of(kernel.kind)},
          {"cuda_time_us", microseconds(kernel.total_ns)}, {"time_us", microseconds(kernel.total_ns)},
          {"self_time_us", microseconds(kernel.self_ns)},  {"count", kernel.durations_ns.count},
          {"p50_us", kernel.durations_ns.p50 / 1e3},       {"p95_us", kernel.durations_ns.p95 / 1e3},
          {"p99_us", kernel.durations_ns.p99 / 1e3}};
}

Json kernel_list(const Timeline& timeline, const std::vector<timeline::KernelTime>& kernels, std::size_t most) {
  Json all = Json::array();
  for (std::size_t i = 0; i < std::min(kernels.size(), most); ++i) all.push_back(kernel_fields(timeline, kernels[i]));
  return all;
}

/// The fields of an HTA report. Without work on a GPU there is no percentage, rather than zero.
Json hta_fields(const Timeline& timeline, const timeline::Summary& summary) {
  const timeline::Breakdown all = timeline::together(summary.gpus);
  const std::vector<Finding>& findings = summary.program.findings;
  const auto percent = [&](std::int64_t part) {
    return all.span_ns() > 0 ? Json(100.0 * static_cast<double>(part) / static_cast<double>(all.span_ns())) : Json();
  };
  return {{"gpu_idle_time_pct", percent(all.idle_ns())},
          {"compute_time_pct", percent(all.compute_ns())},
          {"communication_time_pct", percent(all.communication_ns())},
          {"memory_time_pct", percent(all.memory_ns())},
          {"top_kernels", kernel_list(timeline, summary.kernels, top_kernels)},
          {"recommendations", list(findings, [](const Finding& one) { return Json(one.advice); })},
          {"bottlenecks", list(findings, [](const Finding& one) { return Json(one.evidence); })}};
}

Json activity_fields(const timeline::Activity& activity) {
  return {{"total_time_us", microseconds(activity.total_ns)},
          {"cpu_active_time_us", microseconds(activity.host_ns)},
          {"gpu_active_time_us", microseconds(activity.gpu_ns)},
          {"overlap_time_us", microseconds(activity.both_ns)}};
}

Json of(const timeline::Change& change) {
  return {{"name", change.name},
          {"base_seconds", change.base.seconds},
          {"new_seconds", change.next.seconds},
          {"base_count", change.base.count},
          {"new_count", change.next.count},
          {"difference_seconds", change.difference()},
          {"difference_ci95_seconds",
           change.difference_ci95 ? Json{change.difference_ci95->low, change.difference_ci95->high} : Json()},
          {"p", maybe(change.p)},
          {"sure", change.sure()}};
}

}  // namespace

std::string trace_summary_json(const Timeline& timeline, const timeline::Summary& summary,
                               const std::vector<std::string>& traces, const WorkVerdicts* verdicts) {
  const Program& program = summary.program;
  const Allocator allocator = allocator_of(timeline);
  const auto megabytes = [](const std::optional<double>& bytes) { return bytes ? Json(*bytes / megabyte) : Json(); };
  Json absent = Json::object();
  if (summary.gpus.empty()) absent["gpu_idle_time_pct"] = "no GPU worked while the trace was recorded";
  if (!allocator.peak)
    for (const char* field : {"peak_memory_mb", "allocated_memory_mb", "reserved_memory_mb"})
      absent[field] = "the trace tells nothing of the allocator: record with profile_memory=True";
  double busy = 0.0;
  for (const timeline::Breakdown& gpu : summary.gpus)
    busy += seconds_of(gpu.busy_ns()) / static_cast<double>(summary.gpus.size());
  const auto labels = timeline::process_labels(timeline);
  Json json = {{"schema", "gpubench trace summary"}, {"schema_version", 1}, {"traces", traces}};
  json.update(hta_fields(timeline, summary));
  json.update({
      // Those of a profiling session.
      {"total_time_ms", milliseconds(program.wall_seconds)},
      {"cuda_time_ms", summary.gpus.empty() ? Json() : Json(milliseconds(busy))},
      {"cpu_time_ms", milliseconds(seconds_of(summary.activity.host_ns))},
      {"peak_memory_mb", megabytes(allocator.peak)},
      {"allocated_memory_mb", megabytes(allocator.allocated)},
      {"reserved_memory_mb", megabytes(allocator.reserved)},
      {"kernels", kernel_list(timeline, summary.kernels, max_kernels)},
      {"trace_path", traces.empty() ? "" : traces.front()},
      {"flame_graph_data", flame_of(timeline)},
  });
  json.update(activity_fields(summary.activity));
  json.update({{"findings", findings(program)},
               {"gpus", gpus(timeline, summary)},
               {"streams", stream_idle(timeline, summary)},
               {"launches", launches(timeline, summary)},
               {"launch_bound", launch_bound(timeline, summary)},
               {"copies", list(summary.copies,
                               [&](const timeline::CopyTimes& one) {
                                 return Json{{"gpu", timeline::gpu_name(timeline, one.process, one.device)},
                                             {"name", one.name},
                                             {"count", one.count},
                                             {"bytes", one.bytes},
                                             {"without_bytes", one.without_bytes},
                                             {"seconds", seconds_of(one.time_ns)},
                                             {"bytes_per_second", of(one.bytes_per_second, 1.0)},
                                             {"over_time", curve(one.steps, "bytes_per_second")}};
                               })},
               {"iterations", list(summary.iterations,
                                   [&](const timeline::Iterations& one) {
                                     return Json{{"process", labels[one.process]},
                                                 {"by", one.by},
                                                 {"seconds", of(one.duration_ns, 1e9)},
                                                 {"slow", one.slow()},
                                                 {"each", list(one.all, [](const timeline::Iteration& each) {
                                                    return Json{{"start_seconds", seconds_of(each.start_ns)},
                                                                {"seconds", seconds_of(each.end_ns - each.start_ns)},
                                                                {"works", each.works},
                                                                {"work_seconds", seconds_of(each.work_ns)}};
                                                  })}};
                                   })},
               {"ranks", list(summary.stragglers.ranks,
                              [&](const timeline::RankWait& one) {
                                return Json{{"process", labels[one.process]},
                                            {"collectives", summary.stragglers.collectives.size()},
                                            {"entered_last", one.last},
                                            {"waited_seconds", seconds_of(one.waited_ns)},
                                            {"kept_others_waiting_seconds", seconds_of(one.kept_waiting_ns)},
                                            {"clock_ahead_seconds", seconds_of(one.clock_ns)}};
                              })},
               {"ranks_reason", summary.stragglers.reason},
               {"memory", memory(program)},
               {"never_freed", never_freed(program)},
               {"warnings", timeline.warnings},
               {"absent", std::move(absent)}});
  if (verdicts == nullptr) return valid_text(json);
  Json judged = Json::array();
  for (std::size_t i = 0; i < verdicts->run.points.size(); ++i) {
    const Point& point = verdicts->run.points[i];
    const auto& verdict = point.verdict;
    const auto& took = point.measurement.seconds();
    Json one = verdicts->of_kernels ? Json{{"kernel", point.measurement.operation}, {"name", point.measurement.name}}
                                    : Json{{"operator", point.measurement.operation},
                                           {"inputs", point.measurement.arguments.at(0).text.value_or("")},
                                           {"type", point.measurement.arguments.at(1).text.value_or("")}};
    one.update({{"device", point.measurement.device},
                {"calls", verdicts->calls.at(i)},
                {"total_seconds", verdicts->total_seconds.at(i)},
                {"median_seconds", took ? Json(took->median) : Json()},
                {"flops", point.measurement.work.total_flops()},
                {"bytes", point.measurement.work.bytes()},
                {"regime", verdict ? Json(name_of(verdict->regime)) : Json()},
                {"limiter", verdict ? Json(verdict->limiter) : Json()},
                {"achieved", verdict ? maybe(verdict->achieved) : Json()}});
    judged.push_back(std::move(one));
  }
  json["verdicts"] = std::move(judged);
  json["verdicts_rest"] = verdicts->rest;
  return valid_text(json);
}

std::string trace_idle_json(const Timeline& timeline, const timeline::Summary& summary) {
  return valid_text({{"schema", "gpubench trace idle"},
                     {"schema_version", 1},
                     {"gpus", gpus(timeline, summary)},
                     {"streams", stream_idle(timeline, summary)},
                     {"launches", launches(timeline, summary)},
                     {"queues", list(timeline::queue_lengths(timeline),
                                     [&](const timeline::QueueLength& queue) {
                                       const timeline::Track& track = timeline.tracks[queue.track];
                                       return Json{{"gpu", timeline::gpu_name(timeline, track.process, track.device)},
                                                   {"stream", track.id},
                                                   {"mean", queue.mean},
                                                   {"empty_share", queue.empty_share},
                                                   {"at_steps", of(queue.at_steps, 1.0)},
                                                   {"over_time", curve(queue.steps, "length")}};
                                     })},
                     {"launch_bound", launch_bound(timeline, summary)},
                     {"warnings", timeline.warnings}});
}

std::string trace_memory_json(const Timeline& timeline, const Program& program) {
  const Allocator allocator = allocator_of(timeline);
  return valid_text({{"schema", "gpubench trace memory"},
                     {"schema_version", 1},
                     {"peak_bytes", maybe(allocator.peak)},
                     {"allocated_bytes", maybe(allocator.allocated)},
                     {"reserved_bytes", maybe(allocator.reserved)},
                     {"memory", memory(program)},
                     {"never_freed", never_freed(program)},
                     {"warnings", timeline.warnings}});
}

std::string table_json(const Timeline& timeline, std::string_view command, const ResultTable& table) {
  return valid_text({{"schema", fmt::format("gpubench trace {}", command)},
                     {"schema_version", 1},
                     {table.name, json_rows(table)},
                     {"warnings", timeline.warnings}});
}

std::string critical_path_json(const Timeline& timeline, const timeline::CriticalPath& path) {
  Json kinds = Json::object(), parts = Json::array();
  for (std::size_t i = 0; i < path.by_kind.size(); ++i)
    kinds[std::string(timeline::path_kind_names[i])] = seconds_of(path.by_kind[i]);
  for (std::size_t i = 0; i < std::min(path.parts.size(), max_parts); ++i) {
    const timeline::PathPart& part = path.parts[i];
    parts.push_back(
        {{"kind", name_of(part.kind)},
         {"start_seconds", seconds_of(part.start_ns)},
         {"seconds", seconds_of(part.end_ns - part.start_ns)},
         {"name", part.kind == timeline::PathKind::host ? "" : name_in(timeline, timeline.slices[part.slice].name)},
         {"track", timeline.tracks[part.track].name}});
  }
  return valid_text({{"schema", "gpubench trace critical-path"},
                     {"schema_version", 1},
                     {"start_seconds", seconds_of(path.start_ns)},
                     {"end_seconds", seconds_of(path.end_ns)},
                     {"seconds_by_kind", std::move(kinds)},
                     {"sums", list(path.sums,
                                   [&](const timeline::PathSum& sum) {
                                     return Json{{"kind", name_of(sum.kind)},
                                                 {"name", name_in(timeline, sum.name)},
                                                 {"count", sum.count},
                                                 {"seconds", seconds_of(sum.total_ns)}};
                                   })},
                     {"part_count", path.parts.size()},
                     {"parts", std::move(parts)},
                     {"warnings", timeline.warnings}});
}

std::string api_hta_json(const Timeline& timeline) {
  const timeline::Summary summary = timeline::summarize(timeline);
  Json json = hta_fields(timeline, summary);
  if (summary.gpus.empty()) json["reason"] = "no work on a GPU was recorded";
  return valid_text(json);
}

std::string api_kernels_json(const Timeline& timeline) {
  const auto kernels = timeline::kernel_times(timeline, timeline::KernelsBy::name);
  return valid_text({{"kernels", kernel_list(timeline, kernels, kernels.size())}});
}

std::string api_timeline_json(const Timeline& timeline) {
  const timeline::Rows rows = timeline::rows(timeline, {.max_bars = max_bars});
  Json json = activity_fields(timeline::activity(timeline));
  json["joined_below_us"] = microseconds(rows.step_ns);
  json["tracks"] = list(rows.rows, [&](const timeline::BarRow& row) {
    return Json{{"name", row.name}, {"level", row.level}, {"slices", list(row.bars, [&](const timeline::Bar& bar) {
                                                             return Json{{"name", name_in(timeline, bar.name)},
                                                                         {"kind", name_of(bar.kind)},
                                                                         {"start_us", microseconds(bar.start_ns)},
                                                                         {"duration_us",
                                                                          microseconds(bar.end_ns - bar.start_ns)},
                                                                         {"count", bar.count}};
                                                           })}};
  });
  return valid_text(json);
}

std::string api_memory_json(const Timeline& timeline) {
  const Program program = timeline::analyze(timeline);
  Json json = {{"memory", list(program.memory, [](const ProgramMemory& one) {
                  Json points = Json::array();
                  for (std::size_t i = 0; i < one.curve_seconds.size(); ++i)
                    points.push_back({{"time_ms", milliseconds(one.curve_seconds[i])},
                                      {"allocated_mb", static_cast<double>(one.curve_bytes[i]) / megabyte}});
                  return Json{{"process", one.process},
                              {"kind", one.kind},
                              {"peak_allocated_mb", static_cast<double>(one.peak_bytes) / megabyte},
                              {"peak_time_ms", milliseconds(one.peak_seconds)},
                              {"allocations", one.allocations},
                              {"never_freed_mb", static_cast<double>(one.never_freed_bytes) / megabyte},
                              {"timeline", std::move(points)}};
                })}};
  if (program.memory.empty()) json["reason"] = "the trace has no allocations; record with profile_memory=True";
  return valid_text(json);
}

std::string difference_json(const timeline::Difference& difference) {
  const auto table = [](const std::vector<timeline::Change>& changes) {
    return list(changes, [](const timeline::Change& change) { return of(change); });
  };
  return valid_text({{"schema", "gpubench trace diff"},
                     {"schema_version", 1},
                     {"iterations_by", difference.by},
                     {"reason", difference.reason},
                     {"base_iterations", difference.base_iterations},
                     {"new_iterations", difference.next_iterations},
                     {"iteration", of(difference.iteration)},
                     {"gpu_work", of(difference.gpu)},
                     {"kernels", table(difference.kernels)},
                     {"operators", table(difference.operators)},
                     {"host", table(difference.host)}});
}

}  // namespace gpubench::reports
