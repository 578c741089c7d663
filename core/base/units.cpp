// SPDX-License-Identifier: Apache-2.0
#include "core/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>

#include "core/base/text.h"

namespace gpubench {
namespace {

constexpr std::string_view not_a_number = "n/a";
constexpr double most_in_digits = 1e15;  // beyond it is a power of ten

struct Prefix {
  double factor;
  std::string_view letter;
};
constexpr std::array prefixes = {Prefix{1e-9, "n"}, Prefix{1e-6, "u"}, Prefix{1e-3, "m"},
                                 Prefix{1.0, ""},   Prefix{1e3, "k"},  Prefix{1e6, "M"},
                                 Prefix{1e9, "G"},  Prefix{1e12, "T"}, Prefix{1e15, "P"}};
constexpr std::span<const Prefix> all_prefixes(prefixes);

/// `digits` significant digits without an exponent: 3 digits of 12.345 are "12.3".
std::string significant(double value, int digits) {
  if (value == 0.0) return "0";
  // The exponent after rounding: 9.9999 with three digits is "10.0".
  const std::string rounded = fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = std::stoi(rounded.substr(rounded.find('e') + 1));
  const int decimals = digits - 1 - exponent;
  if (decimals > 0) return fmt::format("{:.{}f}", value, std::min(decimals, 12));
  const double step = std::pow(10.0, -decimals);
  return fmt::format("{:.0f}", std::round(value / step) * step);
}

std::string scaled(double value, int digits, std::string_view unit,
                   std::span<const Prefix> steps = all_prefixes.subspan(3)) {
  if (!std::isfinite(value)) return std::string(not_a_number);
  std::size_t chosen = 0;
  // Compared after rounding, so that 999.96 us with four digits becomes 1.000 ms and not 1000 us.
  const double rounding = 1.0 - 0.5 * std::pow(10.0, -digits);
  while (chosen + 1 < steps.size() && std::abs(value) >= steps[chosen + 1].factor * rounding) ++chosen;
  const double mantissa = value / steps[chosen].factor;
  const double snapped = chosen > 0 && std::abs(mantissa) < 1.0 ? std::copysign(1.0, value) : mantissa;
  return fmt::format("{} {}{}",
                     std::abs(snapped) < most_in_digits ? significant(snapped, digits) : format_count(snapped),
                     steps[chosen].letter, unit);
}

}  // namespace

std::optional<std::time_t> parse_utc(std::string_view text) {
  std::tm parts{};
  if (!text.ends_with('Z') || strptime(std::string(text).c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr)
    return std::nullopt;
  const int day = parts.tm_mday;
  const std::time_t seconds = timegm(&parts);
  return day == parts.tm_mday ? std::optional(seconds) : std::nullopt;  // not the 31st of June
}

std::string format_seconds(double seconds, int digits) { return scaled(seconds, digits, "s", all_prefixes.first(4)); }
std::string format_bytes_per_second(double rate, int digits) { return scaled(rate, digits, "B/s"); }
std::string format_flops_per_second(double rate, int digits) { return scaled(rate, digits, "FLOP/s"); }
std::string format_hertz(double hertz, int digits) { return scaled(hertz, digits, "Hz", all_prefixes.subspan(3, 4)); }

std::string format_bytes(double bytes) {
  if (!std::isfinite(bytes)) return std::string(not_a_number);
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t chosen = 0;
  while (chosen + 1 < units.size() && std::abs(bytes) >= 1023.5) {
    bytes /= 1024.0;
    ++chosen;
  }
  if (std::abs(bytes) >= most_in_digits) return fmt::format("{} {}", format_count(bytes), units[chosen]);
  const bool decimal = std::abs(bytes) < 9.95 && std::abs(bytes - std::round(bytes)) >= 0.05;
  return fmt::format("{:.{}f} {}", bytes, decimal ? 1 : 0, units[chosen]);
}

std::string format_percent(double fraction) {
  if (!std::isfinite(fraction)) return std::string(not_a_number);
  const double percent = fraction * 100.0;
  if (percent != 0.0 && std::abs(percent) < 0.05) return percent < 0.0 ? ">-0.1 %" : "<0.1 %";
  if (percent >= 9999.5) return ">9999 %";
  return fmt::format("{:.{}f} %", percent, std::abs(percent) < 9.95 ? 1 : 0);
}

std::string format_count(double count) {
  if (!std::isfinite(count)) return std::string(not_a_number);
  if (std::abs(count) >= most_in_digits) {
    const double power = std::floor(std::log10(std::abs(count)));
    return fmt::format("{:.1f} x 10^{:.0f}", count / std::pow(10.0, power), power);
  }
  std::string digits = fmt::format("{:.0f}", std::abs(count));
  for (std::size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, 1, ' ');
  return count < 0.0 && digits != "0" ? "-" + digits : digits;
}

std::string format_number(double value, int digits) {
  if (!std::isfinite(value)) return std::string(not_a_number);
  const double power = std::pow(10.0, digits - 1);
  const double rounded = std::abs(value) >= power ? std::strtod(significant(value, digits).c_str(), nullptr) : value;
  if (std::abs(rounded) >= 1000.0) return format_count(rounded);
  std::string text = significant(value, digits);
  if (contains(text, '.')) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string format_value(double value, std::string_view unit, int digits) {
  if (std::isfinite(value) && (unit == "B" || unit == "FLOP" || unit == "op")) {  // as its rate, of one second
    const std::string rate = format_value(value, fmt::format("{}/s", unit), digits);
    return rate.substr(0, rate.size() - 2);
  }
  if (unit == "s") return format_seconds(value, digits);
  if (unit == "B/s") return format_bytes_per_second(value, digits);
  if (unit == "FLOP/s") return format_flops_per_second(value, digits);
  if (unit == "op/s" || unit == "items/s") return scaled(value, digits, unit);
  if (unit == "Hz") return format_hertz(value, digits);
  if (!std::isfinite(value)) return std::string(not_a_number);
  return fmt::format("{} {}", format_number(value, digits), unit);
}

std::string format_interval(const Interval& interval, std::string_view unit, int digits) {
  std::string low = format_value(interval.low, unit, digits);
  const std::string high = format_value(interval.high, unit, digits);
  const auto unit_of = [](const std::string& text) { return text.substr(text.find(' ') + 1); };
  if (unit_of(low) == unit_of(high)) low.erase(std::min(low.find(' '), low.size()));
  return low + " to " + high;
}

std::string format_age(std::string_view utc, std::string_view now_utc) {
  const auto then = parse_utc(utc), now = parse_utc(now_utc);
  if (!then || !now || *then > *now) return {};
  const long long seconds = *now - *then;
  if (seconds < 60) return "less than a minute";
  if (seconds < 3600) return plural(seconds / 60, "minute");
  constexpr long long day = 86400;
  if (seconds < 2 * day) return plural(seconds / 3600, "hour");
  return plural(seconds / day, "day");
}

}  // namespace gpubench
