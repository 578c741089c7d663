// SPDX-License-Identifier: Apache-2.0
// What the driver recorded of a point's executions, and the pass that has it record them.
#pragma once

#include "bench/activity/kernel_code.h"
#include "bench/activity/records.h"
#include "bench/counters/post_timing_pass.h"
#include "gpu/profiling/activity_source.h"

namespace gpubench::bench {

/// The source for a device. Throws MetricsUnavailable when there is none. Loads CUPTI.
std::unique_ptr<ActivitySource> open_activity_source(const Device& device);

/// Fills `activity` and the kernels, point after point, on one device. Opens the source at the first point.
class ActivityPass final : public PostTimingPass {
 public:
  using Opener = std::function<std::unique_ptr<ActivitySource>(const Device&)>;

  using CodeReader = std::function<KernelCode(const Device&)>;

  explicit ActivityPass(Device device, Opener open = open_activity_source, CodeReader read_code = code_of_process);

  void fill(Measurement& measurement, const Replay& replay) override;
  void give_up(Measurement& measurement, const std::string& reason) override;

 private:
  /// Of a kernel with a known device time: what its record has beyond that, and what lies between its records.
  struct Recording {
    Estimate excess;
    std::optional<Estimate> gap;
  };
  static KernelCode code_of_process(const Device& device);
  ActivitySource& source();
  void identify(std::vector<KernelLaunch>& kernels);
  RecordedExecution record(const Replay& replay, const std::optional<Launches>& launches);
  void measure_recording(const Replay& replay);
  void take(RecordedExecution recorded, Measurement& measurement);

  Device device_;
  Opener open_;
  CodeReader read_code_;
  std::unique_ptr<ActivitySource> source_;
  std::optional<KernelCode> code_;  ///< once it was asked for
  std::optional<std::string> unavailable_;
  std::optional<Recording> recording_;
  std::string recording_reason_;  ///< why that is not known
};

}  // namespace gpubench::bench
