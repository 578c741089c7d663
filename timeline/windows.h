// SPDX-License-Identifier: Apache-2.0
// Parts of a time that do not overlap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gpubench::timeline {

struct TimeWindow {
  std::int64_t from = 0, to = 0;
  [[nodiscard]] std::int64_t length() const { return to - from; }
  friend bool operator==(const TimeWindow&, const TimeWindow&) = default;
};

class Windows {
 public:
  /// By rising starts; those that touch or overlap become one.
  void add(std::int64_t from, std::int64_t to) {
    if (!parts_.empty() && from <= parts_.back().to)
      parts_.back().to = std::max(parts_.back().to, to);
    else if (to > from)
      parts_.push_back({from, to});
  }
  /// How much of an interval lies in them.
  [[nodiscard]] std::int64_t within(std::int64_t from, std::int64_t to) const {
    std::int64_t sum = 0;
    if (to <= from) return sum;
    for (auto part = std::ranges::upper_bound(parts_, from, {}, &TimeWindow::to);
         part != parts_.end() && part->from < to; ++part)
      sum += std::min(to, part->to) - std::max(from, part->from);
    return sum;
  }
  [[nodiscard]] bool holds(std::int64_t time) const { return within(time, time + 1) > 0; }
  [[nodiscard]] const std::vector<TimeWindow>& parts() const { return parts_; }

 private:
  std::vector<TimeWindow> parts_;
};

/// Of each process; empty: all of the time.
using WindowsOf = std::vector<Windows>;
inline bool holds(const WindowsOf& windows, std::uint32_t process, std::int64_t time) {
  return windows.empty() || windows[process].holds(time);
}

}  // namespace gpubench::timeline
