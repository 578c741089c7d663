// SPDX-License-Identifier: Apache-2.0
// What the vendor of the GPU that is not there brings to its calibration.
#pragma once

#include "calibrate/gpu/gpu_calibration.h"
#include "tests/gpu/null_backend.h"

namespace gpubench::bench {

class NullCalibration : public calibrate::GpuCalibration {
 public:
  /// `misdeclared`: the work that the probe "l2" declares for each byte that it moves.
  NullCalibration(const NullBackend& backend, const Device& device, const calibrate::CalibrationOptions& options,
                  double misdeclared = 1.0);

  calibrate::SmClock& sm_clock() override { return clock_; }
  void warm_up(double seconds) override;
  void add_probes() override;
  void add_probe_like(const Ceiling& stored) override;

 private:
  /// As fast as the backend says.
  class Clock final : public calibrate::SmClock {
   public:
    double read(int) override { return NullBackend::clock_hz; }
    double now() override { return NullBackend::clock_hz; }
    std::optional<double> during(const std::function<void()>& enqueue, double, EventTimer& timer) override {
      (void)timer.seconds(enqueue);
      return NullBackend::clock_hz;
    }
  };
  calibrate::Probe probe_of(const std::string& resource) const;

  const NullBackend& backend_;
  double misdeclared_;
  Clock clock_;
};

}  // namespace gpubench::bench
