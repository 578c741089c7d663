// SPDX-License-Identifier: Apache-2.0
// The time model: work and ceilings in, time on every resource out.
//
//   t = t0 + ( (kappa S)^p + T_start^p )^(1/p)      S = (sum_r T_r^p)^(1/p)
//
// The launch t0 adds; throughput resources overlap. kappa is what an uneven last wave of blocks costs, T_start what a
// GPU needs to start the blocks of a grid one after another. Without counters the memory levels share the bytes through
// a hit fraction, and their times add up. With counters each level has its counted bytes and overlaps with the others.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "classifier/model/machine.h"
#include "core/model/measurement.h"
#include "gpubench/work.h"

namespace gpubench::classifier {

/// What the counters saw of one execution. Absent is not counted.
struct CountedWork {
  std::optional<double> dram_read_bytes;
  std::optional<double> dram_write_bytes;
  std::optional<double> l1_bytes;       ///< through the tag stage, as the ceiling of L1 is confirmed
  std::optional<double> shared_bytes;   ///< shared memory's wavefronts of 128 bytes: bank conflicts count as they cost
  std::optional<double> l2_bytes;       ///< asked for by the multiprocessors, as far as the counters can tell
  std::optional<double> issue_seconds;  ///< that the schedulers were busy issuing
  std::map<Pipe, double> flops;

  [[nodiscard]] bool has_levels() const { return dram_read_bytes && dram_write_bytes; }
  /// Read and written. This and the next need `has_levels`.
  [[nodiscard]] double dram_bytes() const { return *dram_read_bytes + *dram_write_bytes; }
  /// At least what DRAM moves, all of which comes through it.
  [[nodiscard]] double bytes_through_l2() const { return std::max(l2_bytes.value_or(0.0), dram_bytes()); }
  /// What a memory level moved; 0 of one that nobody counts.
  [[nodiscard]] double bytes_of(std::string_view resource) const;
};
/// `flops_half` counts both half types, and twice in scalar code: it replaces the declared work only where the two
/// differ by more than that.
CountedWork counted_in(const Measurement& measurement);

struct ModelInput {
  std::optional<double> clock_hz;  ///< ceilings that follow the clock are scaled to it
  bool cold = false;               ///< the caches hold nothing: the first touch of each byte goes to DRAM
  CountedWork counted;
  std::optional<Grid> grid;
  std::optional<double> wave_factor;              ///< in place of the grid's
  double later_blocks = 0.0;                      ///< blocks whose start is no part of the launch; 0 where nobody knows
  std::optional<double> kernel_overhead_seconds;  ///< of its launch shapes
  double kernels = 1.0;                           ///< that one execution launches
};
ModelInput model_input_of(const Measurement& measurement);

/// The time that one resource needs at its ceiling.
struct ResourceTime {
  std::string_view resource;  ///< lives as long as the machine
  ResourceKind kind = ResourceKind::memory;
  double seconds = 0.0;
  double sigma = 0.0;  ///< relative, of the ceiling; `model_sigma` not included
};

/// What the memory levels are asked for, so that their times can be computed again with other figures.
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

  /// Bytes served by each level and, last, by what lies beyond; they add to all bytes.
  void split(std::vector<double>& bytes) const {
    split(bytes, [](std::size_t, double& /*capacity*/, double& /*exponent*/) {});
  }
  /// Likewise, with the capacity and the hit exponent of each level changed by `change` first, which takes its place.
  template <class Change>
  void split(std::vector<double>& bytes, const Change& change) const {
    bytes.clear();
    bytes.reserve(levels.size() + 1);
    double rest = other_bytes;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      double capacity = levels[i].capacity_bytes;
      double exponent = levels[i].hit_exponent.value;
      if (capacity == std::numeric_limits<double>::infinity()) break;
      change(i, capacity, exponent);
      bytes.push_back(rest * hit_fraction(footprint_bytes, capacity, exponent));
      rest -= bytes.back();
    }
    bytes.push_back(rest + first_touch_bytes);
  }
};

/// The last cache where levels were counted. How much of its traffic the nearer half serves is not counted.
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
  double kernels = 1.0;                           ///< likewise
  /// Every cache and DRAM, then the pipes, then the start of blocks; zero seconds where nothing is done.
  std::vector<ResourceTime> resources;
  MemoryDemand demand;
  bool counted = false;  ///< memory levels were counted and overlap
  std::optional<CountedCache> counted_cache;
  double wave_factor = 1.0;  ///< kappa
  Exponent overlap = overlap_prior;
  std::vector<std::string_view> missing;  ///< resources the work needs that have no ceiling

  [[nodiscard]] double memory_seconds() const;  ///< all levels: one after the other, or overlapping where counted
  [[nodiscard]] const ResourceTime* largest(ResourceKind kind) const;  ///< null when none takes time
  [[nodiscard]] double seconds_of(std::string_view resource) const;    ///< 0 of one that it does not use
  [[nodiscard]] double start_seconds() const;                          ///< T_start
  [[nodiscard]] double busy_seconds() const;                           ///< kappa S
  [[nodiscard]] double work_seconds() const;                           ///< ((kappa S)^p + T_start^p)^(1/p)
};

/// `machine` must outlive the result.
Prediction predict(const Work& work, const ModelInput& conditions, const Machine& machine);

/// How often its blocks fill all multiprocessors; absent where either is not known.
std::optional<double> waves_of(const std::optional<Grid>& grid, int units);

/// What an uneven last wave of blocks costs: ceil(b) / b for b blocks a multiprocessor below four waves, else 1. Not
/// ceil(W) / W of the waves W: the few blocks of a last wave share what their multiprocessor can do.
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
