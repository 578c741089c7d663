// SPDX-License-Identifier: Apache-2.0
// Steps of a program that repeats itself, and how they vary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "timeline/statistics/distribution.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

struct Iteration {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t works = 0;    ///< kernels, copies and fills launched in it
  std::int64_t work_ns = 0;  ///< the sum of their durations
};

/// Of one process. Found by the first of these that repeats at least three times (ProfilerStep: twice): ranges
/// "ProfilerStep#N" as PyTorch's profiler names them; ranges of one name, or of names that differ in a number at their
/// end, that follow one another on a thread and cover at least half of its time; the steps of an optimizer, each from
/// the end of the one before; work on the GPU that repeats itself and takes at least half of the time of all kernels
/// (timeline/structure/repeats.h).
struct Iterations {
  std::uint32_t process = 0;
  std::string by;        ///< "ProfilerStep", "range step", "314 kernels, copies and fills that repeat"; empty for none
  bool of_work = false;  ///< they begin and end with work on the GPU; else with what the host does
  std::vector<Iteration> all;
  Distribution duration_ns;
  /// Those that took longer than this times the median.
  static constexpr double slow_factor = 1.5;
  [[nodiscard]] std::int64_t slow() const;
  /// The iteration that lasts at this time; -1 for none.
  [[nodiscard]] std::int64_t at(std::int64_t time_ns) const;
};
/// Of each process that has iterations. Throws std::invalid_argument as `analyze`.
std::vector<Iterations> iterations(const Linked& linked);

}  // namespace gpubench::timeline
