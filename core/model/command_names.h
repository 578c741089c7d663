// SPDX-License-Identifier: Apache-2.0
// What copies and fills are called, wherever they come from: records, graphs, ceilings.
#pragma once

#include <string_view>

namespace gpubench::command_name {

inline constexpr std::string_view copy = "copy";  ///< of a kind that is not told
inline constexpr std::string_view device_to_device = "copy, device to device";
inline constexpr std::string_view host_to_device = "copy, host to device";
inline constexpr std::string_view device_to_host = "copy, device to host";
inline constexpr std::string_view fill = "fill";

}  // namespace gpubench::command_name
