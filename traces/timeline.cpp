// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline.h"

#include <algorithm>
#include <numeric>
#include <utility>

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
  const auto before = [](const Slice& a, const Slice& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  };
  auto& slices = timeline.slices;
  if (!std::ranges::is_sorted(slices, before)) {
    if (timeline.flows.empty()) {
      std::ranges::stable_sort(slices, before);
    } else {
      std::vector<std::uint32_t> order(slices.size()), place(slices.size());
      std::iota(order.begin(), order.end(), 0U);
      std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return before(slices[a], slices[b]); });
      for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
      std::vector<Slice> sorted(slices.size());
      for (std::size_t i = 0; i < slices.size(); ++i) sorted[place[i]] = slices[i];
      slices = std::move(sorted);
      for (Flow& flow : timeline.flows) {
        flow.from = place.at(flow.from);
        flow.to = place.at(flow.to);
      }
    }
  }
  std::ranges::stable_sort(timeline.memory, {}, &MemoryEvent::time_ns);
  std::ranges::stable_sort(timeline.marks, {}, &Mark::time_ns);
  for (CounterTrack& counter : timeline.counters)
    std::ranges::stable_sort(counter.samples, {}, &CounterSample::time_ns);
}

}  // namespace gpubench::traces
