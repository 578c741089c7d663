// SPDX-License-Identifier: Apache-2.0
// Launches of one function with one launch shape, in one range: what a program's records fall into. Pure; knows no
// CUDA.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/counters/metrics.h"
#include "core/model/run.h"
#include "profile/recording_reader.h"
#include "timeline/windows.h"

namespace gpubench::profile {

/// Of a counter over launches.
struct CounterSum {
  double sum = 0.0;
  std::int64_t count = 0;
  void add(const CounterSum& other) {
    sum += other.sum;
    count += other.count;
  }
};
using CounterSums = std::map<std::string, CounterSum>;  ///< by the counter's name

/// Counters of the kernel groups of one more run of the same program, by what tells groups apart in any run.
struct FurtherCounters {
  std::map<std::string, CounterSums> of_group;
  std::int64_t counted_launches = 0;
};

struct GroupOptions {
  /// Keeps kernels whose name passes, as in the source or shortened. Null: all.
  std::function<bool(const std::string& name)> keeps;
  /// Keeps work launched in a range of this name. Empty: all.
  std::string range;
  /// The metrics that were to be counted, and what could not be planned.
  std::vector<bench::ResolvedMetric> metrics;
  std::vector<AbsentCounter> absent_metrics;
  std::size_t max_groups = 500;
  /// The report is of the steady state, where the program has one, or of the ranges of `range` with what runs in them.
  bool steady = false;
  bool whole = false;  ///< it is of the whole, and phases and steps are told all the same
  /// Only what began in them counts; counters are of all launches. `add_program` sets them where `steady` is.
  timeline::WindowsOf windows = {};
  std::vector<FurtherCounters> further = {};  ///< of more runs
};

/// What tells groups apart.
struct GroupKey {
  std::uint32_t device = 0;  ///< in Run::devices
  timeline::SliceKind kind = timeline::SliceKind::kernel;
  std::uint32_t name = 0;
  std::uint32_t path = 0;
  std::int64_t bytes = 0;  ///< of a command
  timeline::LaunchShape shape;
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

struct KernelGroup {
  GroupKey key;
  std::vector<std::int64_t> durations_ns;  ///< in the order of starts
  std::int64_t counted = 0;                ///< launches with counters, also outside of GroupOptions::windows
  std::vector<std::int64_t> counted_durations_ns;
  std::vector<std::int64_t> outside_ns;             ///< of the first launches outside of GroupOptions::windows
  bool in_graph = false;                            ///< all of its launches are of CUDA graphs
  std::map<std::uint32_t, CounterSum> counters;     ///< by the counter's name in Timeline::names
  std::map<std::uint32_t, std::uint32_t> borrowed;  ///< of these, what other groups lent, by whose path
  CounterSums further;                              ///< of more runs
  std::int64_t total_ns = 0;
  const RecordedDevice* device = nullptr;

  /// Those without counters around them, where there are any.
  [[nodiscard]] const std::vector<std::int64_t>& timed_ns() const {
    return durations_ns.empty() ? counted_durations_ns : durations_ns;
  }
  /// Those of all runs.
  [[nodiscard]] CounterSums all_counters(const timeline::StringPool& names) const {
    CounterSums all = further;
    for (const auto& [name, sum] : counters) all[names.text(name)].add(sum);
    return all;
  }
  [[nodiscard]] std::int64_t launches() const {
    return static_cast<std::int64_t>(durations_ns.size() + counted_durations_ns.size());
  }
};

/// By falling time. `path_names` gets the names of their ranges; `run.devices` are those of `devices_of`. `of_slice`
/// gets of each slice of the timeline the place of its group; `timeline::none`.
std::vector<KernelGroup> kernel_groups(const Recordings& recordings, const GroupOptions& options, const Run& run,
                                       timeline::StringPool& path_names,
                                       std::vector<std::uint32_t>* of_slice = nullptr);

/// What tells a group apart from others in any run of the program.
std::string lasting_key(const KernelGroup& group, const timeline::Timeline& timeline, const timeline::StringPool& paths,
                        const Run& run);

/// `run.devices` are those of the program's first run.
FurtherCounters further_counters(const Recordings& recordings, const GroupOptions& options, const Run& run);

/// The metrics that the recordings' counters make up: gpubench's own by their table, others as CUPTI names them.
std::vector<bench::ResolvedMetric> counted_metrics(const Recordings& recordings,
                                                   const std::vector<FurtherCounters>& further = {});

}  // namespace gpubench::profile
