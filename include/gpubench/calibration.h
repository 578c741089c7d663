// SPDX-License-Identifier: Apache-2.0
// The measured limits of one device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpubench/device.h"
#include "gpubench/estimate.h"

namespace gpubench {

/// A measured limit of one resource. Resources and their units:
///   dram-read, dram-write, dram-copy, dram-triad   bytes/s   (copy: 1 read + 1 write; triad: 2 reads + 1 write; all
///   counted) l1, l2, l3                                     bytes/s   (read, from a working set inside that level)
///   fp64, fp32, ... and tensor-bf16, ...           FLOP/s    (names of `Pipe`; tensor ones are matrix products)
///   gemm-fp32, gemm-fp64                           FLOP/s    (the best matrix product of a CPU)
///   launch                                         seconds   (a launch of nothing, timed as operations are timed)
struct Ceiling {
  std::string resource;
  double value = 0.0;
  std::string unit;  ///< "B/s", "FLOP/s" or "s"
  Interval ci95;     ///< over independent repeats
  int repeats = 0;   ///< how many repeats the interval rests on
  std::string method;
  std::optional<double> clock_hz;           ///< SM or core clock during the probe; absent when it could not be read
  std::optional<double> theoretical_limit;  ///< same unit, at `clock_hz`; absent when it cannot be computed
  friend bool operator==(const Ceiling&, const Ceiling&) = default;
};

/// A resource whose ceiling could not be had, and why.
struct AbsentCeiling {
  std::string resource;
  std::string reason;
  friend bool operator==(const AbsentCeiling&, const AbsentCeiling&) = default;
};

/// A cache level found in the working-set ladder; its bandwidth is the ceiling of the same name.
struct CacheLevel {
  std::string resource;         ///< "l1", "l2", "l3": numbered outwards from the cores, as found
  double capacity_bytes = 0.0;  ///< working set at which bandwidth leaves this level's plateau
  Interval capacity_ci95;
  friend bool operator==(const CacheLevel&, const CacheLevel&) = default;
};

/// One rung of the working-set ladder.
struct LadderPoint {
  double working_set_bytes = 0.0;
  double bytes_per_second = 0.0;
  friend bool operator==(const LadderPoint&, const LadderPoint&) = default;
};

struct Calibration {
  static constexpr int schema_version = 1;

  Device device;
  std::string mode;         ///< "quick" or "full"
  std::string created_utc;  ///< ISO 8601
  std::string gpubench_version;
  double seconds_taken = 0.0;
  std::vector<Ceiling> ceilings;
  std::vector<AbsentCeiling> absent;
  std::vector<CacheLevel> levels;   ///< from the smallest to the largest; DRAM lies beyond the last
  std::vector<LadderPoint> ladder;  ///< by growing working set

  /// The ceiling of a resource, or null when it was not measured.
  [[nodiscard]] const Ceiling* find(std::string_view resource) const {
    for (const auto& ceiling : ceilings)
      if (ceiling.resource == resource) return &ceiling;
    return nullptr;
  }
  friend bool operator==(const Calibration&, const Calibration&) = default;
};

}  // namespace gpubench
