// SPDX-License-Identifier: Apache-2.0
// What the probes of the host's calibration have in common: samples that become a ceiling. Pure: it measures nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/model/calibration.h"

namespace gpubench::calibrate {

/// One sample of a probe.
struct HostReading {
  double value = 0.0;              ///< in the ceiling's unit
  std::optional<double> clock_hz;  ///< of the cores that worked
  double work = 0.0;               ///< of one run, in the ceiling's work unit; 0 where it is set beforehand
  bool steady = true;              ///< the clock did not change while it was taken, as far as is known
};

/// Execution units of one core that take a piece of work every clock. How many there are cannot be asked for.
struct Units {
  double work_per_clock = 0.0;  ///< of one unit; 0 where no limit can be computed
  int max = 0;                  ///< more of them no core of this kind has
  std::string text;             ///< "16 lanes x 2"
};

/// One thing measured once in every round of a calibration.
struct HostProbe {
  /// Resource, unit, group, shape, conditions and method are set beforehand, the rest by ceiling_of.
  Ceiling ceiling;
  std::function<HostReading()> measure;
  int cores = 1;         ///< that work
  bool per_core = true;  ///< false where the rate is no property of cores
  Units units;
  std::string also;                ///< a second name, which this way has to itself; empty without
  double sustained_seconds = 0.0;  ///< how long it is to run without rest at the end; 0: not at all

  std::vector<double> values;
  std::vector<double> clocks;  ///< as many as values, or none
  std::vector<bool> steady;    ///< as many as values, or none
  std::vector<double> shares;  ///< of its cores' time that the process had in each sample
  std::string failure;         ///< why it was given up; empty while it works
};

/// The best of some readings of a rate, among the steady ones where there are any: whatever disturbs a short run only
/// slows it down, but a clock that changed would not be the one the rate was had at. Takes up to three times as many
/// until one is steady and within a tenth of the best.
HostReading best_of(int tries, const std::function<HostReading()>& measure);

/// The rate that a core's units allow together when one of them alone allows `one_unit`: so many units as the rate
/// shows, the last by more than a tenth of it, but no more than there can be. Absent when the rate does not even show a
/// second one where there might be one: it may be missing or may be taken by another user of the core.
std::optional<double> limit_shown(double rate, double one_unit, int max_units);

/// The median of the samples with its distribution-free interval; the clock is that of the sample in the middle.
/// Samples during which the clock changed do not count where three others are left, and it says so.
Ceiling ceiling_of(const HostProbe& probe);

/// The ceilings of probes that have been sampled: of several of one resource the one with the largest median, and those
/// of their second names. Probes without samples give none.
std::vector<Ceiling> best_ceilings(const std::vector<HostProbe>& probes);

}  // namespace gpubench::calibrate
