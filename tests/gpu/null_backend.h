// SPDX-License-Identifier: Apache-2.0
// A vendor whose GPU is not there. It has a clock, memory and counters of its own, and takes for each kernel as long as
// its ceilings say. What it cannot do, no other room may ask for.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/backend.h"

namespace gpubench::bench {

/// What one kernel does.
struct NullKernel {
  std::string name = "null_kernel";
  double bytes_read = 0.0;
  double bytes_written = 0.0;
  double flops = 0.0;  ///< FP32
  LaunchShape shape;
};

class NullBackend final : public Backend {
 public:
  static constexpr double launch_seconds = 2e-6;    ///< of the host, for each launch
  static constexpr double kernel_seconds = 1e-6;    ///< of the GPU, for each kernel beside its work
  static constexpr double bytes_per_second = 1e12;  ///< read or written
  static constexpr double flops_per_second = 10e12;
  static constexpr double clock_hz = 1e9;

  NullBackend();
  ~NullBackend() override;
  NullBackend& operator=(NullBackend&&) = delete;  ///< not copied, not moved

  /// Enqueues a kernel on the stream of the GPU that is open.
  void launch(const NullKernel& kernel) const;
  /// The host works for so long.
  void pass(double seconds) const;
  /// The host waits for the stream.
  void wait() const;
  /// How long the host has worked and waited, in seconds.
  [[nodiscard]] double host_seconds() const;

  [[nodiscard]] std::string_view prefix() const override { return "null:"; }
  [[nodiscard]] std::vector<Device> devices() const override;
  [[nodiscard]] std::string why_none() const override { return ""; }
  [[nodiscard]] std::unique_ptr<Gpu> open(const Device& device) const override;
  [[nodiscard]] DeviceMemory& memory() const override;
  [[nodiscard]] DeviceReadings readings(const Device& device) const override;
  [[nodiscard]] std::unique_ptr<MetricSource> metrics(const Device& device) const override;
  [[nodiscard]] ChipMetrics chip_metrics(const Device& device) const override;
  [[nodiscard]] std::unique_ptr<ActivitySource> activity() const override;

 private:
  struct World;
  friend class NullGpu;
  friend class NullEvent;
  friend class NullGraph;
  friend class NullMetrics;
  friend class NullActivity;
  std::unique_ptr<World> world_;
};

}  // namespace gpubench::bench
