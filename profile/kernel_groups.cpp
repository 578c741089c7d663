// SPDX-License-Identifier: Apache-2.0
#include "profile/kernel_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>

#include "core/base/text.h"
#include "core/model/points.h"
#include "core/statistics/statistics.h"
#include "profile/injection/counting_plan.h"
#include "timeline/structure/correlations.h"
#include "timeline/structure/range_tree.h"

namespace gpubench::profile {
namespace {

using timeline::Slice;
using timeline::SliceKind;
using timeline::Timeline;

/// Launches of one function and shape that differ by less in time are taken to do the same work.
constexpr double same_work_difference = 0.05;
/// In ranges whose paths differ in numbers alone: layers of a model, steps.
constexpr double same_place_difference = 0.25;
/// Or by so many nanoseconds: a few steps of the clock of records.
constexpr double same_work_ns = 200.0;
/// Launches outside of the windows whose times are kept.
constexpr std::size_t max_outside = 64;

std::uint64_t launch_key(std::uint32_t process, std::uint32_t correlation) {
  return (std::uint64_t{process} << 32U) | correlation;
}

class Grouping {
 public:
  Grouping(const Recordings& recordings, const GroupOptions& options, const Run& run)
      : timeline_(recordings.timeline), options_(options), run_(run) {
    for (const CountedLaunch& launch : recordings.counted) {
      counted_.emplace(launch_key(launch.process, launch.correlation), &launch);
      for (const auto& [name, value] : launch.values) counters_.insert(name);
    }
    for (const RecordedDevice& device : recordings.devices) devices_of_tracks(device);
  }

  std::vector<KernelGroup> groups(timeline::StringPool& path_names, std::vector<std::uint32_t>* of_slice) {
    const std::vector<std::uint32_t> paths = timeline::range_paths(timeline_, path_names);
    if (of_slice != nullptr) of_slice->assign(timeline_.slices.size(), timeline::none);
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i)
      if (timeline::occupies_gpu(timeline_.slices[i].kind)) {
        const std::uint32_t group = add(timeline_.slices[i], paths[i], path_names);
        if (of_slice != nullptr) (*of_slice)[i] = group;
      }
    for (KernelGroup& group : groups_) {
      group.total_ns =
          std::reduce(group.durations_ns.begin(), group.durations_ns.end(), std::int64_t{0}) +
          std::reduce(group.counted_durations_ns.begin(), group.counted_durations_ns.end(), std::int64_t{0});
    }
    borrow_counters(path_names);
    return sorted(of_slice);
  }

