// SPDX-License-Identifier: Apache-2.0
// Time by stack: flame graphs of a timeline, what two of them differ in, and their text formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/table.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

enum class FlameWeight : std::uint8_t {
  host,  ///< time in which a thread was in a frame
  gpu    ///< time of the kernels, copies and fills that a frame launched
};

std::string_view title_of(FlameWeight weight);

struct FlameOptions {
  std::int64_t min_duration_ns = 0;  ///< of a frame's total, of either weight; the time of shorter ones is its parent's
  std::size_t max_depth = 512;       ///< frames below a thread; the time of deeper ones is that of the last one shown
  double small_kernel_share = 0.001;  ///< kernels of one caller with less of all GPU time each are "N other kernels"
  bool by_thread = true;              ///< else the stacks of all threads and processes are laid together
};

/// A frame in its place: the same name below the same parents.
struct FlameNode {
  static constexpr std::uint32_t no_parent = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t parent = no_parent;  ///< stands before its children
  std::uint32_t name = 0;            ///< in FlameGraph::names
  std::uint32_t depth = 0;           ///< 0: the root, 1: a thread (with by_thread)
  SliceKind kind = SliceKind::other;
  std::int64_t count = 0;
  std::int64_t host_self_ns = 0, host_total_ns = 0;
  std::int64_t gpu_self_ns = 0, gpu_total_ns = 0;
  [[nodiscard]] std::int64_t self(FlameWeight weight) const {
    return weight == FlameWeight::host ? host_self_ns : gpu_self_ns;
  }
  [[nodiscard]] std::int64_t total(FlameWeight weight) const {
    return weight == FlameWeight::host ? host_total_ns : gpu_total_ns;
  }
};

struct FlameGraph {
  StringPool names;
  std::vector<FlameNode> nodes;  ///< the first is the root, "all"
  std::int64_t left_out = 0;     ///< frames that found no place any more; their time is their parents'
  [[nodiscard]] const std::string& name(const FlameNode& node) const { return names.text(node.name); }
  /// GPU time where there is any: that is what most look for.
  [[nodiscard]] FlameWeight natural_weight() const {
    return nodes.front().gpu_total_ns > 0 ? FlameWeight::gpu : FlameWeight::host;
  }
};

/// The stack at a moment is what is open on a thread then, by start, the longer first; ranges lie on the thread that
/// opened them. So nothing counts twice, and slices that cross are split: the second lies in the first as long as that
/// lasts, then beside it. Work of the GPU lies below the stack that launched it, and below its stream where no launch
/// is known. Its times are sums: kernels on two streams count both. Throws std::invalid_argument for a timeline that is
/// not sorted.
FlameGraph flame(const Linked& linked, const FlameOptions& options = {});

/// A frame of either of two flame graphs, matched by its names from the root on.
struct FlameChange {
  std::uint32_t parent = FlameNode::no_parent;
  std::uint32_t name = 0;
  std::uint32_t depth = 0;
  SliceKind kind = SliceKind::other;
  std::int64_t base_self_ns = 0, base_total_ns = 0, base_count = 0;
  std::int64_t new_self_ns = 0, new_total_ns = 0, new_count = 0;
};
struct FlameDiff {
  StringPool names;
  std::vector<FlameChange> nodes;  ///< as FlameGraph::nodes
  FlameWeight weight = FlameWeight::gpu;
};
FlameDiff diff(const FlameGraph& base, const FlameGraph& next, FlameWeight weight);

/// A line a stack with time of its own, "all;main;step 1200", in nanoseconds: what flamegraph.pl, inferno and
/// speedscope read. Semicolons and line ends in names become spaces.
std::string folded(const FlameGraph& graph, FlameWeight weight);

/// The frames with time, each behind its parent, whose number it has.
ResultTable flame_table(const FlameGraph& graph, FlameWeight weight);

}  // namespace gpubench::timeline
