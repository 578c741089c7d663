// SPDX-License-Identifier: Apache-2.0
// Whether a recorded time and a device time can both be right. Plain figures in, a judgement out.
#pragma once

#include <optional>

#include "core/model/measurement.h"

namespace gpubench::bench {

/// Compares with the device time of the measurement and what a record has beyond that (where it is not known, the
/// kernel overhead), less what lies between the records beyond the gap that any two kernels have. A record may be
/// longer by the max of 0.20 us a kernel, 3 % of it, 16 ps a later warp, and what the 95 % intervals allow; shorter by
/// the max of 0.10 us a kernel, 2 %, and the intervals. Where the gaps are not known it is 0.25 us either way, one by
/// one 1 us. Another clock while it was recorded excuses as much more. Where they
/// cannot be compared, `reason` says why.
void compare(ActivityCheck& check, const Measurement& measurement);

/// What was recorded less what was expected, in seconds; absent when the two were not compared.
inline std::optional<double> difference_seconds(const ActivityCheck& check) {
  if (check.agreement == Agreement::not_compared || !check.seconds || !check.expected_seconds) return std::nullopt;
  return check.seconds->value - check.expected_seconds->value;
}

/// How many kernels one execution runs; one where that is not known.
double kernels_of(const ActivityCheck& check, const Measurement& measurement);

}  // namespace gpubench::bench
