// SPDX-License-Identifier: Apache-2.0
// The chain of work and waits that made up the time of a program: what is not on it could be longer for free.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

/// What a part of the path is. `launch`: from the start of a launch call to the start of its work, on a GPU that had
/// run out of it. `queue`: between two pieces of work on one stream, the second launched in time. `dependency`: the
/// same, but work on another stream had ended in between. `wait`: from the end of the work that the host waited for to
/// the end of the wait. `host`: a thread did something else. `unknown`: work of no known launch came before it.
enum class PathKind : std::uint8_t { compute, communication, memory, launch, queue, dependency, wait, host, unknown };
inline constexpr auto path_kind_names = std::to_array<std::string_view>(
    {"compute", "communication", "memory", "launch", "queue", "dependency", "wait", "host", "unknown"});
constexpr std::string_view name_of(PathKind kind) { return path_kind_names[static_cast<std::size_t>(kind)]; }

struct PathPart {
  PathKind kind = PathKind::unknown;
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t slice = 0;  ///< the work, the call, the wait; of `host` no slice but, in `track`, the thread
  std::uint32_t track = 0;  ///< in Timeline::tracks
};

struct PathSum {
  PathKind kind = PathKind::unknown;
  /// In Timeline::names; of `host` the innermost slice that was open, 0 where there was none. By ranges the innermost
  /// range: that in which work was launched, or that of the thread at that time.
  std::uint32_t name = 0;
  std::int64_t count = 0;  ///< parts; of `host` the slices that were innermost on the path, or the gaps without any
  std::int64_t total_ns = 0;
};

/// Found backwards from what ended last, step by step: work on a GPU began when its launch call began or when the work
/// before it on its stream, or on another stream, ended, whichever was latest; a collective when the last rank had
/// entered it; a wait of the host ended with the work of its process that ended last before; a thread that begins anew
/// was started by the thread of its process that did something last. The parts follow one another without gap.
struct CriticalPath {
  std::int64_t start_ns = 0, end_ns = 0;
  std::vector<PathPart> parts;                                    ///< by time
  std::array<std::int64_t, path_kind_names.size()> by_kind = {};  ///< ns
  std::vector<PathSum> sums;                                      ///< by kind and name, the longest first
};
/// Throws std::invalid_argument as `analyze`.
CriticalPath critical_path(const Linked& linked, bool by_range = false);

/// Adds a track of the path's parts, for whoever draws the timeline, and sorts it.
void add_path_track(Timeline& timeline, const CriticalPath& path);

}  // namespace gpubench::timeline
