// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/text.h"

namespace gpubench::timeline {

StringPool::StringPool() { number(""); }

std::uint32_t StringPool::number(std::string_view text) {
  if (const auto place = numbers_.find(text); place != numbers_.end()) return place->second;
  const auto next = static_cast<std::uint32_t>(texts_.size());
  numbers_.emplace(texts_.emplace_back(text), next);
  return next;
}

SliceKind kind_of_call(std::string_view name) {
  const auto has = [&](std::string_view part) { return contains(name, part); };
  if (has("LaunchHostFunc")) return SliceKind::call;
  if (has("LaunchKernel") || has("GraphLaunch") || has("LaunchCooperative") || name.starts_with("cuLaunch") ||
      name.starts_with("cudaLaunch_"))
    return SliceKind::launch;
  if (has("Graph")) return SliceKind::call;  // nodes are only described
  if (has("Memcpy") || has("Memset")) return SliceKind::transfer;
  if (has("Synchronize")) return SliceKind::synchronization;
  return SliceKind::call;
}

namespace {

/// Stable, with room for a number of each slice; flows keep their slices.
template <class Before>
void sort_slices(std::vector<Slice>& slices, std::vector<Flow>& flows, const Before& before) {
  std::vector<std::uint32_t> from(slices.size());  // of each place the slice that goes there
  std::iota(from.begin(), from.end(), 0U);
  std::ranges::sort(from, [&](std::uint32_t a, std::uint32_t b) {
    return before(slices[a], slices[b]) || (!before(slices[b], slices[a]) && a < b);
  });
  if (!flows.empty()) {
    std::vector<std::uint32_t> place(slices.size());
    for (std::uint32_t i = 0; i < from.size(); ++i) place[from[i]] = i;
    for (Flow& flow : flows) flow = {place.at(flow.from), place.at(flow.to), flow.name};
  }
  for (std::uint32_t i = 0; i < from.size(); ++i) {
    if (from[i] == i) continue;
    const Slice first = slices[i];
    std::uint32_t at = i;
    for (; from[at] != i; at = std::exchange(from[at], at)) slices[at] = slices[from[at]];
    slices[at] = first;
    from[at] = at;
  }
}

}  // namespace

void sort(Timeline& timeline) {
  const auto before = [](const Slice& a, const Slice& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  };
  if (!std::ranges::is_sorted(timeline.slices, before)) sort_slices(timeline.slices, timeline.flows, before);
  std::ranges::stable_sort(timeline.memory, {}, &MemoryEvent::time_ns);
  std::ranges::stable_sort(timeline.marks, {}, &Instant::time_ns);
  for (CounterTrack& counter : timeline.counters)
    std::ranges::stable_sort(counter.samples, {}, &CounterSample::time_ns);
}

}  // namespace gpubench::timeline
