// SPDX-License-Identifier: Apache-2.0
// Ranges by name and nesting, and what was launched in each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/model/program.h"
#include "timeline/structure/correlations.h"
#include "timeline/windows.h"

namespace gpubench::timeline {

/// The name without the number at its end; as it is where there is none, or nothing else.
std::string_view stem_of(std::string_view name);

/// The stem without what parts it from its number: '#', ' ' and '_'.
std::string_view without_separators(std::string_view stem);
/// Of numbered names what they have in common: "ProfilerStep" of "ProfilerStep#7"; others as they are.
std::string_view unnumbered(std::string_view name);
/// Of each of `timeline.names`, whether `--range` means it: the ranges of this name, or else those that are numbered
/// and have it in common, with or without the "#*" that paths show.
std::vector<bool> ranges_named(const Timeline& timeline, std::string_view asked);

/// Of each name of a range, as a number of `timeline.names`, its name in paths as a number of `names`:
/// "ProfilerStep#*" where numbered ones are to be joined.
std::unordered_map<std::uint32_t, std::uint32_t> names_in_paths(const Timeline& timeline, StringPool& names,
                                                                bool join_numbered = true);

/// Ranges by name and nesting. The first nodes are the roots, one a process.
struct RangeTree {
  struct Node {
    std::uint32_t parent = none;
    std::uint32_t name = 0;  ///< in RangeTree::names
    std::uint32_t process = 0;
    std::int64_t depth = -1;
    std::int64_t count = 0;
    std::int64_t host_ns = 0;
    std::int64_t own_kernel_ns = 0;
    std::int64_t own_launches = 0;
    std::int64_t allocations = 0, allocated_bytes = 0, live_bytes = 0, peak_bytes = 0;  ///< inclusive
  };
  StringPool names;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> of_call;  ///< node of each of Correlations::calls
  std::vector<std::uint32_t>
      of_memory;  ///< of each of Timeline::memory the node of its call; `none` where that is not known
};
/// `join_numbered`: as `names_in_paths`. Counted are ranges that reach into the windows, their time there, and work
/// that began there; memory always.
RangeTree range_tree(const Linked& linked, bool join_numbered = true, const WindowsOf& windows = {});
std::vector<ProgramRange> ranges_of(const RangeTree& tree, const std::vector<std::string>& labels);

/// Of each slice of the timeline the range path in which it was launched ("step/forward"), as a number in `paths`; 0
/// for what runs on no GPU, or outside of ranges. Of ranges whose names differ in a number at the end alone, more than
/// 16 are one: "step *". A launch on a thread without an open range belongs to the range that is open on the only
/// thread of its process that has one: so kernels of PyTorch's backward thread lie in the ranges of the thread that
/// waits for it. Work of a graph lies in the ranges of its launch, and within these in those of its capture, where that
/// is known: "step/forward".
std::vector<std::uint32_t> range_paths(const Linked& linked, StringPool& paths);

}  // namespace gpubench::timeline
