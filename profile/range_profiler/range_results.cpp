// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/range_results.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "timeline/structure/range_tree.h"

namespace gpubench::profile {
namespace {

using timeline::none;

struct KernelSums {
  std::int64_t kernels = 0;
  std::int64_t total_ns = 0;
  std::int64_t max_ns = 0;
  void add(const KernelSums& other) {
    kernels += other.kernels;
    total_ns += other.total_ns;
    max_ns = std::max(max_ns, other.max_ns);
  }
  /// Absent without a kernel, but the sum over no kernels is 0.
  [[nodiscard]] std::optional<double> reduced(Reduction reduction) const {
    if (kernels == 0) return reduction == Reduction::sum ? std::optional(0.0) : std::nullopt;
    if (reduction == Reduction::max) return static_cast<double>(max_ns);
    return static_cast<double>(total_ns) / (reduction == Reduction::sum ? 1.0 : static_cast<double>(kernels));
  }
};

class Summary {
 public:
  Summary(const timeline::Timeline& timeline, const SummaryOptions& options)
      : timeline_(timeline),
        options_(options),
        linked_(timeline),
        tree_(range_tree(linked_, false)),
        own_(tree_.nodes.size()),
        memory_(tree_.nodes.size()),
        children_(tree_.nodes.size()) {
    for (std::uint32_t i = 0; i < tree_.nodes.size(); ++i)
      if (tree_.nodes[i].depth >= 0) children_[tree_.nodes[i].parent].push_back(i);
    add_kernels();
    for (std::size_t i = 0; i < timeline.memory.size(); ++i) add_memory(timeline.memory[i], tree_.of_memory[i]);
  }

  RangeSummary result() {
    RangeSummary summary;
    summary.dropped = timeline_.dropped;
    summary.warnings = timeline_.warnings;
    for (std::uint32_t i = 0; i < tree_.nodes.size(); ++i)
      if (tree_.nodes[i].depth < 0) {
        outside_.add(own_[i]);
        add_ranges(i, "", summary.ranges);
      }
    summary.kernels_outside = outside_.kernels;
    for (const auto& [kind, memory] : by_kind_)
      summary.memory.push_back({std::string(timeline::memory_kind_names[static_cast<std::size_t>(kind)]), memory});
    return summary;
  }

 private:
  void add_kernels() {
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i) {
      const timeline::Slice& slice = timeline_.slices[i];
      if (!is_kernel(slice.kind)) continue;
      const std::uint32_t call = linked_.links.call_of[i];
      (call == none ? outside_ : own_[tree_.of_call[call]]).add({1, slice.duration_ns, slice.duration_ns});
    }
    // A node stands behind its parent, so that sums go up in one pass from the back.
    inclusive_ = own_;
    for (std::size_t i = tree_.nodes.size(); i-- > 0;)
      if (tree_.nodes[i].depth >= 0) inclusive_[tree_.nodes[i].parent].add(inclusive_[i]);
  }

  /// Taken memory counts for the range of its call and those around it, given back memory for those where that was
  /// done; it lives no more for those where it was taken.
  void add_memory(const timeline::MemoryEvent& event, std::uint32_t node) {
    const auto change = [&](std::uint32_t of, timeline::MemoryKind kind, const auto& how) {
      for (; of != none && tree_.nodes[of].depth >= 0; of = tree_.nodes[of].parent) how(memory_[of]);
      how(by_kind_[kind]);
    };
    if (event.bytes > 0) {
      const auto bytes = static_cast<std::uint64_t>(event.bytes);
      change(node, event.kind, [&](RangeMemory& memory) {
        ++memory.allocations;
        memory.allocated_bytes += bytes;
        memory.live_bytes += bytes;
        memory.peak_bytes = std::max(memory.peak_bytes, memory.live_bytes);
      });
      held_[event.address] = {bytes, node, event.kind};
      return;
    }
    const auto known = held_.find(event.address);
    const Held held =
        known == held_.end() ? Held{static_cast<std::uint64_t>(-event.bytes), none, event.kind} : known->second;
    change(node, held.kind, [&](RangeMemory& memory) {
      ++memory.releases;
      memory.freed_bytes += held.bytes;
    });
    if (known == held_.end()) return;
    change(held.node, held.kind,
           [&](RangeMemory& memory) { memory.live_bytes -= std::min(memory.live_bytes, held.bytes); });
    held_.erase(known);
  }

  void add_ranges(std::uint32_t parent, const std::string& outer, std::vector<RangeResult>& results) const {
    for (const std::uint32_t i : children_[parent]) {
      const timeline::RangeTree::Node& node = tree_.nodes[i];
      RangeResult result;
      result.name = tree_.names.text(node.name);
      if (result.name.ends_with(memory_mark)) {
        result.type = RangeType::memory;
        result.name.pop_back();
      }
      result.path = outer.empty() ? result.name : outer + "/" + result.name;
      result.depth = static_cast<int>(node.depth);
      result.calls = node.count;
      result.host_ms = static_cast<double>(node.host_ns) * 1e-6;
      if (options_.records) {
        result.kernels = inclusive_[i].kernels;
        result.exclusive_kernels = own_[i].kernels;
        result.metrics.push_back({"gpu__time_duration.sum", "ns", inclusive_[i].reduced(options_.reduction),
                                  own_[i].reduced(options_.reduction), ""});
        if (options_.memory) result.memory = memory_[i];
      }
      if (options_.counters != nullptr && result.type == RangeType::kernels)
        for (std::size_t m = 0; m < options_.counters->metrics().size(); ++m)
          result.metrics.push_back(options_.counters->metric(m, result.path, options_.reduction));
      results.push_back(result);
      add_ranges(i, result.path, results);
    }
  }

  struct Held {
    std::uint64_t bytes = 0;
    std::uint32_t node = none;
    timeline::MemoryKind kind = timeline::MemoryKind::device;
  };
  const timeline::Timeline& timeline_;
  const SummaryOptions& options_;
  timeline::Linked linked_;
  timeline::RangeTree tree_;
  std::vector<KernelSums> own_, inclusive_;  // by node
  std::vector<RangeMemory> memory_;
  std::vector<std::vector<std::uint32_t>> children_;
  KernelSums outside_;
  std::map<timeline::MemoryKind, RangeMemory> by_kind_;
  std::unordered_map<std::uint64_t, Held> held_;  // by address
};

}  // namespace

RangeSummary summarize(const timeline::Timeline& timeline, const SummaryOptions& options) {
  return Summary(timeline, options).result();
}

}  // namespace gpubench::profile
