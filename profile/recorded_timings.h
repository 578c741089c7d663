// SPDX-License-Identifier: Apache-2.0
// Timings of work that was recorded as a program ran it. Pure; knows no CUDA.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/measurement.h"

namespace gpubench::profile {

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

}  // namespace gpubench::profile
