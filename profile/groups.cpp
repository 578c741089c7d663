// SPDX-License-Identifier: Apache-2.0
#include "profile/groups.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "bench/activity/kernel_code.h"
#include "bench/counters/post_timing_pass.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/statistics/statistics.h"
#include "timeline/analyses/analyses.h"

namespace gpubench::profile {
namespace {

using timeline::Slice;
using timeline::SliceKind;
using timeline::Timeline;

/// Launches of one function and shape that differ by less in time are taken to do the same work.
constexpr double same_work_difference = 0.05;

bool is_command(SliceKind kind) { return kind == SliceKind::copy || kind == SliceKind::fill; }

/// What tells groups apart.
struct Key {
  std::uint32_t device = 0;  ///< in Run::devices
  SliceKind kind = SliceKind::kernel;
  std::uint32_t name = 0;
  std::uint32_t path = 0;
  std::int64_t bytes = 0;  ///< of a command
  timeline::LaunchShape shape;
  friend auto operator<=>(const Key&, const Key&) = default;
};

struct Group {
  Key key;
  std::vector<std::int64_t> durations_ns;  ///< in the order of starts; of counted launches where there are no others
  std::int64_t counted = 0;
  std::vector<std::int64_t> counted_durations_ns;
  std::map<std::uint32_t, std::pair<double, std::int64_t>> counters;  ///< sum and count by the counter's name
  std::optional<std::uint32_t> counted_in;              ///< the path of the group that the counters were borrowed from
  std::map<std::string, FurtherCounters::Sum> further;  ///< of more runs
  std::int64_t total_ns = 0;
  RecordedDevice const* device = nullptr;

  [[nodiscard]] std::int64_t launches() const {
    return static_cast<std::int64_t>(durations_ns.size() + counted_durations_ns.size());
  }
};

std::uint64_t launch_key(std::uint32_t process, std::uint32_t correlation) {
  return (std::uint64_t{process} << 32U) | correlation;
}

std::optional<std::int64_t> property(const RecordedDevice& device, const char* key) {
  const auto found = device.properties.find(key);
  return found == device.properties.end() ? std::nullopt : number_in<std::int64_t>(found->second);
}

std::string text_property(const RecordedDevice& device, const char* key) {
  const auto found = device.properties.find(key);
  return found == device.properties.end() ? std::string() : found->second;
}

class Grouping {
 public:
  Grouping(const Recordings& recordings, const GroupOptions& options, const Run& run)
      : timeline_(recordings.timeline), options_(options), run_(run) {
    for (const CountedLaunch& launch : recordings.counted)
      counted_.emplace(launch_key(launch.process, launch.correlation), &launch);
    for (std::size_t i = 0; i < recordings.devices.size(); ++i) devices_of_tracks(recordings.devices[i]);
  }

  std::vector<Group> groups(std::vector<std::uint32_t>& paths, timeline::StringPool& path_names) {
    paths = timeline::range_paths(timeline_, path_names);
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i)
      if (timeline::occupies_gpu(timeline_.slices[i].kind)) add(timeline_.slices[i], paths[i], path_names);
    for (Group& group : groups_) {
      group.counted = static_cast<std::int64_t>(group.counted_durations_ns.size());
      group.total_ns =
          std::reduce(group.durations_ns.begin(), group.durations_ns.end(), std::int64_t{0}) +
          std::reduce(group.counted_durations_ns.begin(), group.counted_durations_ns.end(), std::int64_t{0});
    }
    borrow_counters();
    std::ranges::stable_sort(groups_, std::ranges::greater(), &Group::total_ns);
    return std::move(groups_);
  }

 private:
  void devices_of_tracks(const RecordedDevice& device) {
    const std::string uuid = text_property(device, "uuid");
    for (std::size_t i = 0; i < run_.devices.size(); ++i) {
      const auto known = run_.devices[i].properties.find("uuid");
      if (known != run_.devices[i].properties.end() && known->second == uuid)
        run_devices_[{device.process, device.index}] = {static_cast<std::uint32_t>(i), &device};
    }
  }

