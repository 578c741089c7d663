// SPDX-License-Identifier: Apache-2.0
#include <tuple>
#include <unordered_map>

#include "traces/parts.h"
#include "traces/readers/parts.h"

namespace gpubench::traces {
namespace {

/// Of each point, by time, its slice, or `none`.
std::vector<std::uint32_t> slices_at(const Timeline& timeline, const std::vector<FlowPoint>& points,
                                     const std::vector<std::uint32_t>& thread_of_track) {
  struct Thread {
    std::vector<std::uint32_t> open;     // slices, the outer ones first
    std::vector<std::uint32_t> waiting;  // points of the next slice
  };
  std::unordered_map<std::uint32_t, Thread> threads;
  for (const FlowPoint& point : points) threads[point.thread];
  std::vector<Thread*> of_track;
  for (const std::uint32_t thread : thread_of_track) {
    const auto place = threads.find(thread);
    of_track.push_back(place == threads.end() ? nullptr : &place->second);
  }
  std::vector<std::uint32_t> result(points.size(), none);
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < points.size(); ++i) {
    for (; next < timeline.slices.size() && timeline.slices[next].start_ns <= points[i].time_ns; ++next) {
      const Slice& slice = timeline.slices[next];
      Thread* const thread = of_track[slice.track];
      if (thread == nullptr) continue;
      while (!thread->open.empty() && timeline.slices[thread->open.back()].end_ns() <= slice.start_ns)
        thread->open.pop_back();
      thread->open.push_back(next);
      for (const std::uint32_t point : thread->waiting) result[point] = next;
      thread->waiting.clear();
    }
    Thread& thread = threads[points[i].thread];
    while (!thread.open.empty() && timeline.slices[thread.open.back()].end_ns() < points[i].time_ns)
      thread.open.pop_back();
    const std::uint32_t around = thread.open.empty() ? none : thread.open.back();
    if (points[i].enclosing || (around != none && timeline.slices[around].start_ns == points[i].time_ns))
      result[i] = around;
    else
      thread.waiting.push_back(i);
  }
  for (; next < timeline.slices.size(); ++next)
    if (Thread* const thread = of_track[timeline.slices[next].track]; thread != nullptr) {
      for (const std::uint32_t point : thread->waiting) result[point] = next;
      thread->waiting.clear();
    }
  return result;
}

}  // namespace

void bind_flows(Timeline& timeline, std::vector<FlowPoint>& points, const std::vector<std::uint32_t>& thread_of_track) {
  if (points.empty()) return;
  std::ranges::stable_sort(points, {}, &FlowPoint::time_ns);
  const auto slices = slices_at(timeline, points, thread_of_track);
  std::unordered_map<std::uint64_t, std::uint32_t> last;  // slice of each arrow
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (slices[i] == none) continue;
    if (points[i].phase == 's') {
      last[points[i].id] = slices[i];
      continue;
    }
    const auto from = last.find(points[i].id);
    if (from == last.end()) continue;
    if (from->second != slices[i]) timeline.flows.push_back({from->second, slices[i], points[i].name});
    from->second = slices[i];
    if (points[i].phase == 'f') last.erase(from);
  }
}

}  // namespace gpubench::traces
