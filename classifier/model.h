// SPDX-License-Identifier: Apache-2.0
// The time model: work and ceilings in, time on every resource out.
//
//   t = t0 + ( (kappa S)^p + T_start^p )^(1/p)      S = (sum_r T_r^p)^(1/p)
//
// The launch t0 adds; throughput resources overlap; kappa is what an uneven last wave of blocks costs. T_start is what
// a GPU needs to start the blocks of a grid, one after another (an H200: 0.60 ns each, of whatever size). On published
// sweeps of small kernels the additive form leaves 2 to 3 % rms where max(t0, V/B) leaves 13 to 16 %, and
// mixed-intensity sweeps fit p = 4 to 9 on two GPUs, more on others. Without counters the memory levels share the bytes
// through a hit fraction and are one resource: their times follow one another, because one stream of accesses is served
// now by this level, now by that. With counters each level has the bytes that were counted on it and overlaps with the
// others.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpubench/calibration.h"
#include "gpubench/device.h"
#include "gpubench/measurement.h"
#include "gpubench/work.h"

namespace gpubench::classifier {

/// Relative standard deviation of a modelled time beside its ceiling's own: accesses that are not the probe's, work not
/// declared.
inline constexpr double model_sigma = 0.05;
/// Relative standard deviation taken for a figure that comes without a usable interval.
inline constexpr double unknown_sigma = 0.05;

/// Figures outside are damage, not measurements; inside, no product or ratio of them leaves the range of a double.
inline constexpr double least_figure = 1e-15;
inline constexpr double largest_figure = 1e30;

/// A positive figure with the standard deviation of its logarithm.
struct Exponent {
  double value = 1.0;
  double sigma = 0.0;
};
/// p where no mixed-intensity sweep was fitted: 4.4 and 8.9 on two GPUs, 25 and more on two others.
inline constexpr Exponent overlap_prior = {8.0, 0.4};
/// m of the hit fraction 1 / (1 + (footprint / capacity)^m) where no ladder was fitted: about 10 fits the passage from
/// L2 to DRAM of a GH200.
inline constexpr Exponent hit_prior = {10.0, 0.4};

/// The resource that starts the blocks of a grid.
inline constexpr std::string_view block_start = "block-start";

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

/// A calibration made ready for the model: usable figures alone, in the model's form.
struct Machine {
  DeviceKind kind = DeviceKind::cpu;
  int units = 0;  ///< multiprocessors; 0 when not known
  std::optional<Launch> launch;
  std::optional<Rate> block_start;  ///< blocks a second
  std::vector<Cache> caches;        ///< from the smallest to the largest
  std::vector<DramMix> dram;        ///< by growing share of writes; may be empty
  /// Of all multiprocessors together, and of counted traffic alone: nobody declares what goes through these.
  std::optional<Rate> unit_l1;
  std::optional<Rate> unit_shared;
  std::array<std::optional<Rate>, pipe_names.size()> pipes;
  Exponent overlap = overlap_prior;  ///< p
  std::size_t overlap_points = 0;    ///< of the intensity sweep that p was fitted to; 0: the prior
};

/// Ceilings that are not within the bounds of a figure are left out, as are cache levels without a bandwidth. A cache's
/// hit exponent is fitted to the calibration's ladder where that has rungs enough, p to its intensity sweep.
Machine machine_of(const Calibration& calibration);

/// The machine with every figure drawn from its interval; the same for the same `draw`, which counts from 0 to
/// draw_count - 1.
Machine drawn(const Machine& machine, std::size_t draw);

/// What the counters saw of one execution. Absent is not counted.
struct Counted {
  std::optional<double> dram_read_bytes;
  std::optional<double> dram_write_bytes;
  std::optional<double> l1_bytes;       ///< through the tag stage, as the ceiling of L1 is confirmed
  std::optional<double> shared_bytes;   ///< shared memory's wavefronts of 128 bytes: bank conflicts count as they cost
  std::optional<double> l2_bytes;       ///< asked for by the multiprocessors, as far as the counters can tell
  std::optional<double> issue_seconds;  ///< that the schedulers were busy issuing
  std::map<Pipe, double> flops;

