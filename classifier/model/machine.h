// SPDX-License-Identifier: Apache-2.0
// A calibration in the form of the time model.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/device.h"
#include "core/model/measurement.h"
#include "core/model/resources.h"
#include "gpubench/work.h"

namespace gpubench::classifier {

/// Relative standard deviation of a modelled time beside its ceiling's own.
inline constexpr double model_sigma = 0.05;
/// Relative standard deviation taken for a figure that comes without a usable interval.
inline constexpr double unknown_sigma = 0.05;

/// Smaller figures are damage, not measurements.
inline constexpr double min_figure = 1e-15;
inline bool is_figure(double x) { return x >= min_figure && x <= max_figure; }

/// A positive figure with the standard deviation of its logarithm.
struct Exponent {
  double value = 1.0;
  double sigma = 0.0;
};
/// p where no intensity sweep was fitted.
inline constexpr Exponent overlap_prior = {8.0, 0.4};
/// m of the hit fraction 1 / (1 + (footprint / capacity)^m) where no ladder was fitted.
inline constexpr Exponent hit_prior = {10.0, 0.4};

using resource::block_start;

/// A rate with its relative standard deviation.
struct Rate {
  double per_second = 0.0;
  double sigma = 0.0;
  std::optional<double> clock_hz;
};

struct Launch {
  double seconds = 0.0;
  double sigma = 0.0;
};

struct Cache {
  std::string resource;
  double capacity_bytes = 0.0;
  double capacity_sigma = 0.0;
  Rate rate;
  Exponent hit_exponent = hit_prior;
};

/// DRAM's time per byte at one share of writes.
struct DramMix {
  double write_fraction = 0.0;
  double seconds_per_byte = 0.0;
  double sigma = 0.0;
};

/// What one kind of copy or fill costs.
struct CommandCost {
  std::optional<Launch> fixed;
  std::optional<Rate> rate;      ///< B/s
  std::optional<Rate> pageable;  ///< B/s of host memory that is not pinned
};

/// Accesses a second at random places, of a sector each.
struct RandomRate {
  std::string_view resource;
  std::optional<Rate> rate;
};
using RandomRates = std::array<RandomRate, 2>;  ///< what the last cache serves, and what lies beyond

/// A calibration made ready for the model: usable figures alone, in the model's form.
struct Machine {
  DeviceKind kind = DeviceKind::cpu;
  bool one_core = false;                 ///< of a CPU, by itself
  int cores = 0;                         ///< that the CPU of `one_core` has
  std::optional<double> region_seconds;  ///< what it takes to start a parallel region on them
  int units = 0;                         ///< multiprocessors; 0 when not known
  std::string vectors = {};              ///< of a CPU, its widest vector extension
  std::optional<Launch> launch;
  double launch_step_seconds = 0.0;  ///< in which the times of launches in a stream climb; 0 where not measured
  std::optional<Rate> block_start;   ///< blocks a second
  std::vector<Cache> caches;         ///< from the smallest to the largest
  std::vector<DramMix> dram;         ///< by growing share of writes; may be empty
  /// Of all multiprocessors together. For counted traffic alone: nobody declares it.
  std::optional<Rate> unit_l1;
  std::optional<Rate> unit_shared;
  std::optional<Rate> float_atomics;   ///< additions a second of floating-point numbers at one address
  std::optional<double> dram_latency;  ///< seconds that one load takes when nothing else runs
  RandomRates random_reads = {{{"l2-random-read", {}}, {"dram-random-read", {}}}};
  RandomRates random_updates = {{{"l2-random-update", {}}, {"dram-random-update", {}}}};
  std::array<std::optional<Rate>, pipe_names.size()> pipes;
  /// What the instructions of a pipe bound by power reach, "wgmma-bf16" or else "mma-bf16": below the clock that power
  /// allowed the pipe's own ceiling, this is nearer.
  std::array<std::optional<Rate>, pipe_names.size()> instructions;
  std::array<CommandCost, 4> commands;  ///< as `command_kinds`
  std::optional<double> clock_hz;       ///< that nothing holds down: the highest of the pipes' ceilings
  Exponent overlap = overlap_prior;     ///< p
};

/// Ceilings outside the bounds of a figure are left out, as are cache levels without a bandwidth.
Machine machine_of(const Calibration& calibration);

/// What a host operation has whose work one thread does: the ceilings of one core, or of all cores in calibrations
/// without them; and instead of a parallel region's launch an empty call, where that was timed.
Machine one_core_of(const Calibration& calibration, const std::optional<Estimate>& empty_call_seconds);

/// The machine that a measurement was made on.
Machine machine_of(const Calibration& calibration, const Measurement& measurement);

/// What a launch is beside: "an empty kernel", "an empty call", "an empty parallel region".
std::string_view empty_launch_of(const Machine& machine);

/// The machine with every figure drawn from its interval. `draw` counts from 0 to draw_count - 1.
Machine drawn(const Machine& machine, std::size_t draw);

/// DRAM's time per byte and its relative standard deviation at a share of writes, linear between the measured mixes and
/// constant beyond. `mixes` must not be empty.
std::pair<double, double> dram_seconds_per_byte(double write_fraction, const std::vector<DramMix>& mixes);

/// What a rate is to be multiplied with at another clock than its own; 1 where it does not follow the clock or a clock
/// is not known.
double clock_ratio(std::string_view resource, const Rate& rate, const std::optional<double>& clock_hz);

/// Part of the accesses to a footprint that a cache serves: 1 / (1 + (footprint / capacity)^m).
double hit_fraction(double footprint_bytes, double capacity_bytes, double exponent);

/// The hit exponent that the rungs between half and twice the capacity show, by least squares on logarithms of
/// bandwidth; `hit_prior` with fewer than three of them.
Exponent hit_exponent_of(const std::vector<LadderPoint>& ladder, double capacity_bytes, double seconds_per_byte_inside,
                         double seconds_per_byte_beyond);

/// Relative standard deviation that a 95 % interval stands for; `unknown_sigma` when it says nothing.
double sigma_of(double value, const Interval& ci95, std::int64_t repeats);

/// Random numbers of every Monte Carlo computation: the same in every process and on every platform, so that a verdict
/// never changes.
inline constexpr std::size_t draw_count = 2000;
inline constexpr std::size_t draw_columns = 64;

/// `draw_count` standard normal numbers: one column for each uncertain figure, stratified and shuffled (McKay, Beckman
/// and Conover, Technometrics 21, 1979). The first quarter is stratified as well. Columns repeat beyond `draw_columns`.
std::span<const double> normal_draws(std::size_t column);

}  // namespace gpubench::classifier
