// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

namespace gpubench {

/// Seconds on std::chrono::steady_clock since its epoch.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The same in whole nanoseconds.
inline std::int64_t steady_nanoseconds() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Nanoseconds since 1970.
inline std::int64_t utc_nanoseconds() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Seconds since 1970 in ISO 8601: "2026-07-01T12:34:56Z".
inline std::string utc_text(std::time_t seconds) {
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}
inline std::string utc_now() { return utc_text(std::time(nullptr)); }

}  // namespace gpubench
