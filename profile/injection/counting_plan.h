// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace gpubench::profile {

inline constexpr double more_after_seconds = 2.0;
/// How long counting may take in all, in seconds, where the program itself has run for so long. `budget`: what its user
/// allows; 0: 1.5 s in a program of less than 2 s, else 3 s and a tenth of its time.
constexpr double counting_allowance(double program_seconds, double budget) {
  if (budget > 0.0) return budget;
  return program_seconds < more_after_seconds ? 1.5 : 3.0 + 0.1 * program_seconds;
}

/// Which launches are counted, and in which set of counters. Pure. To change the set is slow, so each set has turns.
/// What a verdict rests on comes first: two launches of each kernel, then one in each place of the program, as far as
/// places are not told apart by numbers alone, then further ones. The program is taken to repeat itself once as
/// many launches have brought no new group as there were until the last one.
class CountingPlan {
 public:
  /// Of groups that differ in nothing but their ranges, those after the first one get fewer, and none beyond so many:
  /// a program that names every step would be counted in every step.
  static constexpr std::uint32_t first_of_later_ranges = 3;
  static constexpr std::uint32_t max_ranges = 64;
  /// A kernel with more is taken to be in ranges that do not come again.
  static constexpr std::uint32_t ranges_of_a_step = 16;
  static constexpr std::uint32_t first_of_kernel = 2;  ///< the very first launch may be slow

  /// `first`: launches of a group that each set counts at once.
  explicit CountingPlan(std::size_t sets, std::uint32_t first = 20) : sets_(sets), first_(first) {}

  /// All groups of one function and shape.
  struct Kernel {
    std::uint32_t ranges = 0;
    std::vector<std::uint32_t> counted;  ///< launches by set
    std::set<std::uint64_t> alike;       ///< RangePath::alike of those that the first set counted
  };
  struct Group {
    Kernel* kernel = nullptr;
    std::uint64_t alike = 0;
    std::uint64_t launches = 0;
    std::uint64_t turn = 0;              ///< in which it came last
    std::uint32_t first = 0;             ///< launches that each set counts at once
    std::vector<std::uint32_t> counted;  ///< by set
  };
  /// Of a kernel that has fewer ranges than `max_ranges`, and stays where it is.
  [[nodiscard]] Group group(Kernel& kernel, std::uint64_t alike) const {
    kernel.counted.resize(sets_);
    return {.kernel = &kernel,
            .alike = alike,
            .first = kernel.ranges++ == 0 ? first_ : std::min(first_, first_of_later_ranges),
            .counted = std::vector<std::uint32_t>(sets_)};
  }
  /// The set to count the group's next launch in; none where it is not due. `repeats`: also launches that are like
  /// others may be counted in this turn.
  std::optional<std::size_t> wanted(Group& group, bool repeats) {
    ++group.launches;
    ++launches_;
    if (group.turn != turn_) {
      group.turn = turn_;
      lacking_ += static_cast<std::size_t>(group.counted[set_] < group.first);
      if (group.kernel->ranges <= ranges_of_a_step) repeats_not_before(2);
    }
    if (due(group, set_, repeats)) return set_;
    if (!is_over(repeats)) return std::nullopt;
    for (std::size_t set = 0; set < sets_; ++set)
      if (group.kernel->counted[set] == 0) return set;
    if (group.counted[0] < group.first && !group.kernel->alike.contains(group.alike)) return 0;
    if (group.counted[set_] >= group.first) return std::nullopt;  // no set is set up again for repeats
    begin_turn(group, set_);
    return set_;
  }
  /// The launch was counted in this set, whose turn it is from now on.
  void counted(Group& group, std::size_t set) {
    if (set != set_) begin_turn(group, set);
    last_counted_ = launches_;
    // The first set stays longer: layers of a model repeat, too, before the rest of the first step comes.
    if (group.kernel->counted[set]++ == 0)
      repeats_not_before(set == 0 ? std::clamp<std::uint64_t>(launches_ / 2, 4, 16) : 4);
    if (set == 0 && group.kernel->alike.insert(group.alike).second) until_over_ = std::max(until_over_, 2 * launches_);
    if (++group.counted[set] == group.first) --lacking_;
  }
  /// Whether the turn has counted what it is to count.
  [[nodiscard]] bool is_over(bool repeats) const {
    return launches_ >= until_over_ && (lacking_ == 0 || !repeats || launches_ >= 2 * last_counted_);
  }
  [[nodiscard]] std::size_t set() const { return set_; }
  [[nodiscard]] std::uint64_t turn() const { return turn_; }
  /// Of a group that has all: whether so many launches have gone by that what the set counted is a sixteenth, an
  /// eighth, ... less.
  [[nodiscard]] bool due_again(const Group& group) const {
    if (group.counted[set_] < group.first) return false;
    const std::uint32_t later = group.counted[set_] - group.first;
    return later < 32 && group.launches >= (std::uint64_t{group.first} * sets_) << (later + 4U);
  }

