// SPDX-License-Identifier: Apache-2.0
// Finding cache levels in bandwidth against working set. Pure: it measures nothing and knows no device.
#pragma once

#include <cstddef>
#include <vector>

#include "core/model/calibration.h"

namespace gpubench::calibrate {

/// What a working-set ladder gave.
struct Ladder {
  std::vector<double> working_set_bytes;  ///< ascending
  std::vector<std::vector<double>>
      sweeps;  ///< for each pass over the ladder, bytes/s of every rung; same length as above
};

struct LevelOptions {
  std::size_t max_levels = 3;
  /// Plateaus are never quite flat: scatter about a plateau below this fraction is no reason to see two.
  double flatness = 0.03;
  /// A level must be at least this much faster than the next: 1.15 = 15 %.
  double min_step = 1.15;
  /// Longest transition between two plateaus, and longest rise before the first, in octaves of the working set.
  double longest_ramp_octaves = 3.0;
  std::size_t shortest_plateau = 3;  ///< in rungs
};

/// One plateau before the last.
struct FoundLevel {
  CacheLevel level;
  std::vector<double> rates;  ///< bytes/s on the plateau, one for each sweep: the median over its rungs
};

struct LevelFit {
  std::vector<FoundLevel> levels;   ///< from the fastest to the slowest
  std::vector<LadderPoint> ladder;  ///< median over the sweeps
  std::vector<double> beyond;       ///< bytes/s on the last plateau, one for each sweep
};

/// `per_octave` working sets an octave from `smallest` to `largest`, both included, multiples of `granularity`.
std::vector<std::size_t> rungs(std::size_t smallest, std::size_t largest, int per_octave, std::size_t granularity);
/// The same with `dense` an octave up to `dense_bytes`, while a pass is cheap, and `sparse` beyond.
std::vector<std::size_t> rungs(std::size_t smallest, std::size_t largest, int dense, double dense_bytes, int sparse,
                               std::size_t granularity);

/// Splits log(bandwidth) over log(working set), the median over the sweeps without single spikes, into plateaus joined
/// by straight ramps, by dynamic programming (Jackson et al., IEEE Signal Processing Letters 12, 2005). The number of
/// plateaus is the one with the least Bayesian information criterion (Schwarz, Annals of Statistics 6, 1978). The last
/// lies beyond the caches: n plateaus make n - 1 levels, and too few rungs none. Half of the bytes miss a level at its
/// capacity: there the time for a byte is halfway between its plateau and the next. The interval spans the rungs on
/// both sides and what sweeps drawn anew give (bootstrap, 95 %). Throws std::invalid_argument on bad sweeps or sets.
LevelFit find_levels(const Ladder& ladder, const LevelOptions& options = {});

}  // namespace gpubench::calibrate
