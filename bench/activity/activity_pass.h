// SPDX-License-Identifier: Apache-2.0
// The pass after timing that compares a measurement's device time with activity records.
#pragma once

#include <cstdint>
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

/// Sums up the records of `warm_up + executions` executions that ran one after another, without the first `warm_up`.
/// Executions are told apart by their order, so all must run the same kernels and copies. Else `reason` says why there
/// is nothing.
ActivityCheck summarize(const ActivityRecords& activity, std::int64_t warm_up, std::int64_t executions);

/// Compares with the device time of the measurement. The two agree when they differ by at most the max of 0.2 us a
/// kernel, 3 % of the recorded duration, and the distance that both 95 % intervals allow. Where they cannot be
/// compared, `reason` says why.
void compare(ActivityCheck& check, const Measurement& measurement);

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
