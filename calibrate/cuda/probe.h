// SPDX-License-Identifier: Apache-2.0
// What the probes of a GPU's calibration have in common: a timer, the SM clock, and samples that become a ceiling.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/cuda/handles.h"
#include "bench/cuda/nvml.h"
#include "core/model/calibration.h"
#include "gpubench/vectors.h"
#include "kernels/probes/cuda_clock.h"

namespace gpubench::calibrate {

/// Seconds between two CUDA events around work on a stream.
class Timer {
 public:
  explicit Timer(cudaStream_t stream) : stream_(stream) {}

  double seconds(const std::function<void()>& enqueue);

 private:
  cudaStream_t stream_;
  bench::Event start_;
  bench::Event stop_;
};

/// The SM clock from inside kernels: cycles over time, the mean of all multiprocessors.
class ProbeClock {
 public:
  ProbeClock(cudaStream_t stream, int multiprocessors);

  /// Where a kernel leaves its readings; room for probes::max_blocks on each multiprocessor.
  [[nodiscard]] probes::ClockReading* readings() { return readings_.data(); }
  /// The first `count` readings that a kernel has left. Waits for the stream.
  std::vector<probes::ClockReading> last(int count);
  /// Hz over them.
  double read(int count) { return probes::mean_hertz(last(count)); }
  /// Hz over the next 0.2 ms.
  double now();
  /// Hz while work runs that takes `seconds` by itself: one thread on each multiprocessor reads the clock beside it. A
  /// reading after the work would be too high, for a GPU raises its clock at once. Absent when the work found no room
  /// beside those threads.
  std::optional<double> during(const std::function<void()>& enqueue, double seconds, Timer& timer);

 private:
  cudaStream_t stream_;
  bench::Stream side_;
  int multiprocessors_;
  DeviceVector<probes::ClockReading> readings_;
};

/// One sample of a probe.
struct Reading {
  double value = 0.0;              ///< in the ceiling's unit
  std::optional<double> clock_hz;  ///< SM clock
  std::optional<double> cycles;    ///< the value in SM cycles, for latencies
};

/// A mean of `count` things in a kernel that left this reading of its clocks.
Reading reading_over(const probes::ClockReading& passed, int count);

/// One thing measured once in every round of a calibration.
struct Probe {
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

  std::vector<double> values;
  std::vector<double> clocks;
  std::vector<double> cycles;
  int clocks_beside = 0;        ///< how many of `clocks` were read while the probe ran, not after
  std::uint64_t throttled = 0;  ///< throttle reasons seen, bits as bench::nvml_*
  int throttled_samples = 0;
  std::optional<double> temperature;
  std::string failure;  ///< why it was given up; empty while it works
};

/// Whatever a sample needs of the GPU.
struct Instruments {
  Timer& timer;
  ProbeClock& clock;
  const bench::Nvml& nvml;
  int multiprocessors;
};

/// Takes one sample and the clock with it. A CUDA error ends the probe: it goes to `failure`.
void sample(Probe& probe, const Instruments& with);

/// The median of the samples with the interval that holds them all, its limit at the clock read, and what bears on it.
Ceiling ceiling_of(const Probe& probe, int multiprocessors);

/// A probe that runs without rest, once or in several visits apart in time.
class SustainedLoad {
 public:
  explicit SustainedLoad(const Probe& probe) : probe_(&probe) {}
  /// Runs it for a share of its sustained_seconds; what it does in the second half counts. A CUDA error ends it and
  /// goes to `failure`.
  void visit(const Instruments& with, double share);
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// RESOURCE-sustained
  [[nodiscard]] std::string resource() const { return probe_->ceiling.resource + "-sustained"; }
  /// What it kept up, with the power at the last visit's end. After at least one visit that did not fail.
  [[nodiscard]] Ceiling ceiling(int multiprocessors) const;

 private:
  void run(const Instruments& with, double seconds);

  const Probe* probe_;
  std::vector<double> rates_;
  std::vector<std::int64_t> rates_of_visits_;  ///< how many of them each visit left
  std::vector<double> clocks_;
  double seconds_ = 0.0;  ///< of all visits
  std::optional<double> power_;
  std::optional<double> temperature_;
  std::uint64_t throttled_ = 0;
  std::string failure_;
};

}  // namespace gpubench::calibrate
