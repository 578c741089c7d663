// SPDX-License-Identifier: Apache-2.0
// Freed device memory is cleared by the driver behind the program's back, and operations beside that are slower.
#pragma once

#include <mutex>

namespace gpubench::bench {

/// How long the driver goes on clearing. On an H200 (driver 580) it clears what is given back, by cudaFree or by the
/// end of a process, at 0.40 to 0.43 TB/s in the background; a copy in DRAM loses a tenth of its bandwidth meanwhile,
/// and the GPU's counters of written bytes hold what is cleared (docs/results/h200/freed-memory.md). Safe between
/// threads.
class Scrubbing {
 public:
  /// Slower than what was seen, so that a wait ends after the clearing. Other GPUs are taken to be no slower.
  static constexpr double bytes_per_second = 0.3e12;

  /// So much memory was given back at `now`, in seconds of a steady clock.
  void freed(double bytes, double now);
  /// How long to wait for a quiet memory; 0 when there is nothing to wait for.
  [[nodiscard]] double seconds_left(double now) const;

 private:
  mutable std::mutex mutex_;
  double until_ = 0.0;
};

/// Of this process, all its GPUs together: whoever frees device memory tells, whoever measures waits.
Scrubbing& scrubbing();

}  // namespace gpubench::bench