  /// The program counts the first launches of a function and shape, in whichever range they are. Those of other ranges
  /// do the same work as far as is known where they take as long.
  void borrow_counters() {
    const auto median = [](const Group& group) {
      std::vector<std::int64_t> durations =
          group.durations_ns.empty() ? group.counted_durations_ns : group.durations_ns;
      const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
      std::ranges::nth_element(durations, middle);
      return static_cast<double>(*middle);
    };
    std::map<Key, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      Key key = groups_[i].key;
      if (key.kind != SliceKind::kernel) continue;
      key.path = 0;
      alike[key].push_back(i);
    }
    for (const auto& [key, members] : alike)
      for (const std::size_t i : members) {
        Group& group = groups_[i];
        if (group.counted > 0) continue;
        for (const std::size_t other : members)
          if (const Group& donor = groups_[other];
              donor.counted > 0 && !donor.counted_in &&
              std::abs(median(group) / median(donor) - 1.0) < same_work_difference) {
            group.counters = donor.counters;
            group.counted_in = donor.key.path;
            break;
          }
      }
  }

  bool keeps_name(std::uint32_t name) {
    if (!options_.keeps) return true;
    const auto [place, fresh] = kept_names_.try_emplace(name, false);
    if (fresh) {
      const std::string full = bench::demangled(timeline_.names.text(name));
      place->second = options_.keeps(full) || options_.keeps(short_kernel_name(full));
    }
    return place->second;
  }

  bool keeps_path(std::uint32_t path, const timeline::StringPool& names) {
    if (options_.range.empty()) return true;
    const auto [place, fresh] = kept_paths_.try_emplace(path, false);
    if (fresh) {
      const std::string whole = "/" + names.text(path) + "/";
      place->second = whole.find("/" + options_.range + "/") != std::string::npos;
    }
    return place->second;
  }

  void add(const Slice& slice, std::uint32_t path, const timeline::StringPool& path_names) {
    if (!keeps_name(slice.name) || !keeps_path(path, path_names)) return;
    const timeline::Track& track = timeline_.tracks[slice.track];
    const auto device = run_devices_.find({track.process, static_cast<int>(track.device)});
    if (device == run_devices_.end()) return;
    Key key;
    key.device = device->second.first;
    key.kind = slice.kind;
    key.name = slice.name;
    key.path = path;
    if (is_command(slice.kind))
      key.bytes = slice.detail;
    else if (slice.detail >= 0)
      key.shape = timeline_.shapes[static_cast<std::size_t>(slice.detail)];
    Group& group = group_of(key, slice);
    if (group.device == nullptr) group.device = device->second.second;
    const auto counted = counted_.find(launch_key(track.process, slice.correlation));
    if (counted == counted_.end() || is_command(slice.kind)) {
      group.durations_ns.push_back(slice.duration_ns);
      return;
    }
    group.counted_durations_ns.push_back(slice.duration_ns);
    for (const auto& [name, value] : counted->second->values) {
      auto& [sum, count] = group.counters[name];
      sum += value;
      ++count;
    }
  }

  /// Most slices have the key of the last one of their shape and path, so a table by these comes before the search.
  Group& group_of(const Key& key, const Slice& slice) {
    const std::uint64_t quick = (static_cast<std::uint64_t>(slice.detail) * 0x9E3779B97F4A7C15ULL) ^
                                (std::uint64_t{key.path} << 40U) ^ (std::uint64_t{slice.name} << 16U) ^
                                (std::uint64_t{key.device} << 8U) ^ static_cast<std::uint64_t>(slice.kind);
    const auto [place, fresh] = quick_.try_emplace(quick, 0);
    if (!fresh && groups_[place->second].key == key) return groups_[place->second];
    const auto [sure, is_new] = sure_.try_emplace(key, groups_.size());
    if (is_new) groups_.emplace_back().key = key;
    place->second = sure->second;
    return groups_[sure->second];
  }