 private:
  [[nodiscard]] bool due(const Group& group, std::size_t set, bool repeats) const {
    if (group.counted[set] >= group.first) return false;
    if (group.kernel->counted[set] < first_of_kernel) return true;
    if (launches_ < until_repeats_) return false;
    return repeats || (set == 0 && !group.kernel->alike.contains(group.alike));
  }
  /// A group or kernel is new to the turn, which lasts so many times as long as until here.
  void repeats_not_before(std::uint64_t times) {
    if (launches_ >= 4 * until_over_) {  // what comes so long after is a phase of its own
      launches_ = last_counted_ = 1;
      until_over_ = 0;
    }
    until_repeats_ = 2 * launches_;
    until_over_ = std::max(until_over_, times * launches_);
  }
  /// With the launch that is on.
  void begin_turn(Group& group, std::size_t set) {
    set_ = set;
    group.turn = ++turn_;
    launches_ = 1;
    last_counted_ = until_repeats_ = until_over_ = 0;
    lacking_ = static_cast<std::size_t>(group.counted[set] < group.first);
  }

  std::size_t sets_;
  std::uint32_t first_;
  std::size_t set_ = 0;
  std::uint64_t turn_ = 1, launches_ = 0;  ///< of the turn, as is what follows
  std::uint64_t last_counted_ = 0, until_repeats_ = 0, until_over_ = 0;
  std::size_t lacking_ = 0;  ///< groups that came
};

/// A range's name: itself, and without what its numbers are.
struct RangeName {
  std::uint64_t whole = 0, alike = 0;
};
template <class Character>
RangeName range_name(std::basic_string_view<Character> text) {
  constexpr std::uint64_t prime = 1099511628211U;  // FNV-1a
  RangeName name{14695981039346656037U, 14695981039346656037U};
  bool number = false;
  for (const Character c : text) {
    const bool digit = c >= '0' && c <= '9';
    name.whole = (name.whole ^ static_cast<std::uint64_t>(c)) * prime;
    if (!digit || !number) name.alike = (name.alike ^ static_cast<std::uint64_t>(digit ? '0' : c)) * prime;
    number = digit;
  }
  return name;
}

/// The ranges that a thread is in, as one number: equal paths have equal numbers.
class RangePath {
 public:
  void push(std::uint64_t domain, RangeName name) {
    const auto below = [domain](std::uint64_t above, std::uint64_t of) {
      const std::uint64_t mixed = (above ^ of ^ (domain << 1U)) * 0x9E3779B97F4A7C15ULL;
      return mixed ^ (mixed >> 29U);
    };
    open_.push_back({domain, below(number(), name.whole), below(alike(), name.alike)});
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
  /// The same of paths that differ in numbers alone: "layer 3".
  [[nodiscard]] std::uint64_t alike() const { return open_.empty() ? 0 : open_.back().alike; }

 private:
  struct Open {
    std::uint64_t domain, path, alike;
  };
  std::vector<Open> open_;
};

}  // namespace gpubench::profile
