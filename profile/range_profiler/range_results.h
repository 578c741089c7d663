// SPDX-License-Identifier: Apache-2.0
// What a session's recording says of its ranges: by the same timeline and analyses as that of a program. No CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpubench/profile.h"
#include "profile/range_profiler/range_counters.h"
#include "profile/recording_reader.h"

namespace gpubench::profile {

/// Ends the names of ranges of type memory in a recording.
inline constexpr char memory_mark = '\x01';

struct RangeSummary {
  std::vector<RangeResult> ranges;
  std::vector<MemoryOfKind> memory;  ///< of everything
  std::int64_t kernels_outside = 0;  ///< of all ranges
  std::int64_t dropped = 0;
  std::vector<std::string> warnings;
};

struct SummaryOptions {
  Reduction reduction = Reduction::sum;
  bool records = true;  ///< there are kernels to be had
  bool memory = true;
  RangeCounters* counters = nullptr;
};

/// Of a timeline that was sorted.
RangeSummary summarize(const timeline::Timeline& timeline, const SummaryOptions& options);

}  // namespace gpubench::profile
