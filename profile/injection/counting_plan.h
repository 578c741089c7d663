// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpubench::profile {

inline constexpr double more_after_seconds = 2.0;
/// How long counting may take in all, in seconds, where the program itself has run for so long. `budget`: what its user
/// allows; 0: 1.5 s in a program of less than 2 s, else 3 s and a tenth of its time.
constexpr double counting_allowance(double program_seconds, double budget) {
  if (budget > 0.0) return budget;
  return program_seconds < more_after_seconds ? 1.5 : 3.0 + 0.1 * program_seconds;
}

/// Which of a group's launches are counted. Pure.
struct CountingPlan {
  std::uint32_t first = 20;  ///< launches of each set that are counted at once
  /// Of groups that differ in nothing but their ranges, those after the first one get fewer, and none beyond so many:
  /// a program that names every step would be counted in every step.
  std::uint32_t first_of_later_ranges = 3;
  std::uint32_t max_ranges = 64;

  struct Group {
    std::uint64_t launches = 0;
    std::uint32_t first = 0;             ///< launches of each set that are counted at once
    std::vector<std::uint32_t> counted;  ///< by set
  };
  /// A new group, the so manieth of its function and shape.
  [[nodiscard]] Group group(std::uint32_t ranges_before, std::size_t sets) const {
    return {.first = ranges_before == 0 ? first : std::min(first, first_of_later_ranges),
            .counted = std::vector<std::uint32_t>(sets)};
  }
  /// Whether the next launch of the group is due in this set: one of the first ones.
  [[nodiscard]] static bool due(const Group& group, std::size_t set) { return group.counted[set] < group.first; }
  /// Whether it is due again: so many launches have gone by that what was counted is a sixteenth, an eighth, ... less.
  [[nodiscard]] static bool due_again(const Group& group, std::size_t set) {
    const std::uint32_t later = group.counted[set] - group.first;
    return later < 32 && group.launches >= (std::uint64_t{group.first} * group.counted.size()) << (later + 4U);
  }
};

/// The ranges that a thread is in, as one number: equal paths have equal numbers.
class RangePath {
 public:
  void push(std::uint64_t domain, std::uint64_t name) {
    const std::uint64_t above = number();
    const std::uint64_t mixed = (above ^ name ^ (domain << 1U)) * 0x9E3779B97F4A7C15ULL;
    open_.push_back({domain, mixed ^ (mixed >> 29U)});
  }
  /// Ends the domain's last range; nothing where it has none.
  void pop(std::uint64_t domain) {
    for (std::size_t i = open_.size(); i-- > 0;)
      if (open_[i].domain == domain) {
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      }
  }
  /// 0 outside of all ranges.
  [[nodiscard]] std::uint64_t number() const { return open_.empty() ? 0 : open_.back().path; }

 private:
  struct Open {
    std::uint64_t domain;
    std::uint64_t path;
  };
  std::vector<Open> open_;
};

}  // namespace gpubench::profile
