// SPDX-License-Identifier: Apache-2.0
// What is known about a device that operations run on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gpubench/work.h"

namespace gpubench {

/// What the ids of GPUs begin with: "cuda:0", "cuda:1", ...
inline constexpr std::string_view gpu_prefix = "cuda:";
/// The id of the GPU of this number.
std::string gpu_id(std::int64_t number);
/// "cuda:1" is 1; absent where it is no such id.
std::optional<int> gpu_number(std::string_view id);
/// The kind of a device by its id alone.
DeviceKind kind_of_id(std::string_view id);

struct Device {
  std::string id;  ///< what `--device` takes: "cpu" or "cuda:N"
  DeviceKind kind = DeviceKind::cpu;
  std::string name;          ///< "NVIDIA H200", "Intel(R) Xeon(R) Processor"
  std::string architecture;  ///< "sm_90"; on a CPU its widest vector extension: "avx512", "avx2", "baseline"
  int units = 0;             ///< multiprocessors of a GPU, threads used on a CPU
  std::int64_t memory_bytes = 0;
  std::int64_t last_level_cache_bytes = 0;       ///< as the system declares it; 0 when it does not
  std::optional<double> max_clock_hz;            ///< SM or core clock, as the system declares it
  std::optional<double> memory_bandwidth_limit;  ///< theoretical, bytes/s: memory clock x bus width x 2
  /// "uuid", "driver", "cuda", "ecc", "mig", ... With `name` they tell which calibration fits; unread ones are absent.
  std::map<std::string, std::string> properties;
  /// Empty where it is absent.
  [[nodiscard]] std::string property(const std::string& key) const;

  friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace gpubench
