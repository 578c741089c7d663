// SPDX-License-Identifier: Apache-2.0
// From a program's recordings to a run, each kernel group a measurement; what limits the work that was recorded or
// traced, and what it reaches of the ceilings. Pure; knows no CUDA.
#pragma once

#include "core/model/run.h"
#include "profile/kernel_groups.h"
#include "timeline/structure/correlations.h"

namespace gpubench::profile {

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

/// What a record of a kernel holds beside its work, and what its launch costs in a full stream; from a calibration.
struct FixedCosts {
  double record_seconds = 0.0;  ///< an empty kernel in its record: the ceiling "graph-node"
  double launch_seconds = 0.0;  ///< "launch"
};
/// Absent where the calibration lacks one of them.
std::optional<FixedCosts> fixed_costs_of(const Calibration& calibration);

/// Durations that are kept in a measurement: every so manieth.
inline constexpr std::size_t max_samples = 200;
/// Below this a record says nothing of a kernel's work: half a step of its clock.
inline constexpr double min_seconds = 16e-9;

/// Work that was done several times.
struct RecordedTimes {
  std::vector<std::int64_t> durations_ns;  ///< in the order of starts
  std::int64_t kernels = 1;                ///< in each duration
  std::int64_t launches = 1;               ///< for each duration; 0 where their cost is not the stream's
  std::string method;
};
/// The device's time, less the costs of records, and what a stream takes for it at least.
std::vector<Timing> timings_of(const RecordedTimes& times, const std::optional<FixedCosts>& costs);

/// Of the recorded time of a point the share that it would take at its roof: the overhead of starting its kernels, and
/// of the rest what it reaches of its limiter's ceiling. 1 of what overhead limits; absent without a verdict.
std::optional<double> roof_share(const Point& point);

/// Verdicts of a program's kernel groups. `ceilings`: a run with the devices of `devices_of`, and the calibrations that
/// there are of them. Counted are all metrics that the recordings and `options.further` make up.
Run verdicts_of(const Recordings& recordings, Run ceilings, GroupOptions options = {});

/// Of operators whose work the shapes in a trace tell: a point for each with each shape of its inputs, by falling time
/// of all its calls. `calibration` is that of each GPU. `roofs` gets their points as groups, by what their calls
/// launched.
WorkVerdicts operator_verdicts(const timeline::Timeline& timeline, const Calibration& calibration,
                               timeline::Roofs* roofs = nullptr);

}  // namespace gpubench::profile
