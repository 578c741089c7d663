// SPDX-License-Identifier: Apache-2.0
// Timelines written by hand.
#pragma once

#include <cstdint>
#include <string_view>

#include "timeline/timeline.h"

namespace gpubench {

using timeline::SliceKind;
using timeline::TrackKind;

/// One process with a thread, its ranges and two streams; further tracks are added as asked for.
struct Sample {
  timeline::Timeline timeline;
  std::uint32_t thread, ranges, stream, other_stream;

  Sample() {
    timeline.processes.push_back({.id = 100, .rank = {}, .local_rank = {}, .name = "python3 train.py"});
    thread = track(TrackKind::thread, -1, 1, "thread 1");
    ranges = track(TrackKind::ranges, -1, 1, "ranges of thread 1");
    stream = track(TrackKind::stream, 0, 7, "stream 7");
    other_stream = track(TrackKind::stream, 0, 8, "stream 8");
  }
  std::uint32_t track(TrackKind kind, std::int64_t device, std::int64_t id, std::string_view name,
                      std::uint32_t process = 0) {
    timeline.tracks.push_back(
        {.kind = kind, .process = process, .device = device, .id = id, .name = std::string(name)});
    return static_cast<std::uint32_t>(timeline.tracks.size() - 1);
  }
  timeline::Slice& slice(SliceKind kind, std::uint32_t on, std::int64_t from, std::int64_t to, std::string_view name,
                         std::uint32_t correlation = 0) {
    timeline.slices.push_back({.start_ns = from,
                               .name = timeline.names.number(name),
                               .track = on,
                               .duration_ns = to - from,
                               .correlation = correlation,
                               .kind = kind});
    return timeline.slices.back();
  }
  /// A kernel and the call that launches it.
  timeline::Slice& kernel(std::int64_t call_from, std::int64_t call_to, std::int64_t from, std::int64_t to,
                          std::string_view name = "saxpy", SliceKind kind = SliceKind::kernel) {
    const bool copies = kind == SliceKind::copy || kind == SliceKind::fill;
    slice(copies ? SliceKind::transfer : SliceKind::launch, thread, call_from, call_to,
          copies ? "cudaMemcpyAsync" : "cudaLaunchKernel", ++correlation);
    return slice(kind, stream, from, to, name, correlation);
  }
  const timeline::Timeline& sorted() {
    sort(timeline);
    return timeline;
  }
  std::uint32_t correlation = 0;
};

}  // namespace gpubench
