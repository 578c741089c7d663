// SPDX-License-Identifier: Apache-2.0
// Whoever keeps records of what a device runs: CUPTI's Activity API on a GPU, a fake in tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model/activity_check.h"
#include "core/model/device.h"

namespace gpubench::bench {

/// One kernel, copy or fill.
struct ActivityRecord {
  std::optional<KernelLaunch> kernel;  ///< absent for a copy or a fill
  // By one clock of the device, in whole nanoseconds; both zero when the device gave no time.
  std::uint64_t start_nanoseconds = 0;
  std::uint64_t end_nanoseconds = 0;
};

struct ActivityRecords {
  std::vector<ActivityRecord> records;  ///< in no particular order
  std::int64_t dropped = 0;             ///< records that were lost
};

class ActivitySource {
 public:
  virtual ~ActivitySource() = default;

  /// What stands beside what was recorded: "cupti activity".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Calls `run`, which waits until the device has finished, and returns what the device did meanwhile. Records are
  /// kept for that long only. Throws MetricsUnavailable, and whatever `run` throws.
  virtual ActivityRecords record(const std::function<void()>& run) = 0;
};

/// The source for a device. Throws MetricsUnavailable when there is none. Nothing of CUPTI is loaded before this is
/// called.
std::unique_ptr<ActivitySource> open_activity_source(const Device& device);

}  // namespace gpubench::bench
