// SPDX-License-Identifier: Apache-2.0
// Checking an operation's result before it is timed.
#pragma once

#include <span>
#include <string>
#include <utility>

namespace gpubench {

/// Outcome of a check. A plain bool converts; say what was wrong where you can: `return {false, "row 3 sums to 0.9"};`
struct Check {
  bool passed = false;  ///< whether the result is right
  std::string message;  ///< what was wrong; empty when it passed

  Check(bool ok) : passed(ok) {}  ///< `return sum == 1.0;` NOLINT(google-explicit-constructor)
  Check(bool ok, std::string text) : passed(ok), message(std::move(text)) {}  ///< says what was wrong
};

/// Passes when |actual - expected| <= absolute + relative * |expected| for every element; a NaN never passes. The
/// message names the worst element. Sizes that differ fail.
Check all_close(std::span<const float> actual, std::span<const float> expected, double relative, double absolute = 0.0);
Check all_close(std::span<const double> actual, std::span<const double> expected, double relative,
                double absolute = 0.0);

}  // namespace gpubench
