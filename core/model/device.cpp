// SPDX-License-Identifier: Apache-2.0
#include "core/model/device.h"

#include "core/base/text.h"

namespace gpubench {

std::string gpu_id(std::int64_t number) { return std::string(gpu_prefix) + std::to_string(number); }

std::optional<int> gpu_number(std::string_view id) {
  const auto number = id.starts_with(gpu_prefix) ? number_in<int>(id.substr(gpu_prefix.size())) : std::nullopt;
  return number && *number >= 0 ? number : std::nullopt;
}

DeviceKind kind_of_id(std::string_view id) { return id == "cpu" ? DeviceKind::cpu : DeviceKind::gpu; }

std::string Device::property(const std::string& key) const {
  const auto found = properties.find(key);
  return found == properties.end() ? std::string() : found->second;
}

}  // namespace gpubench
