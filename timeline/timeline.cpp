// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gpubench::timeline {

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

namespace {

/// Puts two sorted parts into one. Of what is not in its place the smaller part goes through `buffer`, as far as that
/// has room; more is cut in two and swapped.
template <class Place, class Buffer, class Before>
void merge_parts(Place first, Place middle, Place last, Buffer& buffer, const Before& before) {
  if (first == middle || middle == last) return;
  first = std::upper_bound(first, middle, *middle, before);
  if (first == middle) return;
  last = std::lower_bound(middle, last, *(middle - 1), before);
  const auto left = middle - first, right = last - middle, room = static_cast<std::ptrdiff_t>(buffer.capacity());
  if (left <= room && left <= right) {
    buffer.assign(first, middle);
    for (auto held = buffer.begin(); held != buffer.end(); ++first)
      *first = middle != last && before(*middle, *held) ? *middle++ : *held++;
  } else if (right <= room) {
    buffer.assign(middle, last);
    for (auto held = buffer.end(); held != buffer.begin();)
      *--last = middle != first && before(*(held - 1), *(middle - 1)) ? *--middle : *--held;
  } else {
    const bool cut_left = left > right;
    const Place in_left = cut_left ? first + left / 2 : std::upper_bound(first, middle, *(middle + right / 2), before);
    const Place in_right = cut_left ? std::lower_bound(middle, last, *in_left, before) : middle + right / 2;
    const Place between = std::rotate(in_left, middle, in_right);
    merge_parts(first, in_left, between, buffer, before);
    merge_parts(between, in_right, last, buffer, before);
  }
}

/// Stable, with room for a 32nd of all; std::stable_sort takes half.
template <class Value, class Before>
void sort_in_place(std::vector<Value>& all, const Before& before) {
  constexpr std::ptrdiff_t block = 1 << 15;  // sorted with room for half of it
  const auto size = static_cast<std::ptrdiff_t>(all.size());
  for (std::ptrdiff_t at = 0; at < size; at += block) {
    const auto first = all.begin() + at, last = all.begin() + std::min(at + block, size);
    if (!std::is_sorted(first, last, before)) std::stable_sort(first, last, before);
  }
  std::vector<Value> buffer;
  buffer.reserve(all.size() / 32 + 1);
  for (std::ptrdiff_t width = block; width < size; width *= 2)
    for (std::ptrdiff_t at = 0; at + width < size; at += 2 * width)
      merge_parts(all.begin() + at, all.begin() + at + width, all.begin() + std::min(at + 2 * width, size), buffer,
                  before);
}

/// The same where flows know the slices by their places.
template <class Before>
void sort_with_flows(std::vector<Slice>& slices, std::vector<Flow>& flows, const Before& before) {
  std::vector<std::uint32_t> place(slices.size());
  {
    std::vector<std::uint32_t> order(slices.size());
    std::iota(order.begin(), order.end(), 0U);
    sort_in_place(order, [&](std::uint32_t a, std::uint32_t b) { return before(slices[a], slices[b]); });
    for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  }
  for (Flow& flow : flows) {
    flow.from = place.at(flow.from);
    flow.to = place.at(flow.to);
  }
  for (std::uint32_t i = 0; i < place.size(); ++i)
    while (place[i] != i) {
      const std::uint32_t to = std::exchange(place[i], place[place[i]]);
      place[to] = to;
      std::swap(slices[i], slices[to]);
    }
}

}  // namespace

void sort(Timeline& timeline) {
  const auto before = [](const Slice& a, const Slice& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  };
  if (!std::ranges::is_sorted(timeline.slices, before)) {
    if (timeline.flows.empty())
      sort_in_place(timeline.slices, before);
    else
      sort_with_flows(timeline.slices, timeline.flows, before);
  }
  std::ranges::stable_sort(timeline.memory, {}, &MemoryEvent::time_ns);
  std::ranges::stable_sort(timeline.marks, {}, &Instant::time_ns);
  for (CounterTrack& counter : timeline.counters)
    std::ranges::stable_sort(counter.samples, {}, &CounterSample::time_ns);
}

}  // namespace gpubench::timeline
