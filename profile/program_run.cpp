// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>

#include "bench/counters/counter_pass.h"
#include "classifier/classifier.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/statistics/statistics.h"
#include "profile/verdicts.h"
#include "timeline/program/findings.h"
#include "timeline/program/program.h"
#include "timeline/structure/steps.h"

namespace gpubench::profile {
namespace {

using timeline::SliceKind;

std::string extent_text(const std::array<std::uint32_t, 3>& extent) {
  std::string text = fmt::format("{}", extent[0]);
  if (extent[1] > 1 || extent[2] > 1) text += fmt::format("x{}", extent[1]);
  if (extent[2] > 1) text += fmt::format("x{}", extent[2]);
  return text;
}

double blocks_of(const timeline::LaunchShape& shape) {
  return static_cast<double>(shape.grid[0]) * shape.grid[1] * shape.grid[2];
}

/// A few hexadecimal digits that tell names apart which are short alike.
std::string mark_of(std::string_view name) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("~{:04x}", (hash ^ (hash >> 16U)) & 0xffffU);
}

/// As ceilings of copies call it, whatever memory of the host it goes to.
std::string name_of_command(std::string name) {
  if (const auto place = name.find("pageable"); place != std::string::npos) name.replace(place, 8, "host");
  return name;
}

class Measurements {
 public:
  Measurements(const Recordings& recordings, const GroupOptions& options, const timeline::StringPool& paths,
               const std::vector<KernelGroup>& groups, const Run& run)
      : recordings_(recordings), options_(options), paths_(paths), run_(run) {
    for (const Device& device : run.devices) {
      const Calibration* const calibration = run.calibration_of(device.id);
      costs_.push_back(calibration == nullptr ? std::nullopt : fixed_costs_of(*calibration));
    }
    // Short names that several kernels share get a mark.
    std::map<std::string, std::string> first;
    for (const KernelGroup& group : groups) {
      if (is_command(group.key.kind)) continue;
      const std::string& full = full_name(group.key.name);
      const auto [place, fresh] = first.try_emplace(short_kernel_name(full), full);
      if (!fresh && place->second != full) ambiguous_.insert(place->first);
    }
  }

  Measurement of(const KernelGroup& group) {
    Measurement measurement;
    const GroupKey& key = group.key;
    measurement.device = run_.devices[key.device].id;
    measurement.cache_state = "as in the program";
    if (is_command(key.kind)) {
      const bool is_pageable = contains(recordings_.timeline.names.text(key.name), "pageable");
      const std::string name = name_of_command(recordings_.timeline.names.text(key.name));
      measurement.operation = name;
      std::ranges::replace(measurement.operation, ' ', '-');
      std::erase(measurement.operation, ',');
      measurement.arguments.push_back({.name = "bytes", .value = std::max<std::int64_t>(key.bytes, 0)});
      measurement.kernels.push_back({.kind = key.kind == SliceKind::fill ? CommandKind::fill : CommandKind::copy,
                                     .launch = {.name = name},
                                     .bytes = std::max<std::int64_t>(key.bytes, 0),
                                     .seconds = std::nullopt});
      if (is_pageable) measurement.arguments.push_back({.name = "host", .value = 0, .text = "pageable"});
    } else {
      fill_kernel(group, measurement);
    }
    if (key.path != 0) measurement.arguments.push_back({.name = "in", .value = 0, .text = paths_.text(key.path)});
    measurement.name = measurement.operation;
    for (const Argument& argument : measurement.arguments)
      measurement.name += fmt::format("/{}:{}", argument.name, value_text(argument));
    // Groups that differ in what their names do not show: registers, shared memory.
    if (const int before = named_alike_[measurement.name + "\n" + measurement.device]++; before > 0) {
      measurement.arguments.push_back({.name = "variant", .value = 0, .text = fmt::format("{}", before + 1)});
      measurement.name += fmt::format("/variant:{}", before + 1);
    }
    measurement.timings = timings_of(
        {.durations_ns = group.timed_ns(),
         .kernels = is_command(key.kind) ? 0 : 1,
         .launches = is_command(key.kind) ? 0 : 1,
         .method = group.durations_ns.empty() ? "activity records of launches around which counters were read"
                                              : "activity records of the program's launches"},
        costs_[key.device]);
    fill_counters(group, measurement);
    return measurement;
  }

