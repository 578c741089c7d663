// SPDX-License-Identifier: Apache-2.0
// The phase after timing that holds a measurement's device time against activity records.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/activity/activity_source.h"
#include "bench/activity/kernel_code.h"
#include "bench/counters/post_timing_pass.h"
#include "core/model/device.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

/// Fills `activity`, point after point, on one device. Opens the source at the first point.
class ActivityPass final : public PostTimingPass {
 public:
  using Opener = std::function<std::unique_ptr<ActivitySource>(const Device&)>;

  using CodeReader = std::function<KernelCode(const Device&)>;

  explicit ActivityPass(Device device, Opener open = open_activity_source, CodeReader read_code = code_of_process);

  void fill(Measurement& measurement, const Replay& replay) override;
  void give_up(Measurement& measurement, const std::string& reason) override;

 private:
  static KernelCode code_of_process(const Device& device);
  ActivitySource& source();
  void identify(std::vector<KernelLaunch>& kernels);
  ActivityCheck check(const Measurement& measurement, const Replay& replay);

  Device device_;
  Opener open_;
  CodeReader read_code_;
  std::unique_ptr<ActivitySource> source_;
  std::optional<KernelCode> code_;  ///< once it was asked for
  std::optional<std::string> unavailable_;
};

}  // namespace gpubench::bench
