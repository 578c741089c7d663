// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline.h"

#include <algorithm>

namespace gpubench::traces {

SliceKind kind_of_call(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("LaunchHostFunc")) return SliceKind::call;
  if (has("LaunchKernel") || has("GraphLaunch") || has("LaunchCooperative") || name.starts_with("cuLaunch") ||
      name.starts_with("cudaLaunch_"))
    return SliceKind::launch;
  if (has("Graph")) return SliceKind::call;  // nodes are only described
  if (has("Memcpy") || has("Memset")) return SliceKind::transfer;
  if (has("Synchronize")) return SliceKind::synchronization;
  return SliceKind::call;
}

void sort(Timeline& timeline) {
  std::ranges::stable_sort(timeline.slices, [](const Slice& a, const Slice& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  });
  std::ranges::stable_sort(timeline.memory, {}, &MemoryEvent::time_ns);
}

}  // namespace gpubench::traces
