// SPDX-License-Identifier: Apache-2.0
// What the writers share.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "timeline/structure/correlations.h"
#include "timeline/timeline.h"

namespace gpubench::timeline {

inline constexpr std::size_t part_bytes = std::size_t{1} << 23;   ///< of a file, handed over at once
inline constexpr std::int64_t first_free_number = 1'000'000'000;  ///< of processes and threads without one of their own

/// Slices of one track that overlap without nesting, side by side: viewers drop what they cannot nest.
class Lanes {
 public:
  /// The lane of the next slice by start. `ended` is told of each slice of that lane that ends before it.
  template <class Ended>
  std::size_t place(const Slice& slice, const Ended& ended) {
    std::size_t lane = 0;
    for (; lane < open_.size(); ++lane) {
      end_until(lane, slice.start_ns, ended);
      if (open_[lane].empty() || open_[lane].back() >= slice.end_ns()) break;
    }
    constexpr std::size_t max_lanes = 256;  // a viewer shows no more, and a hostile trace may want millions
    if (lane == max_lanes)
      --lane;
    else if (lane == open_.size())
      open_.emplace_back();
    open_[lane].push_back(slice.end_ns());
    return lane;
  }
  template <class Ended>
  void finish(const Ended& ended) {
    for (std::size_t lane = 0; lane < open_.size(); ++lane) end_until(lane, INT64_MAX, ended);
  }

 private:
  template <class Ended>
  void end_until(std::size_t lane, std::int64_t time, const Ended& ended) {
    for (auto& ends = open_[lane]; !ends.empty() && ends.back() <= time; ends.pop_back()) ended(lane, ends.back());
  }
  std::vector<std::vector<std::int64_t>> open_;  // ends, the outer ones first
};

/// Arrows from calls to what they start, and those of the timeline.
class Arrows {
 public:
  explicit Arrows(const Timeline& timeline) : links_(link(timeline)) {
    for (std::uint32_t i = 0; i < timeline.flows.size(); ++i) {
      flows_[0].emplace(timeline.flows[i].from, i);
      flows_[1].emplace(timeline.flows[i].to, i);
    }
  }
  /// Calls `use(id, ends, flow)` with each arrow that begins or ends at a slice: `flow` is its place in
  /// Timeline::flows, `none` where it leads from a call to its work.
  template <class Use>
  void visit(std::size_t slice, const Use& use) const {
    if (const auto call = std::ranges::lower_bound(links_.calls, slice, {}, &Call::slice);
        call != links_.calls.end() && call->slice == slice && call->gpu != Call::no_gpu)
      use(static_cast<std::uint64_t>(call - links_.calls.begin()) + 1, false, none);
    if (links_.call_of[slice] != none) use(std::uint64_t{links_.call_of[slice]} + 1, true, none);
    for (const bool ends : {false, true})
      for (auto [at, last] = flows_[ends ? 1 : 0].equal_range(static_cast<std::uint32_t>(slice)); at != last; ++at)
        use(std::uint64_t{links_.calls.size()} + at->second + 1, ends, at->second);
  }

 private:
  Correlations links_;
  std::array<std::multimap<std::uint32_t, std::uint32_t>, 2> flows_;  // by the slices at their beginnings and ends
};

/// Processes with numbers that no other has, their own where they can, and names as "python3 (rank 1)".
std::vector<Process> processes_of(const Timeline& timeline);

/// The live bytes of each kind of memory in each process, and the timeline's own, without what is not finite.
std::vector<CounterTrack> counters_of(const Timeline& timeline);

/// What the text is called that a slice's detail stands for; empty where it stands for none.
std::string_view detail_text(const Timeline& timeline, const Slice& slice);

}  // namespace gpubench::timeline