  [[nodiscard]] bool has_levels() const { return dram_read_bytes && dram_write_bytes; }
};
/// `flops_half` counts both half types and twice where code is scalar: it is taken for the declared one of them, and
/// only where it differs from that by more than this.
Counted counted_in(const Measurement& measurement);

/// What surrounds the work at the time of measuring.
struct Conditions {
  std::optional<double> clock_hz;  ///< ceilings that follow the clock are scaled to it
  bool cold = false;               ///< the caches hold nothing: the first touch of each byte goes to DRAM
  Counted counted;
  std::optional<Grid> grid;
  std::optional<double> wave_factor;    ///< in place of the grid's
  double later_blocks = 0.0;            ///< blocks whose start is no part of the launch; 0 where nobody knows
  std::optional<double> fixed_seconds;  ///< what kernels of its launch shapes cost before and after their work
};
Conditions conditions_of(const Measurement& measurement);

/// start: of blocks.
enum class ResourceKind { memory, pipe, start };

/// The time that one resource needs at its ceiling.
struct ResourceTime {
  std::string_view resource;  ///< lives as long as the machine
  ResourceKind kind = ResourceKind::memory;
  double seconds = 0.0;
  double sigma = 0.0;  ///< relative, of the ceiling; `model_sigma` not included
};

/// What the memory levels are asked for, so that their times can be had again under other figures.
struct MemoryDemand {
  struct Level {
    double capacity_bytes = std::numeric_limits<double>::infinity();  ///< infinite: DRAM
    double capacity_sigma = 0.0;
    Exponent hit_exponent;
    double seconds_per_byte = 0.0;
  };
  double first_touch_bytes = 0.0;  ///< DRAM's, whatever the caches hold
  double other_bytes = 0.0;
  double footprint_bytes = 0.0;
  std::vector<Level> levels;  ///< as the memory resources of the prediction; empty when the levels were counted

  /// Bytes served by each level and, last, by what lies beyond them; they add to all bytes. A cache holds the fraction
  /// 1 / (1 + (footprint / capacity)^m) of what the caches before it did not.
  void split(std::vector<double>& bytes) const;
};

/// The last cache where levels were counted: how much of its traffic its nearer half serves is not.
struct CountedCache {
  std::string_view resource;  ///< lives as long as the machine
  double capacity_bytes = 0.0;
  Exponent hit_exponent;
  double footprint_bytes = 0.0;

  /// Of the traffic, if the nearer half is filled first.
  [[nodiscard]] double near_fraction() const;
};

struct Prediction {
  std::optional<Launch> launch;
  std::optional<double> fixed_seconds;  ///< as in Conditions
  /// Every cache and DRAM, then the pipes, then the start of blocks; zero seconds where nothing is done.
  std::vector<ResourceTime> resources;
  MemoryDemand demand;
  bool counted = false;  ///< memory levels were counted and overlap
  std::optional<CountedCache> counted_cache;
  double wave_factor = 1.0;  ///< kappa
  Exponent overlap = overlap_prior;
  std::size_t overlap_points = 0;         ///< as in Machine
  std::vector<std::string_view> missing;  ///< resources the work needs that have no ceiling

  [[nodiscard]] double memory_seconds() const;  ///< all levels: one after the other, or overlapping where counted
  [[nodiscard]] const ResourceTime* largest(ResourceKind kind) const;  ///< null when none takes time
  [[nodiscard]] double start_seconds() const;                          ///< T_start
  [[nodiscard]] double busy_seconds() const;                           ///< kappa S
  [[nodiscard]] double work_seconds() const;                           ///< ((kappa S)^p + T_start^p)^(1/p)
};

/// `machine` must outlive the result.
Prediction predict(const Work& work, const Conditions& conditions, const Machine& machine);

/// DRAM's time per byte and its relative standard deviation at a share of writes, linear between the measured mixes and
/// constant beyond them. `mixes` must not be empty.
std::pair<double, double> dram_seconds_per_byte(double write_fraction, const std::vector<DramMix>& mixes);

/// What the last wave of blocks costs: ceil(W) / W for W whole and broken waves below four, where the others no longer
/// even it out; with fewer blocks than fit at once, how unevenly they lie on the multiprocessors. 1 when nothing is
/// known.
double wave_factor(const std::optional<Grid>& grid, int units);

/// The hit exponent that the rungs of a ladder between half and twice the capacity show, by least squares on the
/// logarithms of their bandwidths; `hit_prior` with fewer than three of them.
Exponent hit_exponent_of(const std::vector<LadderPoint>& ladder, double capacity_bytes, double seconds_per_byte_inside,
                         double seconds_per_byte_beyond);

/// Relative standard deviation that a 95 % interval of `value` stands for; `unknown_sigma` when the interval says
/// nothing.
double sigma_of(double value, const Interval& ci95, std::int64_t repeats);

/// (sum x^p)^(1/p) of non-negative numbers.
class OverlapSum {
 public:
  explicit OverlapSum(double exponent = overlap_prior.value) : exponent_(exponent) {}
  void add(double seconds);
  [[nodiscard]] double value() const;

 private:
  double exponent_;
  double largest_ = 0.0;
  double sum_ = 0.0;  ///< of (x / largest)^p
};

}  // namespace gpubench::classifier
