// SPDX-License-Identifier: Apache-2.0
// A number with its uncertainty, and the names of enumerations.
#pragma once

#include <cstddef>
#include <string_view>

namespace gpubench {

/// What files call an enumerator, of an enumeration that has `names_of`: a table in its order.
template <class Enum>
constexpr auto name_of(Enum value) -> decltype(std::string_view(names_of(value)[0])) {
  return names_of(value)[static_cast<std::size_t>(value)];
}

/// A closed interval [low, high] in the unit of the number it belongs to.
struct Interval {
  double low = 0.0;
  double high = 0.0;

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// A value with its 95 % confidence interval, both in the same unit.
struct Estimate {
  double value = 0.0;
  Interval ci95;

  friend bool operator==(const Estimate&, const Estimate&) = default;
};

inline double half_width(const Estimate& estimate) { return 0.5 * (estimate.ci95.high - estimate.ci95.low); }
inline Estimate with_half_width(double value, double half) { return {value, {value - half, value + half}}; }

}  // namespace gpubench
