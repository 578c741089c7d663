// SPDX-License-Identifier: Apache-2.0
// From a program's recordings to a run: each kernel group a measurement. Pure; knows no CUDA.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/counters/metrics.h"
#include "core/model/calibration.h"
#include "core/model/run.h"
#include "profile/recording.h"

namespace gpubench::profile {

/// What a record of a kernel holds beside its work, and what its launch costs in a full stream; from a calibration.
struct FixedCosts {
  double record_seconds = 0.0;  ///< an empty kernel in its record: the ceiling "graph-node"
  double launch_seconds = 0.0;  ///< "launch"
};
/// Absent where the calibration lacks one of them.
std::optional<FixedCosts> fixed_costs_of(const Calibration& calibration);

/// Counters of the kernel groups of one more run of the same program, by what tells groups apart in any run.
struct FurtherCounters {
  struct Sum {
    double sum = 0.0;
    std::int64_t count = 0;
  };
  std::map<std::string, std::map<std::string, Sum>> of_group;  ///< by the counter's name
  std::int64_t counted_launches = 0;
};

/// Samples of a group that are kept in its measurement: every so manieth launch.
inline constexpr std::size_t max_samples = 200;
/// Below this a record says nothing of a kernel's work: half a step of its clock.
inline constexpr double min_seconds = 16e-9;

struct GroupOptions {
  /// Keeps kernels whose name passes, as in the source or shortened. Null: all.
  std::function<bool(const std::string& name)> keeps;
  /// Keeps work launched in a range of this name. Empty: all.
  std::string range;
  /// The metrics that were to be counted, and what could not be planned.
  std::vector<bench::ResolvedMetric> metrics;
  std::vector<AbsentCounter> absent_metrics;
  std::size_t max_groups = 500;
  std::vector<FurtherCounters> further = {};  ///< of more runs
};

/// `run.devices` are those of the program's first run.
FurtherCounters further_counters(const Recordings& recordings, const GroupOptions& options, const Run& run);

/// The metrics that the recordings' counters make up: gpubench's own by their table, others as CUPTI names them.
std::vector<bench::ResolvedMetric> counted_metrics(const Recordings& recordings,
                                                   const std::vector<FurtherCounters>& further = {});

/// Of the devices that the program used, those known to this process by their UUID; of others what the recordings tell.
std::vector<Device> devices_of(const Recordings& recordings, const std::vector<Device>& known);

/// Fills the run's points and its program: kernels, copies and fills by function, launch shape, size and range path, by
/// falling time. `run.devices` are those of `devices_of`, `run.calibrations` may hold their ceilings. Verdicts are left
/// to the classifier.
void add_program(const Recordings& recordings, const GroupOptions& options, Run& run);

/// Warps and blocks of a kernel that fit on one multiprocessor at once, by its registers, shared memory and threads
/// (CUDA C++ Programming Guide, compute capabilities; registers are given to warps 256 at a time). Absent where the
/// recording does not tell the multiprocessor's limits.
std::optional<std::int64_t> blocks_per_multiprocessor(const timeline::LaunchShape& shape, const RecordedDevice& device);

}  // namespace gpubench::profile