 private:
  const std::string& full_name(std::uint32_t name) {
    const auto [place, fresh] = full_names_.try_emplace(name);
    if (fresh) place->second = demangled(recordings_.timeline.names.text(name));
    return place->second;
  }

  void fill_kernel(const KernelGroup& group, Measurement& measurement) {
    const timeline::LaunchShape& shape = group.key.shape;
    const std::string& full = full_name(group.key.name);
    measurement.operation = short_kernel_name(full);
    if (ambiguous_.contains(measurement.operation)) measurement.operation += mark_of(full);
    measurement.arguments.push_back({.name = "grid", .value = 0, .text = extent_text(shape.grid)});
    measurement.arguments.push_back({.name = "block", .value = 0, .text = extent_text(shape.block)});
    KernelLaunch launch;
    launch.name = full;
    for (std::size_t i = 0; i < 3; ++i) {
      launch.grid[i] = shape.grid[i];
      launch.block[i] = shape.block[i];
    }
    launch.registers = shape.registers;
    launch.static_shared_bytes = shape.static_shared_bytes;
    launch.dynamic_shared_bytes = shape.dynamic_shared_bytes;
    launch.local_bytes = shape.local_bytes;
    const auto fitting = group.device == nullptr ? std::nullopt : blocks_per_multiprocessor(shape, *group.device);
    measurement.kernels.push_back({.kind = CommandKind::kernel,
                                   .launch = std::move(launch),
                                   .bytes = std::nullopt,
                                   .seconds = std::nullopt,
                                   .blocks_per_multiprocessor = fitting});
    const double blocks = blocks_of(shape);
    const auto whole = static_cast<std::int64_t>(blocks);
    const auto units = static_cast<std::int64_t>(run_.devices[group.key.device].units);
    measurement.launches = Launches{1, whole, std::max<std::int64_t>(whole - units, 0)};
    if (fitting) measurement.grid = Grid{whole, *fitting};
  }

  void fill_counters(const KernelGroup& group, Measurement& measurement) const {
    if (is_command(group.key.kind) || options_.metrics.empty()) return;
    measurement.absent_counters = options_.absent_metrics;
    std::map<std::string, double> values;
    for (const auto& [name, sum] : group.all_counters(recordings_.timeline.names))
      values[name] = sum.sum / static_cast<double>(sum.count);
    if (const auto clock = values.find("sm__cycles_elapsed.avg.per_second"); clock != values.end()) {
      measurement.clock_hz = clock->second;
      measurement.clock_hz_source = "cupti range around launches";
    }
    const std::string own = !group.further.empty()
                                ? fmt::format("cupti range, mean of launches in {} runs", options_.further.size() + 1)
                            : group.counted == 1 ? "cupti range, of 1 launch"
                                                 : fmt::format("cupti range, mean of {} launches", group.counted);
    std::map<std::string, std::string> borrowed;
    for (const auto& [name, path] : group.borrowed)
      borrowed[recordings_.timeline.names.text(name)] =
          fmt::format("cupti range, {} in {}", group.in_graph ? "like launches outside of its graph" : "launches",
                      path == 0 ? "no range" : paths_.text(path));
    const auto source_of = [&](const bench::ResolvedMetric& metric) {
      for (const auto& term : metric.terms)
        if (const auto from = borrowed.find(term.counter); from != borrowed.end()) return from->second;
      return own;
    };
    const auto why_missing = [&](const std::string&, const std::string&) -> std::string {
      if (group.counted > 0 || !group.further.empty())
        return "no launch of the group was counted in the set that holds it";
      return group.key.kind == SliceKind::communication ? "its launches wait for other GPUs and are not counted"
             : group.in_graph ? "it runs in a CUDA graph, and nothing like it outside of one was counted"
                              : "none of its launches was counted";
    };
    bench::add_counters(measurement, options_.metrics, values, source_of, why_missing);
  }

