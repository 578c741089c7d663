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

#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "classifier/machine.h"
#include "classifier/model_input.h"

namespace gpubench::classifier {

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
  std::optional<double> kernel_overhead_seconds;  ///< as in ModelInput
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
Prediction predict(const Work& work, const ModelInput& conditions, const Machine& machine);

/// How often its blocks fill all multiprocessors; absent where either is not known.
std::optional<double> waves_of(const std::optional<Grid>& grid, int units);

/// What an uneven last wave of blocks costs: ceil(b) / b for b blocks a multiprocessor, the most that one of them has
/// over the mean, below four waves, beyond which the others even it out; 1 when nothing is known. Not ceil(W) / W of
/// the waves W: the few blocks of a last wave have what the multiprocessor can do to themselves. On an H200 a dot
/// product of 1056 blocks, 6 at once on each of 132 multiprocessors, is at 95 % of DRAM's ceiling, and not at the 67 %
/// of 1.33 waves.
double wave_factor(const std::optional<Grid>& grid, int units);

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
