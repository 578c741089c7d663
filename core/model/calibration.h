// SPDX-License-Identifier: Apache-2.0
// The measured limits of one device, and what they were checked against: the device now, and other GPUs of its kind.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/compiled_once.h"
#include "core/model/device.h"
#include "core/model/estimate.h"
#include "core/model/resources.h"

namespace gpubench {

/// unchecked: nothing could be measured. unsteady: the repetitions contradict each other. disturbed: it is low, and
/// something else than the device explains it. The ceiling is kept in all three cases.
enum class DriftOutcome { unchecked, agrees, unsteady, disturbed, drifted };
inline constexpr auto drift_outcome_names =
    std::to_array<std::string_view>({"unchecked", "agrees", "unsteady", "disturbed", "drifted"});
constexpr const auto& names_of(DriftOutcome) { return drift_outcome_names; }

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
inline constexpr auto standing_names = std::to_array<std::string_view>({"inside", "below", "above"});
constexpr const auto& names_of(Standing) { return standing_names; }

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

/// burst: a few milliseconds after idling. sustained: so long that power and clocks have settled.
enum class Load { burst, sustained };
inline constexpr auto load_names = std::to_array<std::string_view>({"burst", "sustained"});
constexpr const auto& names_of(Load) { return load_names; }

/// Whether the device's own counters saw the work that a probe declares.
struct Confirmation {
  std::string counter;          ///< "dram_read_bytes + dram_write_bytes"; empty when nothing was counted
  std::optional<double> ratio;  ///< counted over declared
  std::string reason;           ///< why there is no ratio
  friend bool operator==(const Confirmation&, const Confirmation&) = default;
};

struct Ceiling {
  std::string resource;  ///< a name of the table in core/model/resources.h, perhaps with a suffix
  double value = 0.0;
  std::string unit;  ///< "B/s", "FLOP/s", "op/s" or "s"
  Interval ci95;     ///< over independent repeats
  int repeats = 0;   ///< how many repeats the interval rests on
  std::string method;
  std::optional<double> clock_hz;           ///< SM or core clock during the probe; absent when it could not be read
  std::optional<double> theoretical_limit;  ///< same unit, at `clock_hz`; absent when it cannot be computed

  // Absent or empty in files of older versions.
  std::optional<CeilingGroup> group;
  std::string shape;                     ///< of the launch that was best, in words
  std::string conditions;                ///< of the data: "normal random data", "zeros"
  std::optional<Load> load;              ///< where it matters
  std::optional<double> work_per_run;    ///< bytes, FLOP, operations or accesses of one run, as `work_unit` says
  std::string work_unit;                 ///< "B", "FLOP", "op", "access"
  std::optional<double> rate_per_clock;  ///< of one multiprocessor or core: `value` over clock and their number
  std::optional<double> cycles;          ///< a latency in cycles of the SM or core clock
  std::optional<double> power_watts;     ///< of the whole board, as the driver told it during the probe
  std::optional<double> temperature_celsius;
  std::optional<Confirmation> confirmation;  ///< absent where nothing can be counted
  std::vector<std::string> caveats;          ///< "the clock was lowered for heat in 3 of 25 samples"
  friend bool operator==(const Ceiling&, const Ceiling&) = default;
};

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

struct LadderPoint {
  double working_set_bytes = 0.0;
  double bytes_per_second = 0.0;
  friend bool operator==(const LadderPoint&, const LadderPoint&) = default;
};

/// One working set of the latency curve: an access that depends on the one before it, by one thread.
struct LatencyPoint {
  double working_set_bytes = 0.0;
  double seconds = 0.0;
  double cycles = 0.0;  ///< of the SM or core clock
  friend bool operator==(const LatencyPoint&, const LatencyPoint&) = default;
};

/// One arithmetic intensity of a sweep: memory and arithmetic loaded together.
struct IntensityPoint {
  double flops_per_byte = 0.0;
  double flops_per_second = 0.0;
  double bytes_per_second = 0.0;
  std::optional<double> clock_hz;
  friend bool operator==(const IntensityPoint&, const IntensityPoint&) = default;
};

struct Calibration {
  GPUBENCH_DECLARE_VALUE(Calibration)
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

  // Of full calibrations; empty in others and in files of older versions.
  std::vector<CacheLevel> unit_levels;   ///< caches of one multiprocessor; of one CPU core by itself: l1-one-core, ...
  std::vector<LadderPoint> unit_ladder;  ///< working set of one multiprocessor, bytes/s of all; of a CPU, of one core
  std::vector<LatencyPoint> latency_curve;      ///< by growing working set
  std::vector<IntensityPoint> intensity_sweep;  ///< by growing intensity
  std::vector<std::string> warnings;            ///< what bears on all ceilings: "2 other processes use this GPU"

  /// As DeviceConditions::core_share, while a CPU's ceilings were measured: below 0.9 they were measured under load.
  std::optional<double> core_share = std::nullopt;
  std::optional<DriftCheck> drift;  ///< in a run that used a stored calibration; never in a stored one
  std::optional<Health> health;     ///< beside other GPUs of its kind; absent for a CPU

  [[nodiscard]] const Ceiling* find(std::string_view resource) const {
    for (const auto& ceiling : ceilings)
      if (ceiling.resource == resource) return &ceiling;
    return nullptr;
  }
  friend bool operator==(const Calibration&, const Calibration&) = default;
};

}  // namespace gpubench