  const Recordings& recordings_;
  const GroupOptions& options_;
  const timeline::StringPool& paths_;
  const Run& run_;
  std::vector<std::optional<FixedCosts>> costs_;
  std::set<std::string> ambiguous_;
  std::unordered_map<std::uint32_t, std::string> full_names_;
  std::map<std::string, int> named_alike_;  ///< groups by name and device
};

ProgramKernel facts_of(const KernelGroup& group, const std::string& point, const timeline::StringPool& paths,
                       std::int64_t all_ns) {
  ProgramKernel kernel;
  kernel.point = point;
  kernel.range = paths.text(group.key.path);
  kernel.launches = group.launches();
  kernel.counted = static_cast<std::int64_t>(group.counted_durations_ns.size());
  kernel.total_seconds = seconds_of(group.total_ns);
  std::vector<double> durations;
  for (const std::int64_t duration : group.timed_ns()) durations.push_back(seconds_of(duration));
  std::ranges::sort(durations);
  kernel.p50_seconds = statistics::quantile(durations, 0.5);
  kernel.p95_seconds = statistics::quantile(durations, 0.95);
  kernel.share = all_ns > 0 ? static_cast<double>(group.total_ns) / static_cast<double>(all_ns) : 0.0;
  return kernel;
}

/// The groups that take the most time; of the others it is said how much they take.
void keep_largest(std::size_t max_groups, std::int64_t all_ns, std::vector<KernelGroup>& groups, Run& run) {
  if (groups.size() <= max_groups) return;
  std::int64_t rest = 0;
  for (std::size_t i = max_groups; i < groups.size(); ++i) rest += groups[i].total_ns;
  run.warnings.push_back(fmt::format(
      "{} kernel groups with {} of the time are not listed: the {} that take the most are. Choose others with "
      "--kernels or --range.",
      groups.size() - max_groups, format_percent(static_cast<double>(rest) / static_cast<double>(all_ns)), max_groups));
  groups.resize(max_groups);
}

/// What recording took, and what it lacks.
void describe_recording(const Recordings& recordings, const GroupOptions& options, Run& run) {
  Program& program = *run.program;
  for (const Recordings::Cost& cost : recordings.costs)
    program.self_cost.push_back({.what = cost.what,
                                 .count = cost.count,
                                 .seconds_each = cost.count > 0
                                                     ? std::optional(cost.seconds / static_cast<double>(cost.count))
                                                     : std::nullopt});
  program.kernel_launches = recordings.kernels;
  program.counted_launches = static_cast<std::int64_t>(recordings.counted.size());
  for (const FurtherCounters& more : options.further) program.counted_launches += more.counted_launches;
  program.dropped_records = recordings.timeline.dropped;
  program.counters_reason = joined(recordings.counter_notes, " ");
  run.warnings.insert(run.warnings.end(), recordings.timeline.warnings.begin(), recordings.timeline.warnings.end());
  if (program.dropped_records > 0)
    run.warnings.push_back(
        fmt::format("{} records were lost: counts and times are too low by as much.", program.dropped_records));
}

}  // namespace

std::optional<std::int64_t> blocks_per_multiprocessor(const timeline::LaunchShape& shape,
                                                      const RecordedDevice& device) {
  const auto warps = device.number("max warps");
  const auto blocks = device.number("max blocks");
  const auto registers = device.number("registers");
  const auto shared = device.number("shared bytes");
  if (!warps || !blocks || !registers || !shared) return std::nullopt;
  constexpr std::int64_t threads_of_a_warp = 32;
  constexpr std::int64_t registers_at_a_time = 256;
  constexpr std::int64_t reserved_shared_bytes = 1024;  // of each block, since compute capability 8.0
  const std::int64_t threads = std::int64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  const std::int64_t warps_of_block = (threads + threads_of_a_warp - 1) / threads_of_a_warp;
  if (warps_of_block <= 0 || threads > 1024) return std::nullopt;
  std::int64_t fitting = std::min(*blocks, *warps / warps_of_block);
  if (shape.registers > 0) {
    const std::int64_t of_warp = (std::int64_t{shape.registers} * threads_of_a_warp + registers_at_a_time - 1) /
                                 registers_at_a_time * registers_at_a_time;
    fitting = std::min(fitting, *registers / of_warp / warps_of_block);
  }
  const std::int64_t shared_of_block =
      std::int64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes + reserved_shared_bytes;
  fitting = std::min(fitting, *shared / shared_of_block);
  return fitting > 0 ? std::optional(fitting) : std::nullopt;
}

