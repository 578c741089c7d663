// SPDX-License-Identifier: Apache-2.0
// What a calibration was held against: the device as it is now, and other GPUs of its kind.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/estimate.h"

namespace gpubench {

/// What a short measurement at the start of a run says of a stored ceiling. `unchecked`: nothing could be measured;
/// `unsteady`: its repetitions contradict each other; `disturbed`: it is low, and something else than the device
/// explains it. The ceiling is kept in all three cases.
enum class DriftOutcome { unchecked, agrees, unsteady, disturbed, drifted };
inline constexpr std::array drift_outcome_names = {std::string_view("unchecked"), std::string_view("agrees"),
                                                   std::string_view("unsteady"), std::string_view("disturbed"),
                                                   std::string_view("drifted")};
constexpr std::string_view name_of(DriftOutcome outcome) {
  return drift_outcome_names[static_cast<std::size_t>(outcome)];
}

/// One ceiling, stored and measured again.
struct DriftReading {
  std::string resource;
  std::string unit;
  Estimate stored;
  Estimate now;         ///< median of the last set of samples
  double change = 0.0;  ///< of the medians: 0.03 is 3 % more than stored
  double beyond = 0.0;  ///< the part of it that both intervals leave over, as a fraction of the stored value; signed
  int samples = 0;
  int sets = 0;  ///< 2 when the first set called for another
  DriftOutcome outcome = DriftOutcome::agrees;
  std::string method;
  std::string disturbance;  ///< what else was going on: "another process computes on this GPU"; mostly empty
  friend bool operator==(const DriftReading&, const DriftReading&) = default;
};

/// The check of a stored calibration at the start of a run.
struct DriftCheck {
  std::string calibration_utc;  ///< when the calibration was measured that was checked; one that drifted was replaced
  std::string checked_utc;
  double seconds_taken = 0.0;
  DriftOutcome outcome = DriftOutcome::unchecked;  ///< the worst of the readings
  std::vector<DriftReading> readings;
  std::vector<std::string> not_checked;  ///< "dram-copy: the calibration has no such ceiling"
  friend bool operator==(const DriftCheck&, const DriftCheck&) = default;
};

/// Where a ceiling lies beside what is known of its kind, intervals considered.
enum class Standing { inside, below, above };
inline constexpr std::array standing_names = {std::string_view("inside"), std::string_view("below"),
                                              std::string_view("above")};
constexpr std::string_view name_of(Standing standing) { return standing_names[static_cast<std::size_t>(standing)]; }

struct BandCheck {
  std::string resource;
  std::string unit;
  double value = 0.0;
  Interval reference;   ///< lowest and highest figure known
  double margin = 0.0;  ///< how far outside of them one GPU may be and yet be like its kind, as a fraction
  Standing standing = Standing::inside;
  double difference = 0.0;  ///< to the nearer end of `reference`, as a fraction; 0 between the two
  bool worse = false;       ///< slower than its kind: a rate below, a time above
  std::string source;
  friend bool operator==(const BandCheck&, const BandCheck&) = default;
};

/// A calibration beside the reference figures of its kind of GPU.
struct Health {
  std::string kind;  ///< "NVIDIA H200"; empty when nothing is known of this one
  std::vector<BandCheck> checks;
  std::string reason;  ///< why there is no check
  friend bool operator==(const Health&, const Health&) = default;
};

/// One resource on several GPUs of one kind.
struct GpuSpread {
  std::string kind;
  std::string resource;
  std::string unit;
  int gpus = 0;
  double median = 0.0;
  double spread = 0.0;  ///< between the fastest and the slowest, over the median
  std::string slowest;  ///< its id
  double slowest_value = 0.0;
  double slowest_difference = 0.0;  ///< to the median, as a fraction; negative for a rate
  bool certain = false;             ///< the intervals of the slowest and the fastest do not meet
};

}  // namespace gpubench
