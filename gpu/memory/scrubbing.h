// SPDX-License-Identifier: Apache-2.0
// What freeing memory on a GPU costs those that come after.
#pragma once

#include <mutex>
#include <optional>

namespace gpubench::bench {

/// How long the driver goes on clearing freed device memory in the background, which slows other work down and counts
/// as written bytes (docs/results/h200/freed-memory.md). Safe between threads.
class Scrubbing {
 public:
  /// Slower than any measured, so that a wait ends after the clearing.
  static constexpr double bytes_per_second = 0.3e12;

  /// So much memory was given back at `now`, in seconds of a steady clock.
  void freed(double bytes, double now);
  void allocated(double bytes);
  /// So much is free at `now`. What that has grown by since the last time, beyond the two above, others gave back, such
  /// as PyTorch; unless they have taken as much since.
  void saw_free(double bytes, double now);
  /// How long to wait for a quiet memory; 0 when there is nothing to wait for.
  [[nodiscard]] double seconds_left(double now) const;

 private:
  mutable std::mutex mutex_;
  double until_ = 0.0;
  double own_ = 0.0;  ///< freed less allocated since free memory was seen
  std::optional<double> free_;
};

/// Of this process, all its GPUs together.
Scrubbing& scrubbing();

}  // namespace gpubench::bench
