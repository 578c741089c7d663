// SPDX-License-Identifier: Apache-2.0
// The questions that a time can answer.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace gpubench {

/// device: the operation's own duration on the GPU; stream: what each execution costs when they are launched back to
/// back; latency: from the launch until the host knows that it has finished; host: wall time of an operation on the
/// CPU.
enum class Clock { device, stream, latency, host };
inline constexpr std::array clock_names = {std::string_view("device"), std::string_view("stream"),
                                           std::string_view("latency"), std::string_view("host")};
constexpr std::string_view name_of(Clock clock) { return clock_names[static_cast<std::size_t>(clock)]; }

/// The clock of that name, if there is one.
constexpr std::optional<Clock> clock_named(std::string_view name) {
  for (std::size_t i = 0; i < clock_names.size(); ++i)
    if (clock_names[i] == name) return static_cast<Clock>(i);
  return std::nullopt;
}

}  // namespace gpubench
