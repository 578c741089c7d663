// SPDX-License-Identifier: Apache-2.0
// Memory over time: its peak, its curve, and what was never freed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/program.h"
#include "timeline/structure/range_tree.h"

namespace gpubench::timeline {

/// What each of Timeline::memory changes.
struct MemoryChanges {
  explicit MemoryChanges(const Timeline& timeline);
  std::vector<std::int64_t> bytes;  ///< of what is held; below zero it is given back
  std::vector<std::uint32_t> ends;  ///< the event whose memory is given back, by its address; `none`: of none known
  std::vector<std::uint32_t> never_ended;  ///< events whose memory, with an address, stays
};

/// Memory of each node, by the calls that take it. What has no address is never given back.
void add_memory(RangeTree& tree, const Timeline& timeline, const MemoryChanges& changes);
/// Program::memory and Program::never_freed. Times count from `start_ns`.
void add_memory(const Timeline& timeline, const MemoryChanges& changes, std::int64_t start_ns,
                const std::vector<std::string>& labels, Program& program);

}  // namespace gpubench::timeline
