// SPDX-License-Identifier: Apache-2.0
// What a GPU did, as its driver records it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/measurement.h"

namespace gpubench::bench {

/// One kernel, copy or memset. Times by one clock of the device; both zero when the device gave none.
struct ActivityRecord {
  std::optional<KernelLaunch> kernel;  ///< absent for a copy or a memset
  std::uint64_t start_nanoseconds = 0;
  std::uint64_t end_nanoseconds = 0;
  // Of a copy or a memset.
  CommandKind kind = CommandKind::copy;
  std::string name = "copy";  ///< "copy, device to device"
  std::int64_t bytes = 0;
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
  /// Calls `run`, which waits for the device, and returns what the device did meanwhile. Throws MetricsUnavailable, and
  /// what `run` throws.
  virtual ActivityRecords record(const std::function<void()>& run) = 0;
};

}  // namespace gpubench::bench
