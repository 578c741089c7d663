// SPDX-License-Identifier: Apache-2.0
// A GPU under calibration, of whatever vendor: probes, the clock that they run at, and samples that become a ceiling.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/calibration_context.h"
#include "core/model/calibration.h"
#include "core/model/resources.h"
#include "gpu/device.h"

namespace gpubench::calibrate {

inline constexpr double sample_seconds = 4e-3;  ///< of traffic: an event pair's 1 to 6 us are then below 0.15 %

/// The clock of a GPU's multiprocessors, in Hz: the mean of all.
class SmClock {
 public:
  virtual ~SmClock() = default;
  /// Over the first `count` readings that a probe's own kernel has left. Waits for the stream.
  virtual double read(int count) = 0;
  /// Over the next moment.
  virtual double now() = 0;
  /// While work runs that takes `seconds` by itself: a reading after the work would be too high, for a GPU raises its
  /// clock at once. Absent when the work found no room beside what reads the clock.
  virtual std::optional<double> during(const std::function<void()>& enqueue, double seconds,
                                       bench::EventTimer& timer) = 0;
};

/// What a probe has measured.
struct ProbeSamples {
  std::vector<double> values;
  std::vector<double> clocks;
  std::vector<double> cycles;
  int clocks_beside = 0;        ///< how many of `clocks` were read while the probe ran, not after
  std::uint64_t throttled = 0;  ///< throttle reasons seen, bits as in gpu/readings.h
  int throttled_samples = 0;
  std::optional<double> temperature;
  std::string failure;  ///< why it was given up; empty while it works
};

/// One thing measured once in every round of a calibration.
struct Probe : ProbeSamples {
  Ceiling ceiling;                   ///< ceiling_of sets what was measured, and the limit; the rest is set beforehand
  std::function<void()> enqueue;     ///< a rate: `ceiling.work_per_run` of work. Empty where `measure` is set
  std::function<Reading()> measure;  ///< anything else: takes a sample by itself
  double rest_seconds = 0.0;         ///< idle time before each sample
  int clock_readings = 0;            ///< how many the probe's own kernel leaves; 0: read beside a repetition of it
  std::optional<double> limit;       ///< theoretical, whatever the clock
  std::optional<double> limit_for_clock;  ///< theoretical, of one multiprocessor in a clock
  /// Metrics whose sum times `counted_factor` is the work, by preference; empty where none counts it.
  std::vector<std::vector<std::string>> counted;
  double counted_factor = 1.0;
  /// The declared work is only a bound: the counted work takes its place, and without a count there is no ceiling.
  bool work_is_as_counted = false;
  double sustained_seconds = 0.0;  ///< how long it is to run without rest at the end; 0: not at all

  [[nodiscard]] bool by_power() const { return is_bound_by_power(ceiling.resource); }
};

/// What power limits is sampled in so many visits apart in time.
inline constexpr int power_visits = 3;
/// How many of its samples are left to the last visit; the others follow each other in the rounds.
constexpr int last_visit(int samples) { return samples - samples * (power_visits - 1) / power_visits; }

/// A vendor derives from it and brings the probes. Groups of them are added, and then sampled in turn, or write
/// straight to `calibration`.
class GpuCalibration : public CalibrationContext {
 public:
  GpuCalibration(const Device& device, const CalibrationOptions& options);
  virtual ~GpuCalibration() = default;
  GpuCalibration& operator=(GpuCalibration&&) = delete;  ///< not copied, not moved

  std::unique_ptr<bench::Gpu> gpu;
  Stream stream;
  bench::EventTimer timer;
  std::vector<Probe> probes;

  virtual SmClock& sm_clock() = 0;
  /// Brings the clocks up from idle, by arithmetic.
  virtual void warm_up(double seconds) = 0;
  // The groups, in the order in which they are asked for, as far as the options' mode and part have them. Each names
  // what it cannot measure, with the reason; none throws.
  /// What launches, waits and small copies cost, before any other stream is used.
  virtual void measure_costs() {}
  virtual void add_probes() = 0;
  /// What is not sampled in turn: ladders, latencies, links.
  virtual void measure_curves() {}
  /// For a drift check: adds the one probe that measures what a stored ceiling did, with its launch shape where that is
  /// still tried. Without effect where no probe has its name. Throws GpuError and OutOfMemory.
  virtual void add_probe_like(const Ceiling& stored) = 0;

  [[nodiscard]] int multiprocessors() const { return device.units; }
  /// Begins a calibration: adds the probes, or has those of the one before forget their samples.
  void prepare_probes();
  /// As the base's, and takes the GPU's error away, so that no later call tells it again.
  void attempt(const std::vector<std::string>& resources, const std::function<void()>& part);
  /// Takes one sample and the clock with it. An error of the GPU ends the probe: it goes to `failure`.
  void sample(Probe& probe);
  /// The median of the samples with the interval that holds them all, its limit at the clock read, and what bears on
  /// it. The interval of what power limits holds the 95 % interval of its visits' mean, too.
  [[nodiscard]] Ceiling ceiling_of(const Probe& probe) const;
  /// Adds the ceiling of a probe that has its samples, or why there is none.
  void conclude(const Probe& probe);
  /// Samples something that is not among `probes` and takes its samples by itself, and adds its ceiling. An error of
  /// the GPU makes it absent.
  void measure_now(Ceiling ceiling, std::function<Reading()> measure, int repeats);

 private:
  void sample_rate(Probe& probe);

  std::vector<AbsentCeiling> without_probe_;
};

/// Bits as in gpu/readings.h: the driver holds the clock back.
extern const std::uint64_t any_throttle;
/// Fills in value, interval, clock and what follows from them. The interval goes from the smallest to the largest
/// sample: of nine that is the median's with 99.6 %. One of 95 % would be too narrow, because processes differ, too.
void sum_up(Ceiling& ceiling, const Probe& probe, const std::vector<double>& values, const std::vector<double>& clocks,
            int multiprocessors);

/// Of the vendor that the device is of. Throws GpuError where it cannot be used, or this build has no probes for it.
std::unique_ptr<GpuCalibration> open_calibration(const Device& device, const CalibrationOptions& options);
/// Whether the work that probes declare is the work that the GPU's counters count: of all probes that have a ceiling,
/// as far as the time allows.
void confirm(GpuCalibration& bench, double seconds);
/// What is measured in which order. Again and again, where memory and launch shapes of the first time are to be kept.
Calibration calibrate_gpu(GpuCalibration& gpu);

}  // namespace gpubench::calibrate
