// SPDX-License-Identifier: Apache-2.0
// Who else used the processors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpubench::calibrate {

/// Processor time since the system started, all processors together, in clock ticks.
struct ProcessorTimes {
  double busy = 0.0;    ///< in any process
  double stolen = 0.0;  ///< that the virtual machine was kept waiting
  double idle = 0.0;
};

/// From the text of /proc/stat; absent when it is not that.
std::optional<ProcessorTimes> parse_processor_times(std::string_view text);

/// What happened on the machine while it lives.
class OtherLoad {
 public:
  OtherLoad();
  /// A sentence when other processes or other virtual machines took more than 2 % of the processors' time.
  [[nodiscard]] std::optional<std::string> warning() const;

 private:
  std::optional<ProcessorTimes> start_;
  double own_start_ = 0.0;
};

/// The same from differences of all figures; `own` is this process's part of the busy time.
std::optional<std::string> load_warning(const ProcessorTimes& passed, double own);

}  // namespace gpubench::calibrate
