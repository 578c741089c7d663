// SPDX-License-Identifier: Apache-2.0
// How samples of a host probe become a ceiling, and who else used the processors meanwhile.
#pragma once

#include <memory>

#include "calibrate/calibration_context.h"
#include "calibrate/ladder.h"
#include "core/base/load.h"
#include "core/base/units.h"
#include "core/model/calibration.h"
#include "kernels/probes/host/kernels.h"
#include "kernels/probes/host/probes.h"

namespace gpubench::calibrate {

inline constexpr double sustained_seconds = 0.8;  ///< of load without rest, where a probe has that

/// Execution units of one core that take a piece of work every clock. How many there are cannot be asked for.
struct Units {
  double work_per_clock = 0.0;  ///< of one unit; 0 where no limit can be computed
  int max = 0;                  ///< no core of this kind has more
  std::string text;             ///< "16 lanes x 2"
};

/// One thing measured once in every round of a calibration.
struct HostProbe {
  Ceiling ceiling;  ///< ceiling_of sets value, interval, repeats, clock and limit; the rest is set beforehand
  std::function<Reading()> measure;
  int cores = 1;         ///< that work
  bool per_core = true;  ///< false where the rate is no property of cores
  Units units;
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
Reading best_of(int tries, const std::function<Reading()>& measure);

/// The limit of a core's units together when one of them allows `one_unit`. The rate shows how many units there are:
/// another one for every full `one_unit` that it exceeds by a tenth, up to `max_units`. Absent when there may be two
/// and the rate shows only one: the second may be missing or taken by another user of the core.
std::optional<double> limit_shown(double rate, double one_unit, int max_units);

/// The median of the samples with its distribution-free interval; the clock is that of the sample in the middle.
/// Samples during which the clock changed do not count where three others are left, and it says so.
Ceiling ceiling_of(const HostProbe& probe);

/// The ceilings of probes that have been sampled: of several of one resource the one with the largest median. Probes
/// without samples give none.
std::vector<Ceiling> best_ceilings(const std::vector<HostProbe>& probes);

/// A sentence when other processes or virtual machines took more than 2 % of the processors' time between two readings;
/// `own` is this process's part of the busy time.
std::optional<std::string> load_warning(const LoadReading& before, const LoadReading& after, double own);

/// How much is measured in each mode.
struct HostPlan {
  int rounds = 9;          ///< all probes are gone through so often; each round is an independent repeat
  int min_rounds = 3;      ///< these are run whatever time they take
  double round_seconds;    ///< from the start of the calibration: no further round begins that would end later
  double touch_seconds;    ///< most time for touching fresh memory, each time
  int arithmetic_tries;    ///< a repeat is the best of so many short runs
  std::size_t windows;     ///< that the memory is streamed through in
  int stream_windows = 3;  ///< a repeat is the best of so many windows
  double gemm_seconds;     ///< matrices grow until eight products take this long
  double rung_seconds;
  int sparse_rungs;           ///< working sets an octave where a pass takes long
  std::size_t ladder_caches;  ///< the ladder ends at so many times the last-level cache
};

/// Sweeps over the working sets of a team.
struct HostLadder {
  std::vector<std::size_t> sizes;  ///< of one thread
  Ladder ladder;                   ///< of all threads together
  std::vector<double> clocks;      ///< one for each sweep, or none
};

/// The CPU under calibration. Groups add probes, which are then sampled in turn, or write straight to `calibration`.
class HostCalibrationContext : public CalibrationContext {
 public:
  HostCalibrationContext(const Device& device, const CalibrationOptions& options, const HostPlan& plan);

  const HostPlan& plan;
  probes::Isa isa = probes::widest_isa();
  const probes::HostKernels& kernels = probes::host_kernels(isa);
  /// Its chain of additions tells the clock of loads, stores and integers: none lowers it as wide floating point does.
  const probes::HostKernels& plain_kernels = probes::host_kernels(probes::Isa::baseline);
  int threads;
  std::unique_ptr<probes::MemoryProbe> memory;  ///< of all cores; empty until the memory group made it
  std::unique_ptr<probes::MemoryProbe> one_core_memory;
  HostLadder ladder;
  HostLadder one_core_ladder;
  std::vector<HostProbe> probes;
  std::vector<std::function<void()>> sweeps;  ///< whatever else takes its turn in every round

  [[nodiscard]] std::string isa_name() const { return std::string(probes::name_of(isa)); }

  void sample_all();
  /// Ends the calibration, with the share of the cores that it had.
  Calibration finish_with_share();
  /// For a probe that is not among `probes`: adds its ceiling.
  void conclude(const HostProbe& probe);
  /// Runs a probe without rest for its sustained_seconds: the ceiling RESOURCE-sustained of what it kept up in the
  /// second half.
  static Ceiling sustained(const HostProbe& probe);
  void sustain_all();

 private:
  LoadReading load_ = read_load();
  double own_ticks_;  ///< of processor time, likewise at the start
  double start_;
};

/// Memory for streams beyond a cache of so many bytes: `wanted` is four times that, `given` at most a quarter of what
/// is free.
struct StreamMemory {
  double wanted = 0.0;
  double given = 0.0;
};
StreamMemory stream_memory(double cache_bytes);

/// Takes one sample. Where threads cannot be made or placed, the probe ends: it goes to `failure`.
void sample(HostProbe& probe);

// The groups. Each names what it cannot measure, with the reason; none throws.

void add_host_vector_probes(HostCalibrationContext& bench);    ///< arithmetic in registers by type and vector extension
void add_host_product_probes(HostCalibrationContext& bench);   ///< matrix products
void add_host_memory_probes(HostCalibrationContext& bench);    ///< DRAM, and the memory that others use
void add_host_ladders(HostCalibrationContext& bench);          ///< a sweep over working sets in every round
void conclude_host_ladders(HostCalibrationContext& bench);     ///< the levels that the sweeps show
void measure_host_latencies(HostCalibrationContext& bench);    ///< pointer chases and their curve
void measure_host_intensities(HostCalibrationContext& bench);  ///< memory and arithmetic together

}  // namespace gpubench::calibrate
