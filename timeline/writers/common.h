// SPDX-License-Identifier: Apache-2.0
// What the writers share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

namespace gpubench::timeline {

inline constexpr std::size_t part_bytes = std::size_t{1} << 23;  ///< of a file, handed over at once

/// Slices of one track that overlap without nesting, side by side: viewers drop what they cannot nest.
class Lanes {
 public:
  /// The lane of the next slice by start. `ended` is told of each slice of that lane that ends before it.
  template <class Ended>
  std::size_t place(const Slice& slice, const Ended& ended) {
    std::size_t lane = 0;
    for (; lane < open_.size(); ++lane) {
      auto& ends = open_[lane];
      for (; !ends.empty() && ends.back() <= slice.start_ns; ends.pop_back()) ended(lane, ends.back());
      if (ends.empty() || ends.back() >= slice.end_ns()) break;
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
    for (std::size_t lane = 0; lane < open_.size(); ++lane)
      for (; !open_[lane].empty(); open_[lane].pop_back()) ended(lane, open_[lane].back());
  }
  [[nodiscard]] std::size_t size() const { return open_.size(); }

 private:
  std::vector<std::vector<std::int64_t>> open_;  // ends, the outer ones first
};

/// Flows by the slice where they begin, and by that where they end, in the order of slices. Numbers are places in
/// Timeline::flows.
class FlowEnds {
 public:
  explicit FlowEnds(const Timeline& timeline);
  /// Calls `begins` and `ends` with each flow of this slice.
  template <class Begins, class Ends>
  void visit(std::size_t slice, const Begins& begins, const Ends& ends) const {
    const auto each = [&](const auto& all, const auto& call) {
      for (auto at = std::ranges::lower_bound(all, slice, {}, [](const auto& one) { return one.first; });
           at != all.end() && at->first == slice; ++at)
        call(at->second);
    };
    each(from_, begins);
    each(to_, ends);
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> from_, to_;
};

/// Of each process a number that no other has: its own where that is one of its own.
std::vector<std::int64_t> process_numbers(const Timeline& timeline);

/// Live bytes of each kind of memory in each process after each event.
struct LiveMemory {
  std::uint32_t process;
  MemoryKind kind;
  std::int64_t time_ns;
  std::int64_t bytes;
};
std::vector<LiveMemory> live_memory(const Timeline& timeline);

}  // namespace gpubench::timeline
