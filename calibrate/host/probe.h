// SPDX-License-Identifier: Apache-2.0
// How samples of a host probe become a ceiling, and who else used the processors meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/calibration.h"

namespace gpubench::calibrate {

/// One sample of a probe.
struct HostReading {
  double value = 0.0;              ///< in the ceiling's unit
  std::optional<double> clock_hz;  ///< of the cores that worked
  double work = 0.0;               ///< of one run, in the ceiling's work unit; 0 where it is set beforehand
  bool steady = true;              ///< the clock did not change meanwhile, as far as is known
};

/// Execution units of one core that take a piece of work every clock. How many there are cannot be asked for.
struct Units {
  double work_per_clock = 0.0;  ///< of one unit; 0 where no limit can be computed
  int max = 0;                  ///< no core of this kind has more
  std::string text;             ///< "16 lanes x 2"
};

/// One thing measured once in every round of a calibration.
struct HostProbe {
  Ceiling ceiling;  ///< ceiling_of sets value, interval, repeats, clock and limit; the rest is set beforehand
  std::function<HostReading()> measure;
  int cores = 1;         ///< that work
  bool per_core = true;  ///< false where the rate is no property of cores
  Units units;
  std::string also;                ///< a second name that this way has to itself; empty without
  double sustained_seconds = 0.0;  ///< how long it runs without rest at the end; 0: not at all

  std::vector<double> values;
  std::vector<double> clocks;  ///< as many as values, or none
  std::vector<bool> steady;    ///< as many as values, or none
  std::vector<double> shares;  ///< of its cores' time that the process had in each sample
  std::string failure;         ///< why it was given up; empty while it works
};

/// The best of some readings of a rate, among the steady ones where there are any: a disturbance only slows a short run
/// down, but a rate at another clock than the one read is wrong. Takes up to three times as many readings until one is
/// steady and within a tenth of the best.
HostReading best_of(int tries, const std::function<HostReading()>& measure);

/// The limit of a core's units together when one of them allows `one_unit`. The rate shows how many units there are:
/// another one for every full `one_unit` that it exceeds by a tenth, up to `max_units`. Absent when there may be two
/// and the rate shows only one: the second may be missing or taken by another user of the core.
std::optional<double> limit_shown(double rate, double one_unit, int max_units);

/// The median of the samples with its distribution-free interval; the clock is that of the sample in the middle.
/// Samples during which the clock changed do not count where three others are left, and it says so.
Ceiling ceiling_of(const HostProbe& probe);

/// The ceilings of probes that have been sampled: of several of one resource the one with the largest median, and those
/// of their second names. Probes without samples give none.
std::vector<Ceiling> best_ceilings(const std::vector<HostProbe>& probes);

/// Processor time since the system started, all processors together, in clock ticks.
struct ProcessorTimes {
  double busy = 0.0;    ///< in any process
  double stolen = 0.0;  ///< that the virtual machine was kept waiting
  double idle = 0.0;
};
/// From the text of /proc/stat; absent when it is not that.
std::optional<ProcessorTimes> parse_processor_times(std::string_view text);

/// A sentence when other processes or virtual machines took more than 2 % of the processors' time; `own` is this
/// process's part of the busy time.
std::optional<std::string> load_warning(const ProcessorTimes& passed, double own);

/// The same for the time since this was made.
class OtherLoad {
 public:
  OtherLoad();
  [[nodiscard]] std::optional<std::string> warning() const;

 private:
  std::optional<ProcessorTimes> start_;
  double own_start_;
};

}  // namespace gpubench::calibrate
