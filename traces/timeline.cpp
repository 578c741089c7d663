// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline.h"

#include <algorithm>

namespace gpubench::traces {

void sort(Timeline& timeline) {
  std::ranges::stable_sort(timeline.slices, [](const Slice& a, const Slice& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  });
  std::ranges::stable_sort(timeline.memory, {}, &MemoryEvent::time_ns);
}

}  // namespace gpubench::traces
