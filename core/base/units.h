// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: rates and times decimal, capacities binary; what is not finite becomes "n/a".
#pragma once

#include <concepts>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/estimate.h"

namespace gpubench {

inline double seconds_of(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

/// `digits` significant digits and the unit that fits: "2.10 us", "12.3 ms", "95.0 s". Nothing is smaller than ns.
std::string format_seconds(double seconds, int digits = 3);
/// Decimal: "4.72 TB/s".
std::string format_bytes_per_second(double bytes_per_second, int digits = 3);
/// Decimal: "66.9 TFLOP/s".
std::string format_flops_per_second(double flops_per_second, int digits = 3);
/// "1.98 GHz".
std::string format_hertz(double hertz, int digits = 3);
/// A capacity, binary: "50 MiB", "1.5 KiB", "139 GiB"; a decimal is shown only below ten.
std::string format_bytes(double bytes);
/// A fraction: 0.934 is "93 %", 0.0042 "0.4 %", 0.0002 "<0.1 %"; whole percents from 10 % on.
std::string format_percent(double fraction);
/// A count in groups of three: "131 072". From 10^15 on as a power of ten: "1.2 x 10^18".
std::string format_count(double count);
/// "1 thread", "2 threads".
template <std::integral Count>
std::string plural(Count count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}
/// "1 launch", "2 launches".
template <std::integral Count>
std::string plural(Count count, std::string_view one, std::string_view several) {
  return std::to_string(count).append(" ").append(count == 1 ? one : several);
}
/// `digits` significant digits without exponent and trailing zeros: "180", "2", "0.034", "12 300".
std::string format_number(double value, int digits = 3);
/// In "B/s", "FLOP/s", "op/s", "s", "Hz", "B", "FLOP", "op" with decimal prefixes; other units as they are.
std::string format_value(double value, std::string_view unit, int digits = 3);
/// Both ends in that unit: "3.59 to 3.61 TB/s".
std::string format_interval(const Interval& interval, std::string_view unit, int digits = 3);

/// "2026-07-01T12:34:56Z" as seconds since 1970, without a fraction of a second; absent for what is no such time.
std::optional<std::time_t> parse_utc(std::string_view text);
/// How much earlier `utc` is, both ISO 8601: "3 days", "less than a minute". Empty for no times, or where it is later.
std::string format_age(std::string_view utc, std::string_view now_utc);

}  // namespace gpubench
