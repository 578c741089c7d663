// SPDX-License-Identifier: Apache-2.0
// What the probes of a GPU's calibration have in common: a timer, the SM clock, and samples that become a ceiling.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpubench/calibration.h"
#include "gpubench/vectors.h"
#include "kernels/probes/cuda_compute.h"

namespace gpubench::calibrate {

/// Seconds between two CUDA events around work on a stream.
class Timer {
 public:
  explicit Timer(cudaStream_t stream);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  double seconds(const std::function<void()>& enqueue);

 private:
  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

/// The SM clock from inside kernels: cycles over nanoseconds, the mean of all multiprocessors.
class SmClock {
 public:
  SmClock(cudaStream_t stream, int multiprocessors);
  ~SmClock();
  SmClock(const SmClock&) = delete;
  SmClock& operator=(const SmClock&) = delete;

  /// Where a kernel leaves its readings; room for launch_fma's.
  [[nodiscard]] probes::ClockReading* readings() { return readings_.data(); }
  /// Hz over the first `count` readings that a kernel has left. Waits for the stream.
  double read(int count);
  /// Hz over the next 0.2 ms.
  double now();
  /// Hz while work runs that takes `seconds` by itself: one thread on each multiprocessor reads the clock beside it. A
  /// GPU lowers its clock under load and raises it again at once, so that a reading after the work would be too high.
  /// Absent when the work found no room beside those threads.
  std::optional<double> during(const std::function<void()>& enqueue, double seconds, Timer& timer);

 private:
  cudaStream_t stream_;
  cudaStream_t side_ = nullptr;
  int multiprocessors_;
  DeviceVector<probes::ClockReading> readings_;
};

/// One thing measured once in every round of a calibration.
struct Probe {
  std::string resource;
  std::string unit;
  double work = 0.0;  ///< bytes or FLOP of a sample
  std::function<void()> enqueue;
  double rest_seconds = 0.0;    ///< idle time before each sample
  int clock_readings = 0;       ///< how many the probe's own kernel leaves; 0: read beside a repetition of it
  std::optional<double> limit;  ///< theoretical, whatever the clock
  std::optional<double> limit_for_a_clock;  ///< theoretical, for each Hz of the SM clock
  std::string method;
  std::vector<double> rates;
  std::vector<double> clocks;
  int clocks_beside = 0;  ///< how many of them were read while the probe ran, not after
  std::string failure;    ///< why it was given up; empty while it works
};

/// Takes one sample and the clock with it. A CUDA error ends the probe: it goes to `failure`.
void sample(Probe& probe, Timer& timer, SmClock& clock);

/// Runs the probe without rest for so long and adds to its method what it kept up in the second half.
void sustain(Probe& probe, double seconds, Timer& timer, SmClock& clock);

/// How the probe's clocks were read, for its method.
std::string clock_text(const Probe& probe);

/// The median of the samples with its distribution-free interval.
Ceiling ceiling_of(const Probe& probe);

}  // namespace gpubench::calibrate