 private:
  /// By falling time, without those that did nothing in the windows.
  std::vector<KernelGroup> sorted(std::vector<std::uint32_t>* of_slice) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].launches() > 0) order.push_back(i);
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::uint32_t i) { return groups_[i].total_ns; });
    std::vector<std::uint32_t> places(groups_.size(), timeline::none);
    std::vector<KernelGroup> result;
    for (const std::uint32_t i : order) {
      places[i] = static_cast<std::uint32_t>(result.size());
      result.push_back(std::move(groups_[i]));
    }
    if (of_slice != nullptr)
      for (std::uint32_t& group : *of_slice) group = group == timeline::none ? group : places[group];
    return result;
  }

  void devices_of_tracks(const RecordedDevice& device) {
    const std::string uuid = device.text("uuid");
    for (std::size_t i = 0; i < run_.devices.size(); ++i) {
      const auto known = run_.devices[i].properties.find("uuid");
      if (known != run_.devices[i].properties.end() && known->second == uuid)
        run_devices_[{device.process, device.index}] = {static_cast<std::uint32_t>(i), &device};
    }
  }

  /// The program counts few launches of a function and shape, in whichever range they are, and before a graph was
  /// captured. Those of other ranges and of graphs do the same work as far as is known where they take as long. A group
  /// may have been counted by some sets of counters alone: of the others it borrows, too.
  void borrow_counters(const timeline::StringPool& path_names) {
    struct Member {
      std::size_t group;
      std::uint64_t place;  ///< RangeName::alike of its path
      double median_ns;
    };
    std::map<GroupKey, std::vector<Member>> alike;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const KernelGroup& group = groups_[i];
      GroupKey key = group.key;
      if (key.kind != SliceKind::kernel) continue;
      const auto median_ns = statistics::upper_median(group.launches() > 0 ? group.timed_ns() : group.outside_ns);
      if (!median_ns) continue;
      key.path = 0;
      alike[key].push_back(
          {i, range_name<char>(path_names.text(group.key.path)).alike, static_cast<double>(*median_ns)});
    }
    for (const auto& [key, members] : alike) {
      std::vector<const Member*> donors;
      for (const Member& member : members)
        if (groups_[member.group].counted > 0) donors.push_back(&member);
      for (const Member& member : members)
        if (groups_[member.group].launches() > 0)
          for (const bool same_place : {true, false})
            for (const Member* const donor : donors) {
              const double allowed = same_place ? same_place_difference : same_work_difference;
              if (donor != &member && (donor->place == member.place) == same_place &&
                  std::abs(member.median_ns - donor->median_ns) < std::max(allowed * donor->median_ns, same_work_ns))
                lend(groups_[donor->group], groups_[member.group]);
            }
    }
  }

  /// What the one counted itself and the other has not.
  void lend(const KernelGroup& donor, KernelGroup& group) const {
    if (group.counters.size() == counters_.size()) return;
    for (const auto& [name, sum] : donor.counters)
      if (!donor.borrowed.contains(name) && group.counters.try_emplace(name, sum).second)
        group.borrowed.emplace(name, donor.key.path);
  }

  bool keeps_name(const std::string& name) const {
    if (!options_.keeps) return true;
    const std::string full = demangled(name);
    return options_.keeps(full) || options_.keeps(short_kernel_name(full));
  }

  bool keeps_path(const std::string& path) const {
    return options_.range.empty() || ("/" + path + "/").find("/" + options_.range + "/") != std::string::npos;
  }

  /// The place of its group; `none` where it has none.
  std::uint32_t add(const Slice& slice, std::uint32_t path, const timeline::StringPool& path_names) {
    const auto [kept, fresh] = kept_.try_emplace({slice.name, path}, false);
    if (fresh) kept->second = keeps_name(timeline_.names.text(slice.name)) && keeps_path(path_names.text(path));
    if (!kept->second) return timeline::none;
    const timeline::Track& track = timeline_.tracks[slice.track];
    const auto device = run_devices_.find({track.process, static_cast<int>(track.device)});
    if (device == run_devices_.end()) return timeline::none;
    GroupKey key;
    key.device = device->second.first;
    key.kind = slice.kind;
    key.name = slice.name;
    key.path = path;
    if (is_command(slice.kind))
      key.bytes = slice.detail;
    else if (slice.detail >= 0)
      key.shape = timeline_.shapes[static_cast<std::size_t>(slice.detail)];
    const auto [place, is_new] = places_.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
    if (is_new) groups_.emplace_back().key = key;
    KernelGroup& group = groups_[place->second];
    if (group.device == nullptr) group.device = device->second.second;
    group.in_graph = slice.in_graph && (is_new || group.in_graph);
    const auto counted = counted_.find(launch_key(track.process, slice.correlation));
    const bool is_counted = counted != counted_.end() && !is_command(slice.kind);
    if (timeline::holds(options_.windows, track.process, slice.start_ns))
      (is_counted ? group.counted_durations_ns : group.durations_ns).push_back(slice.duration_ns);
    else if (group.outside_ns.size() < max_outside)
      group.outside_ns.push_back(slice.duration_ns);
    if (is_counted) {
      ++group.counted;
      for (const auto& [name, value] : counted->second->values) group.counters[name].add({value, 1});
    }
    return place->second;
  }

  const Timeline& timeline_;
  const GroupOptions& options_;
  const Run& run_;
  std::unordered_map<std::uint64_t, const CountedLaunch*> counted_;
  std::set<std::uint32_t> counters_;  ///< names of all
  std::map<std::pair<std::uint32_t, int>, std::pair<std::uint32_t, const RecordedDevice*>> run_devices_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> kept_;  ///< by name and path
  std::vector<KernelGroup> groups_;
  std::map<GroupKey, std::uint32_t> places_;
};

}  // namespace

std::vector<KernelGroup> kernel_groups(const Recordings& recordings, const GroupOptions& options, const Run& run,
                                       timeline::StringPool& path_names, std::vector<std::uint32_t>* of_slice) {
  return Grouping(recordings, options, run).groups(path_names, of_slice);
}

std::string lasting_key(const KernelGroup& group, const timeline::Timeline& timeline, const timeline::StringPool& paths,
                        const Run& run) {
  const timeline::LaunchShape& shape = group.key.shape;
  return fmt::format("{}\n{}\n{}\n{} {} {} {} {}", run.devices[group.key.device].id,
                     timeline.names.text(group.key.name), paths.text(group.key.path), fmt::join(shape.grid, ","),
                     fmt::join(shape.block, ","), shape.registers, shape.static_shared_bytes,
                     shape.dynamic_shared_bytes);
}

FurtherCounters further_counters(const Recordings& recordings, const GroupOptions& options, const Run& run) {
  timeline::StringPool path_names;
  FurtherCounters result;
  for (const KernelGroup& group : kernel_groups(recordings, options, run, path_names)) {
    if (group.counters.empty()) continue;
    auto& sums = result.of_group[lasting_key(group, recordings.timeline, path_names, run)];
    for (const auto& [name, sum] : group.all_counters(recordings.timeline.names)) sums[name].add(sum);
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
        if (!contains(counted, name)) counted.push_back(name);
  for (const CountedLaunch& launch : recordings.counted)
    for (const auto& [name, value] : launch.values)
      if (const std::string& text = recordings.timeline.names.text(name); !contains(counted, text))
        counted.push_back(text);
  std::vector<std::string> names = bench::parse_metrics("core,flops,units");
  const auto unit_of = [&](const std::string& counter) -> std::optional<std::string> {
    return !contains(counted, counter) ? std::nullopt : std::optional<std::string>("");
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

}  // namespace gpubench::profile
