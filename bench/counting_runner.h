// SPDX-License-Identifier: Apache-2.0
// Runs points once more after all timing, for a pass that counts or records.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/counters/post_timing_pass.h"
#include "bench/point_runner.h"

namespace gpubench::bench {

class CountingRunner {
 public:
  /// Opens the device as PointRunner does.
  CountingRunner(Device device, bool cold, std::unique_ptr<PostTimingPass> pass)
      : device_(std::move(device), cold), pass_(std::move(pass)) {}

  /// How often all points are to be run.
  [[nodiscard]] std::size_t rounds() { return pass_->rounds(); }
  /// To be called before each round.
  void begin(std::size_t round) { pass_->begin(round); }
  /// Runs the point at `position`, the same in every round. `timed` is what is known of it. Returns it as far as the
  /// pass has filled it in. Never throws for what the operation does: what is missing is absent with its reason.
  const Measurement& run(const PointCall& call, std::size_t position, const Measurement& timed);
  /// To be called after the last round: all points by their positions.
  std::map<std::size_t, Measurement> finish();

  [[nodiscard]] std::vector<std::string> warnings() const { return pass_->warnings(); }
  /// Why nothing can be added on this device at all, or null.
  [[nodiscard]] const std::string* unavailable() { return pass_->unavailable(); }

 private:
  void count(detail::Declaration& declared, const detail::DeviceBatch& device, const detail::HostBatch& host,
             Measurement& measurement, std::size_t position);

  OpenDevice device_;
  std::unique_ptr<PostTimingPass> pass_;  ///< ends before the GPU is let go
  std::map<std::size_t, Measurement> points_;
};

}  // namespace gpubench::bench
