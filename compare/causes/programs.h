// SPDX-License-Identifier: Apache-2.0
// Two profiles of a program: what its kernels' time was, what it is, and which groups of kernels the difference is in.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/run.h"

namespace gpubench::compare {

/// How a group of one side was found on the other. same: by name, launch shape and range. reshaped: by kernel and
/// range, in other launch shapes. renamed: the only one gone and the only one new in their range, launched as often.
enum class Match { same, reshaped, renamed, added, gone };
constexpr std::string_view name_of(Match match) {
  return std::array<std::string_view, 5>{"same", "reshaped", "renamed", "new", "gone"}[static_cast<std::size_t>(match)];
}

struct GroupChange {
  std::string name;  ///< as its point's; of several shapes that of the kernel
  std::string was;   ///< the name in the base, where it is another
  std::string range;
  std::string device;
  Match match = Match::same;
  double base_seconds = 0.0;  ///< of all its launches; where steps are known of one step
  double new_seconds = 0.0;
  double base_launches = 0.0;  ///< likewise
  double new_launches = 0.0;
  [[nodiscard]] double seconds() const { return new_seconds - base_seconds; }
};

/// What stands from the base to the new: base_seconds + all groups' seconds + rest_seconds = new_seconds.
struct ProgramChange {
  double base_seconds = 0.0;  ///< of the kernels, copies and fills that the profiles list
  double new_seconds = 0.0;
  std::vector<GroupChange> groups;  ///< by the size of their change, the largest first
  double rest_seconds = 0.0;        ///< of the groups that are not listed
  std::size_t rest_groups = 0;
  std::string step;  ///< the range whose every occurrence is a step; empty: times are of the whole program
  double base_steps = 0.0;
  double new_steps = 0.0;
  /// Of groups outside of the steps, which are in none of the above.
  double outside_base_seconds = 0.0;
  double outside_new_seconds = 0.0;
};

inline constexpr std::size_t max_listed_groups = 12;

/// Of profiles alone, means over the runs of a side; absent where a run is none.
std::optional<ProgramChange> program_change(const std::vector<Run>& base, const std::vector<Run>& next);

/// Runs in which a kernel group with launches of several lengths has their mean in place of its median: the median of
/// such a mix jumps from one length to another when a few launches more or less are timed. Empty where no group is one.
/// Of as many launches on both sides a launch is assumed to vary by 15 % about its own length; else the deviation is
/// the largest of such a range (Bhatia and Davis, American Mathematical Monthly 107, 2000). `mixed` gets the names.
struct WholeTimes {
  std::vector<Run> base, next;
  std::vector<std::string> mixed;
};
WholeTimes with_whole_times(const std::vector<Run>& base, const std::vector<Run>& next);

}  // namespace gpubench::compare
