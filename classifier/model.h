// SPDX-License-Identifier: Apache-2.0
// The time model: work and ceilings in, time on every resource out.
//
//   t = t0 + (sum_r T_r^p)^(1/p)
//
// The launch t0 adds; throughput resources overlap. On published sweeps of small kernels the additive form leaves 2 to
// 3 % rms where max(t0, V/B) leaves 13 to 16 %, and mixed-intensity sweeps fit p = 4 to 9 on two GPUs, more on others.
// The memory levels are one resource: their times follow one another, because one stream of accesses is served now by
// this level, now by that.
#pragma once

#include <array>
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

inline constexpr double overlap_exponent = 8.0;  ///< p
/// m of the hit fraction 1 / (1 + (footprint / capacity)^m): about 10 fits the passage from L2 to DRAM of a GH200. The
/// inner caches take the same for want of a measured one; a ladder measures them.
inline constexpr double hit_exponent = 10.0;
/// Relative standard deviation of a modelled time beside its ceiling's own: accesses that are not the probe's, work not
/// declared.
inline constexpr double model_sigma = 0.05;
/// Relative standard deviation taken for a figure that comes without a usable interval.
inline constexpr double unknown_sigma = 0.05;

/// Figures outside are damage, not measurements; inside, no product or ratio of them leaves the range of a double.
inline constexpr double least_figure = 1e-15;
inline constexpr double largest_figure = 1e30;

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
  std::optional<Launch> launch;
  std::vector<Cache> caches;  ///< from the smallest to the largest
  std::vector<DramMix> dram;  ///< by growing share of writes; may be empty
  std::array<std::optional<Rate>, pipe_names.size()> pipes;
};

/// Ceilings that are not within the bounds of a figure are left out, as are cache levels without a bandwidth.
Machine machine_of(const Calibration& calibration);

/// Every uncertain figure of the machine in turn raised by one standard deviation, for error propagation.
std::vector<Machine> perturbed(const Machine& machine);

/// What surrounds the work at the time of measuring.
struct Conditions {
  std::optional<double> clock_hz;  ///< pipes' ceilings are scaled to it
  bool cold = false;               ///< the caches hold nothing: the first touch of each byte goes to DRAM
};
Conditions conditions_of(const Measurement& measurement);

enum class ResourceKind { memory, pipe };

/// The time that one resource needs at its ceiling.
struct ResourceTime {
  std::string_view resource;  ///< lives as long as the machine
  ResourceKind kind = ResourceKind::memory;
  double seconds = 0.0;
  double sigma = 0.0;  ///< relative, of the ceiling; `model_sigma` not included
};

struct Prediction {
  std::optional<Launch> launch;
  std::vector<ResourceTime>
      resources;  ///< every cache and DRAM, then the declared pipes; zero seconds where nothing is done
  double split_seconds_sigma = 0.0;  ///< standard deviation of the memory time from where the caches end, in seconds
  std::vector<std::string_view> missing;  ///< resources the work needs that have no ceiling

  [[nodiscard]] double memory_seconds() const;  ///< all levels, one after the other
  [[nodiscard]] double memory_sigma() const;    ///< relative; errors of levels and capacities taken as independent
  [[nodiscard]] const ResourceTime* largest(ResourceKind kind) const;  ///< null when none takes time
  [[nodiscard]] double work_seconds() const;                           ///< (sum_r T_r^p)^(1/p), without launch
};

/// `machine` must outlive the result.
Prediction predict(const Work& work, const Conditions& conditions, const Machine& machine);

/// Bytes served by each cache and, last, by DRAM; they add to `bytes`. A cache of capacity C holds the fraction
/// 1 / (1 + (footprint / C)^hit_exponent) of what the caches before it did not.
std::vector<double> split_over_levels(double bytes, double footprint, bool cold, const std::vector<Cache>& caches);

/// DRAM's time per byte and its relative standard deviation at a share of writes, linear between the measured mixes and
/// constant beyond them. `mixes` must not be empty.
std::pair<double, double> dram_seconds_per_byte(double write_fraction, const std::vector<DramMix>& mixes);

/// Relative standard deviation that a 95 % interval of `value` stands for; `unknown_sigma` when the interval says
/// nothing.
double sigma_of(double value, const Interval& ci95, std::int64_t repeats);

/// (sum x^p)^(1/p) of non-negative numbers, p = overlap_exponent.
class OverlapSum {
 public:
  void add(double seconds);
  [[nodiscard]] double value() const;

 private:
  double largest_ = 0.0;
  double sum_ = 0.0;  ///< of (x / largest)^p
};

}  // namespace gpubench::classifier
