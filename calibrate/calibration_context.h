// SPDX-License-Identifier: Apache-2.0
// What the calibrations of every kind of device have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

#include "calibrate/calibrate.h"
#include "core/model/calibration.h"
#include "core/model/device.h"

namespace gpubench::calibrate {

inline constexpr double mebibyte = 1024.0 * 1024.0;
inline constexpr double gibibyte = 1024.0 * mebibyte;
inline constexpr const char* no_memory = "there is not enough memory for it";

/// One sample of a probe.
struct Reading {
  double value = 0.0;                   ///< in the ceiling's unit
  std::optional<double> clock_hz = {};  ///< of what worked
  double work = 0.0;                    ///< of one run, in the ceiling's work unit; 0 where it is set beforehand
  bool steady = true;                   ///< the clock did not change meanwhile, as far as is known
  std::optional<double> cycles = {};    ///< the value in cycles, for latencies
};

/// A device under calibration: groups of probes write what they find to `calibration`.
class CalibrationContext {
 public:
  CalibrationContext(const Device& its_device, const CalibrationOptions& its_options)
      : device(its_device), options(its_options), full(its_options.mode == Mode::full) {}

  const Device& device;
  const CalibrationOptions& options;
  const bool full;
  Calibration calibration;

  /// The last-level cache as the device declares it; 0 where it does not.
  [[nodiscard]] std::size_t cache_bytes() const {
    return static_cast<std::size_t>(std::max<std::int64_t>(device.last_level_cache_bytes, 0));
  }
  /// What follows is this part of the whole calibration, each from 0 to 1.
  void stage(double begin, double end);
  /// Tells that a step begins, `done` of the stage being done.
  void step(std::string_view name, double done) const;
  void absent(const std::string& resource, const std::string& reason);
  void absent(std::initializer_list<const char*> resources, const std::string& reason);
  /// Runs part of the calibration. Where the device, its memory or a thread fails it, the resources are absent with the
  /// reason and it returns false.
  bool attempt(const std::vector<std::string>& resources, const std::function<void()>& part);
  /// Rejects what cannot be right and ends the calibration.
  Calibration finish();

 private:
  double stage_begin_ = 0.0;
  double stage_end_ = 1.0;
};

/// The first words about a ceiling. The unit of its work follows from its own: "B" from "B/s", "access" for latencies.
Ceiling new_ceiling(std::string resource, std::string unit, CeilingGroup group, std::string method);

/// FLOP per byte of so many single-precision multiply-adds on each float read.
constexpr double flops_per_byte(int multiply_adds) { return 2.0 * multiply_adds / sizeof(float); }
/// The height of the steps in which figures climb that should lie on a line: sqrt(12) times their rms distance from the
/// line through them. For an even staircase with many figures on each step this is its height. 0 below three figures.
double step_height(std::span<const double> figures);

}  // namespace gpubench::calibrate
