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

/// A device under calibration: groups of probes write what they find to `calibration`.
class WorkbenchBase {
 public:
  WorkbenchBase(const Device& its_device, const CalibrationOptions& its_options)
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
/// The number of multiply-adds at which memory and arithmetic would take the same time, or what comes nearest.
int ridge_step(std::span<const int> steps, const Ceiling& read, const Ceiling& fp32);
std::string ridge_method(int multiply_adds, std::string_view from);
/// Adds the ceiling of bytes at the ridge, and that of the multiply-adds which went with them (ridge-fp32-sustained).
/// The latter's limit is that of `fp32` at the clock of these runs.
void add_ridge(Calibration& calibration, Ceiling bytes, int multiply_adds);

/// The height of the steps in which figures climb that should lie on a line: sqrt(12) times their rms distance from the
/// line through them. For an even staircase with many figures on each step this is its height. 0 below three figures.
double step_height(std::span<const double> figures);

}  // namespace gpubench::calibrate