  const Timeline& timeline_;
  const GroupOptions& options_;
  const Run& run_;
  std::unordered_map<std::uint64_t, const CountedLaunch*> counted_;
  std::map<std::pair<std::uint32_t, int>, std::pair<std::uint32_t, const RecordedDevice*>> run_devices_;
  std::unordered_map<std::uint32_t, bool> kept_names_;
  std::unordered_map<std::uint32_t, bool> kept_paths_;
  std::vector<Group> groups_;
  std::unordered_map<std::uint64_t, std::size_t> quick_;
  std::map<Key, std::size_t> sure_;
};

/// What tells a group apart from others in any run of the program.
std::string lasting_key(const Group& group, const Timeline& timeline, const timeline::StringPool& paths,
                        const Run& run) {
  const timeline::LaunchShape& shape = group.key.shape;
  return fmt::format("{}\n{}\n{}\n{} {} {} {} {}", run.devices[group.key.device].id,
                     timeline.names.text(group.key.name), paths.text(group.key.path), fmt::join(shape.grid, ","),
                     fmt::join(shape.block, ","), shape.registers, shape.static_shared_bytes,
                     shape.dynamic_shared_bytes);
}

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

/// Every so manieth, in the order of starts.
std::vector<double> thinned(const std::vector<std::int64_t>& durations) {
  const std::size_t step = (durations.size() + max_samples - 1) / max_samples;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < durations.size(); i += std::max<std::size_t>(step, 1))
    seconds.push_back(seconds_of(durations[i]));
  return seconds;
}

Summary moved(const Summary& summary, double by) {
  Summary result = summary;
  for (double* const value : {&result.minimum, &result.lower_quartile, &result.median, &result.upper_quartile,
                              &result.maximum, &result.mean, &result.median_ci95.low, &result.median_ci95.high})
    *value = std::max(*value + by, min_seconds);
  return result;
}

class Measurements {
 public:
  Measurements(const Recordings& recordings, const GroupOptions& options, const timeline::StringPool& paths, Run& run)
      : recordings_(recordings), options_(options), paths_(paths), run_(run) {
    for (const Device& device : run.devices) {
      const Calibration* const calibration = run.calibration_of(device.id);
      costs_.push_back(calibration == nullptr ? std::nullopt : fixed_costs_of(*calibration));
    }
  }

  /// Short names that several kernels share get a mark.
  void name(const std::vector<Group>& groups) {
    std::map<std::string, std::string> first;
    for (const Group& group : groups) {
      if (is_command(group.key.kind)) continue;
      const std::string& full = full_name(group.key.name);
      const auto [place, fresh] = first.try_emplace(short_kernel_name(full), full);
      if (!fresh && place->second != full) ambiguous_[place->first] = true;
    }
  }