std::vector<Device> devices_of(const Recordings& recordings, const std::vector<Device>& known) {
  std::vector<std::pair<std::uint32_t, int>> used;
  for (const timeline::Track& track : recordings.timeline.tracks)
    if (track.kind == timeline::TrackKind::stream) used.emplace_back(track.process, static_cast<int>(track.device));
  std::vector<Device> devices;
  for (const RecordedDevice& recorded : recordings.devices) {
    if (!contains(used, std::pair(recorded.process, recorded.index))) continue;
    const std::string uuid = recorded.text("uuid");
    const auto is_it = [&](const Device& device) {
      const auto place = device.properties.find("uuid");
      return place != device.properties.end() && place->second == uuid;
    };
    if (std::ranges::any_of(devices, is_it)) continue;
    if (const auto here = std::ranges::find_if(known, is_it); here != known.end()) {
      devices.push_back(*here);
      continue;
    }
    Device device;
    device.id = gpu_id(recorded.index);
    while (contains(devices, device.id, &Device::id)) device.id += "'";
    device.kind = DeviceKind::gpu;
    device.name = recorded.text("name");
    device.architecture = recorded.text("architecture");
    device.units = static_cast<int>(std::min<std::int64_t>(recorded.number("multiprocessors").value_or(0), 100'000));
    device.memory_bytes = recorded.number("memory bytes").value_or(0);
    device.last_level_cache_bytes = recorded.number("l2 bytes").value_or(0);
    device.properties["uuid"] = uuid;
    devices.push_back(std::move(device));
  }
  return devices;
}

namespace {

/// What of the program is judged, and what its parts are.
struct Judged {
  explicit Judged(const timeline::Timeline& timeline) : linked(timeline) {}
  timeline::Linked linked;
  std::vector<timeline::Steps> steps;
  std::vector<std::uint32_t> group_of_slice;
};

/// Fills GroupOptions::windows and what the program says of its phases.
timeline::WindowsOf find_steps(Judged& judged, GroupOptions& options, Program& program) {
  const bool asked = !options.range.empty();
  judged.steps = asked ? timeline::steps_in_ranges(judged.linked, options.range) : timeline::steps(judged.linked);
  timeline::SteadyWindows steady = timeline::steady_windows(judged.linked, judged.steps, asked);
  for (const timeline::Steps& one : judged.steps)
    std::ranges::move(timeline::phases(judged.linked, one), std::back_inserter(program.phases));
  if (options.whole) return {};
  program.steady_reason = steady.why_not;
  if (steady.windows.empty()) return {};
  SteadyState& state = program.steady.emplace();
  state.by = judged.steps.front().by;
  state.kernel_share = steady.kernel_share;
  for (const timeline::Steps& one : judged.steps) {
    state.steps += static_cast<std::int64_t>(one.all.size());
    state.seconds = std::max(state.seconds, seconds_of(one.total_ns()));
  }
  if (!asked) options.windows = steady.windows;  // of ranges the launches decide, not when they ran
  return steady.windows;
}

void add_program(const Recordings& recordings, GroupOptions options, Judged& judged, Run& run) {
  Program told;
  timeline::AnalysisOptions analysis;
  if (options.steady) analysis.windows = find_steps(judged, options, told);
  run.program = timeline::analyze(judged.linked, analysis);  // first: it takes much memory for a while
  run.program->phases = std::move(told.phases);
  run.program->steady = std::move(told.steady);
  run.program->steady_reason = std::move(told.steady_reason);
  timeline::StringPool paths;
  std::vector<KernelGroup> groups =
      kernel_groups(recordings, options, run, paths, options.steady ? &judged.group_of_slice : nullptr);
  std::int64_t all_ns = 0;
  for (const KernelGroup& group : groups) all_ns += group.total_ns;
  keep_largest(options.max_groups, all_ns, groups, run);
  for (const FurtherCounters& more : options.further)
    for (KernelGroup& group : groups)
      if (const auto known = more.of_group.find(lasting_key(group, recordings.timeline, paths, run));
          known != more.of_group.end())
        for (const auto& [name, sum] : known->second) group.further[name].add(sum);
  Measurements measurements(recordings, options, paths, groups, run);
  for (const KernelGroup& group : groups) {
    Measurement measurement = measurements.of(group);
    run.program->kernels.push_back(facts_of(group, measurement.name, paths, all_ns));
    run.points.push_back({.measurement = std::move(measurement), .verdict = std::nullopt});
  }
  describe_recording(recordings, options, run);
}

/// What the steps of the program are made of, by the verdicts of its kernels, which are the run's points.
void add_steps(Judged& judged, Run& run) {
  if (judged.steps.empty()) return;
  timeline::Roofs roofs;
  for (const Point& point : run.points) roofs.groups.push_back({point.measurement.operation, roof_share(point)});
  roofs.of_slice = std::move(judged.group_of_slice);
  for (std::uint32_t& group : roofs.of_slice)
    if (group >= roofs.groups.size()) group = timeline::none;  // of those that are not listed
  run.program->steps = timeline::step_times(judged.linked, judged.steps, run.calibrations.empty() ? nullptr : &roofs);
}

}  // namespace

void add_program(const Recordings& recordings, const GroupOptions& options, Run& run) {
  Judged judged(recordings.timeline);
  add_program(recordings, options, judged, run);
}

namespace {

/// Kernels that calculate one element from one of each input: neighbours of them fuse.
bool is_elementwise(std::string_view name) {
  constexpr std::array<std::string_view, 3> parts = {"elementwise_kernel", "triton_poi_", "CatArrayBatchedCopy"};
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains(name, part); });
}

/// Elementwise kernels at memory's ceiling are as fast as they can be, one by one: two of them as one move half as
/// much.
void find_fusible(Run& run) {
  constexpr double at_ceiling = 0.6;
  constexpr double fused_share = 0.5;
  Program& program = *run.program;
  std::map<std::string_view, const ProgramKernel*> facts;
  for (const ProgramKernel& kernel : program.kernels) facts[kernel.point] = &kernel;
  double seconds = 0.0, share = 0.0;
  std::int64_t launches = 0;
  for (const Point& point : run.points) {
    const auto& kernels = point.measurement.kernels;
    if (!point.verdict || point.verdict->regime != Regime::memory ||
        point.verdict->achieved.value_or(0.0) < at_ceiling || kernels.size() != 1 ||
        !is_elementwise(kernels.front().launch.name))
      continue;
    const ProgramKernel& kernel = *facts.at(point.measurement.name);
    seconds += kernel.total_seconds;
    share += kernel.share;
    launches += kernel.launches;
  }
  const double wall = undisturbed_seconds(program);
  if (launches < 2 || fused_share * seconds < timeline::min_share * wall) return;
  program.findings.push_back(timeline::make_finding(
      "kernels.fuse", fused_share * seconds, wall,
      fmt::format("{} launches of elementwise kernels run at memory's ceiling and take {} of the GPU's time.",
                  format_count(static_cast<double>(launches)), format_percent(share)),
      "Fuse neighbours, so that data need not pass through memory between them: torch.compile, or one kernel by hand.",
      fmt::format("a gain of {} of the time", format_percent(timeline::min_share))));
  timeline::sort_by_gain(program.findings);
}

}  // namespace

Run verdicts_of(const Recordings& recordings, Run ceilings, GroupOptions options) {
  options.metrics = counted_metrics(recordings, options.further);
  Judged judged(recordings.timeline);
  add_program(recordings, std::move(options), judged, ceilings);
  classifier::classify(ceilings);
  find_fusible(ceilings);
  add_steps(judged, ceilings);
  return ceilings;
}

}  // namespace gpubench::profile
