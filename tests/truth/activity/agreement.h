// SPDX-License-Identifier: Apache-2.0
// Whether a recorded time and a device time can both be right. Plain figures in, a judgement out.
#pragma once

#include <optional>

#include "core/model/measurement.h"

namespace gpubench::bench {

enum class Agreement { not_compared, agrees, disagrees };

struct Comparison {
  Agreement agreement = Agreement::not_compared;
  std::string reason;                        ///< why they cannot be compared
  std::optional<Estimate> expected_seconds;  ///< the device time and its fixed cost
  std::optional<double> tolerance_seconds;   ///< the greatest difference that is none
};

/// Compares what was recorded with the device time of the measurement and what a record has beyond that (where it is
/// not known, the kernel overhead), less what lies between the records beyond the gap that any two kernels have. A
/// record may be longer by the max of 0.20 us a kernel, 3 % of it, 16 ps a later warp, and what the 95 % intervals
/// allow; shorter by the max of 0.10 us a kernel, 2 %, and the intervals. Where the gaps are not known it is 0.25 us
/// either way. Another clock while it was recorded excuses as much more.
Comparison compare(const ActivityCheck& check, const Measurement& measurement);

/// How many kernels one execution runs; one where that is not known.
double kernels_of(const ActivityCheck& check, const Measurement& measurement);

}  // namespace gpubench::bench