  Measurement of(const Group& group) {
    Measurement measurement;
    const Key& key = group.key;
    measurement.device = run_.devices[key.device].id;
    measurement.cache_state = "as in the program";
    if (is_command(key.kind)) {
      const bool is_pageable = recordings_.timeline.names.text(key.name).find("pageable") != std::string::npos;
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
    fill_times(group, measurement);
    fill_counters(group, measurement);
    return measurement;
  }

 private:
  const std::string& full_name(std::uint32_t name) {
    const auto [place, fresh] = full_names_.try_emplace(name);
    if (fresh) place->second = bench::demangled(recordings_.timeline.names.text(name));
    return place->second;
  }

  void fill_kernel(const Group& group, Measurement& measurement) {
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

  void fill_times(const Group& group, Measurement& measurement) {
    const bool only_counted = group.durations_ns.empty();
    const auto& durations = only_counted ? group.counted_durations_ns : group.durations_ns;
    Timing timing;
    timing.clock = TimingMode::device;
    timing.stop_reason = StopReason::count;
    timing.executions_per_sample = 1;
    timing.method = only_counted ? "activity records of launches around which counters were read"
                                 : "activity records of the program's launches";
    const std::vector<double> recorded = thinned(durations);
    const Summary summary = statistics::summarize(recorded);
    const auto& costs = costs_[group.key.device];
    const bool command = is_command(group.key.kind);
    if (!costs || command) {
      timing.seconds = summary;
      timing.samples_seconds = recorded;
      timing.block_sizes = {static_cast<std::int64_t>(recorded.size())};
      if (!command) timing.method += ", with the kernel overhead in them: the calibration has no graph-node";
      measurement.timings.push_back(timing);
      // What a stream takes for it is at least what its record says.
      timing.clock = TimingMode::stream;
      timing.samples_seconds.clear();
      timing.block_sizes.clear();
      measurement.timings.push_back(std::move(timing));
      return;
    }
    const double overhead = std::min(costs->record_seconds, summary.median - min_seconds);
    for (const double seconds : recorded) timing.samples_seconds.push_back(std::max(seconds - overhead, min_seconds));
    timing.block_sizes = {static_cast<std::int64_t>(recorded.size())};
    timing.seconds = statistics::summarize(timing.samples_seconds);
    timing.kernel_overhead_seconds = Estimate{overhead, {overhead, overhead}};
    timing.method += ", less the calibrated kernel overhead";
    measurement.timings.push_back(timing);
    Timing stream;
    stream.clock = TimingMode::stream;
    stream.seconds = moved(*timing.seconds, costs->launch_seconds);
    stream.executions_per_sample = 1;
    stream.stop_reason = StopReason::count;
    stream.method = "the device time and the calibrated cost of a launch in a full stream: estimated, not measured";
    measurement.timings.push_back(std::move(stream));
  }

  void fill_counters(const Group& group, Measurement& measurement) const {
    if (is_command(group.key.kind) || options_.metrics.empty()) return;
    measurement.absent_counters = options_.absent_metrics;
    std::map<std::string, double> values;
    std::map<std::string, FurtherCounters::Sum> sums = group.further;
    for (const auto& [name, sum] : group.counters) {
      FurtherCounters::Sum& all = sums[recordings_.timeline.names.text(name)];
      all.sum += sum.first;
      all.count += sum.second;
    }
    for (const auto& [name, sum] : sums) values[name] = sum.sum / static_cast<double>(sum.count);
    if (const auto clock = values.find("sm__cycles_elapsed.avg.per_second"); clock != values.end()) {
      measurement.clock_hz = clock->second;
      measurement.clock_hz_source = "cupti range around launches";
    }
    std::string source =
        group.counted_in        ? fmt::format("cupti range, launches in {}",
                                       group.counted_in.value() == 0 ? "no range" : paths_.text(*group.counted_in))
               : group.further.empty() ? fmt::format("cupti range, mean of {} launches", group.counted)
                                : fmt::format("cupti range, mean of launches in {} runs", options_.further.size() + 1);
    const auto source_of = [&](const bench::ResolvedMetric&) { return source; };
    const auto why_missing = [&](const std::string&, const std::string&) -> std::string {
      if (group.counted > 0 || !group.further.empty())
        return "no launch of the group was counted in the set that holds it";
      return group.key.kind == SliceKind::communication ? "its launches wait for other GPUs and are not counted"
             : in_graphs_.contains(group.key.name)      ? "it runs in CUDA graphs alone, whose kernels are not counted"
                                                        : "none of its launches was counted";
    };
    bench::add_counters(measurement, options_.metrics, values, source_of, why_missing);
  }

  const Recordings& recordings_;
  const GroupOptions& options_;
  const timeline::StringPool& paths_;
  Run& run_;
  std::vector<std::optional<FixedCosts>> costs_;
  std::map<std::string, bool> ambiguous_;
  std::unordered_map<std::uint32_t, std::string> full_names_;

 public:
  std::unordered_map<std::uint32_t, bool> in_graphs_;  ///< kernels that were seen in graphs
};

ProgramKernel facts_of(const Group& group, const std::string& point, const timeline::StringPool& paths,
                       std::int64_t all_ns) {
  ProgramKernel kernel;
  kernel.point = point;
  kernel.range = paths.text(group.key.path);
  kernel.launches = group.launches();
  kernel.counted = group.counted;
  kernel.total_seconds = seconds_of(group.total_ns);
  std::vector<double> durations;
  const auto& all = group.durations_ns.empty() ? group.counted_durations_ns : group.durations_ns;
  durations.reserve(all.size());
  for (const std::int64_t duration : all) durations.push_back(seconds_of(duration));
  std::ranges::sort(durations);
  kernel.p50_seconds = statistics::quantile(durations, 0.5);
  kernel.p95_seconds = statistics::quantile(durations, 0.95);
  kernel.share = all_ns > 0 ? static_cast<double>(group.total_ns) / static_cast<double>(all_ns) : 0.0;
  return kernel;
}

}  // namespace

std::optional<FixedCosts> fixed_costs_of(const Calibration& calibration) {
  const Ceiling* const node = calibration.find("graph-node");
  const Ceiling* const launch = calibration.find("launch");
  if (node == nullptr || launch == nullptr) return std::nullopt;
  return FixedCosts{node->value, launch->value};
}

std::optional<std::int64_t> blocks_per_multiprocessor(const timeline::LaunchShape& shape,
                                                      const RecordedDevice& device) {
  const auto warps = property(device, "max warps");
  const auto blocks = property(device, "max blocks");
  const auto registers = property(device, "registers");
  const auto shared = property(device, "shared bytes");
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

FurtherCounters further_counters(const Recordings& recordings, const GroupOptions& options, const Run& run) {
  std::vector<std::uint32_t> paths;
  timeline::StringPool path_names;
  FurtherCounters result;
  for (const Group& group : Grouping(recordings, options, run).groups(paths, path_names)) {
    if (group.counters.empty()) continue;
    auto& sums = result.of_group[lasting_key(group, recordings.timeline, path_names, run)];
    for (const auto& [name, sum] : group.counters) {
      FurtherCounters::Sum& all = sums[recordings.timeline.names.text(name)];
      all.sum += sum.first;
      all.count += sum.second;
    }
  }
  result.counted_launches = static_cast<std::int64_t>(recordings.counted.size());
  return result;
}

std::vector<bench::ResolvedMetric> counted_metrics(const Recordings& recordings,
                                                   const std::vector<FurtherCounters>& further) {
  std::vector<std::string> counted;
  for (const FurtherCounters& run : further)
    for (const auto& [group, sums] : run.of_group)
      for (const auto& [name, sum] : sums)
        if (std::ranges::find(counted, name) == counted.end()) counted.push_back(name);
  for (const CountedLaunch& launch : recordings.counted)
    for (const auto& [name, value] : launch.values)
      if (const std::string& text = recordings.timeline.names.text(name);
          std::ranges::find(counted, text) == counted.end())
        counted.push_back(text);
  std::vector<std::string> names = bench::parse_metrics("core,flops,units");
  const auto unit_of = [&](const std::string& counter) -> std::optional<std::string> {
    return std::ranges::find(counted, counter) == counted.end() ? std::nullopt : std::optional<std::string>("");
  };
  auto metrics = bench::resolve(names, "", unit_of).metrics;
  for (const std::string& counter : counted) {
    const bool used = std::ranges::any_of(metrics, [&](const bench::ResolvedMetric& metric) {
      return std::ranges::any_of(metric.terms, [&](const auto& term) { return term.counter == counter; }) ||
             (metric.peak && (metric.peak->counter == counter || metric.peak->clock == counter));
    });
    if (!used && !counter.ends_with(".peak_sustained") && !counter.ends_with(".per_second"))
      metrics.push_back({counter, "", {{1.0, counter}}, std::nullopt});
  }
  return metrics;
}

std::vector<Device> devices_of(const Recordings& recordings, const std::vector<Device>& known) {
  std::vector<std::pair<std::uint32_t, int>> used;
  for (const timeline::Track& track : recordings.timeline.tracks)
    if (track.kind == timeline::TrackKind::stream) used.emplace_back(track.process, static_cast<int>(track.device));
  std::vector<Device> devices;
  for (const RecordedDevice& recorded : recordings.devices) {
    if (std::ranges::find(used, std::pair(recorded.process, recorded.index)) == used.end()) continue;
    const std::string uuid = text_property(recorded, "uuid");
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
    while (std::ranges::find(devices, device.id, &Device::id) != devices.end()) device.id += "'";
    device.kind = DeviceKind::gpu;
    device.name = text_property(recorded, "name");
    device.architecture = text_property(recorded, "architecture");
    device.units = static_cast<int>(std::min<std::int64_t>(property(recorded, "multiprocessors").value_or(0), 100'000));
    device.memory_bytes = property(recorded, "memory bytes").value_or(0);
    device.last_level_cache_bytes = property(recorded, "l2 bytes").value_or(0);
    device.properties["uuid"] = uuid;
    devices.push_back(std::move(device));
  }
  return devices;
}

void add_program(const Recordings& recordings, const GroupOptions& options, Run& run) {
  Program program = timeline::analyze(recordings.timeline);  // first: it takes much memory for a while
  std::vector<std::uint32_t> paths;
  timeline::StringPool path_names;
  std::vector<Group> groups = Grouping(recordings, options, run).groups(paths, path_names);
  std::int64_t all_ns = 0;
  for (const Group& group : groups) all_ns += group.total_ns;
  if (groups.size() > options.max_groups) {
    std::int64_t rest = 0;
    for (std::size_t i = options.max_groups; i < groups.size(); ++i) rest += groups[i].total_ns;
    run.warnings.push_back(fmt::format(
        "{} kernel groups with {} of the time are not listed: the {} that take the most are. Choose others with "
        "--kernels or --range.",
        groups.size() - options.max_groups, format_percent(static_cast<double>(rest) / static_cast<double>(all_ns)),
        options.max_groups));
    groups.resize(options.max_groups);
  }
  for (const FurtherCounters& more : options.further)
    for (Group& group : groups)
      if (const auto known = more.of_group.find(lasting_key(group, recordings.timeline, path_names, run));
          known != more.of_group.end())
        for (const auto& [name, sum] : known->second) {
          group.further[name].sum += sum.sum;
          group.further[name].count += sum.count;
        }
  Measurements measurements(recordings, options, path_names, run);
  for (const Slice& slice : recordings.timeline.slices)
    if (slice.in_graph) measurements.in_graphs_.try_emplace(slice.name, true);
  measurements.name(groups);
  std::map<std::string, int> names;
  for (const Group& group : groups) {
    Measurement measurement = measurements.of(group);
    // Groups that differ in what their names do not show: registers, shared memory.
    if (const int before = names[measurement.name + "\n" + measurement.device]++; before > 0) {
      measurement.arguments.push_back({.name = "variant", .value = 0, .text = fmt::format("{}", before + 1)});
      measurement.name += fmt::format("/variant:{}", before + 1);
    }
    program.kernels.push_back(facts_of(group, measurement.name, path_names, all_ns));
    run.points.push_back({.measurement = std::move(measurement), .verdict = std::nullopt});
  }
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
  for (const std::string& note : recordings.counter_notes)
    program.counters_reason += (program.counters_reason.empty() ? "" : " ") + note;
  run.warnings.insert(run.warnings.end(), recordings.timeline.warnings.begin(), recordings.timeline.warnings.end());
  if (recordings.timeline.dropped > 0)
    run.warnings.push_back(
        fmt::format("{} records were lost: counts and times are too low by as much.", recordings.timeline.dropped));
  run.program = std::move(program);
}

}  // namespace gpubench::profile
