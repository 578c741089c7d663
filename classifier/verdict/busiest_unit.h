// SPDX-License-Identifier: Apache-2.0
// What the hardware itself says of a point: its busiest unit, what its warps wait for, and whether power held it back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "classifier/verdict/rules.h"
#include "core/model/measurement.h"
#include "core/model/resources.h"

namespace gpubench::classifier {

/// The busiest unit by the counters of `--metrics=units`.
struct BusiestUnit {
  std::string_view counter;  ///< lives as long as the program
  double busy = 0.0;         ///< of its peak, while the device worked: 0.93
  Decision decision;         ///< memory or compute, by the resource that the unit serves
  /// Of the time, what the mean multiprocessor works, where that lowers what the unit need be busy to be the limiter.
  std::optional<double> active = std::nullopt;
  bool in_turn = false;  ///< what it does waits for what it did before, so it is never busier
};
/// Of units within five percent of the busiest, that of the model's limiter; of the resources that one unit serves, the
/// one that the model needs longest. What keeps L1's data stage busy is told apart. Absent where no unit was counted.
std::optional<BusiestUnit> busiest_unit_of(const Measurement& measurement, const Prediction& prediction);

/// Whether each multiprocessor has its own; others have L2, DRAM and the ways there in common.
bool is_of_multiprocessor(std::string_view resource);

/// How busy a unit is, in percent of its peak; absent where it was not counted, or is damage.
std::optional<double> busy_percent(const Measurement& measurement, std::string_view unit);

/// Of the slice of L2 with most atomics, where it works far more than the mean.
std::optional<double> hottest_slice_percent(const Measurement& measurement);
/// From here on updates wait in it: one at a time they keep it at 31 to 33 % on an H200.
inline constexpr double min_waiting_slice = 20.0;
/// "updates meet at few addresses: ...", with what was counted.
std::string contended_clause(const Measurement& measurement);

/// What DRAM was written beyond all that the multiprocessors moved, where that is a good part of what L2 moved: lines
/// that others left in L2, or freed memory that the driver cleared. 0 where there are none or nothing tells.
double stray_bytes(const Measurement& measurement, const Machine& machine);
/// The same point without the counters that hold those.
Measurement without_stray_bytes(Measurement measurement);

/// The highest share of a unit that does not serve this resource; 0 where none was counted.
double busy_beside(const Measurement& measurement, const Resource& resource);
/// Whether a unit tells of both.
bool shares_unit(const Resource& resource, std::string_view other);

/// The atomic units of the slice of L2 that works most, where updates meet at few addresses: far busier than the mean.
/// Additions of floating-point numbers at one address wait for each other: they are known by their rate.
std::optional<BusiestUnit> contended_atomics(const Measurement& measurement, const Machine& machine);

/// The same where they may, but their rate is not calibrated.
std::optional<BusiestUnit> may_add_in_turn(const Measurement& measurement, const Machine& machine);

/// The share of the busiest unit that serves resources of this kind; 0 where none was counted.
double busiest(const Measurement& measurement, ResourceKind kind);

/// The clock of a point as a part of the machine's, where the power limit held it down; absent else.
std::optional<double> clock_under_power_limit(const Measurement& measurement, const Machine& machine);

}  // namespace gpubench::classifier
