// SPDX-License-Identifier: Apache-2.0
// Ranges as a tree, and what records and counters come to in it. No CUDA.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/range_profiler/sources.h"

namespace gpubench::profile {

/// Ranges of one name and type inside the same outer ranges.
struct RangeNode {
  std::string name;
  RangeType type = RangeType::kernels;
  RangeNode* parent = nullptr;  ///< the root's is null
  std::uint32_t id = 0;         ///< ascending from parent to child
  std::atomic<RangeNode*> first_child = nullptr;
  std::atomic<RangeNode*> next = nullptr;  ///< of the same parent
  std::atomic<std::int64_t> calls = 0;
  std::atomic<std::int64_t> host_ns = 0;
};

/// Grows and never shrinks. Looking up takes no lock.
class RangeTree {
 public:
  static constexpr std::size_t max_nodes = 4096;
  RangeTree() { nodes_.emplace_back(); }
  [[nodiscard]] RangeNode& root() { return nodes_.front(); }
  /// Makes the child where it is not there yet; null where there are too many already.
  RangeNode* child(RangeNode& parent, std::string_view name, RangeType type);
  [[nodiscard]] std::size_t size() const;
  /// By id; valid for ids below `size`.
  [[nodiscard]] const RangeNode& node(std::size_t id) const;
  [[nodiscard]] bool full() const { return full_.load(std::memory_order_relaxed); }
  void forget_calls();

 private:
  mutable std::mutex mutex_;
  std::deque<RangeNode> nodes_;
  std::atomic<bool> full_ = false;
};

struct KernelSums {
  std::int64_t kernels = 0;
  std::int64_t timed = 0;  ///< of them with a time
  double total_ns = 0.0;
  double max_ns = 0.0;
  void add(const KernelSums& other);
  /// Absent without a timed kernel, but the sum over no kernels is 0.
  [[nodiscard]] std::optional<double> reduced(Reduction reduction) const;
};

/// Finds the range of each record by the call that made it, and adds up.
class RangeSums {
 public:
  RangeSums();
  /// In whatever order records come.
  void add(const RecordBatch& batch);
  /// All records up to now are there: what has found no range lies outside of all.
  void settle(const RangeTree& tree);
  void clear();

  /// Records that wait for `settle`.
  [[nodiscard]] std::size_t waiting() const { return kernels_.size() + memory_.size(); }
  /// Without the ranges inside. 0: outside of all ranges.
  [[nodiscard]] KernelSums kernels_of(std::uint32_t range) const;
  [[nodiscard]] KernelSums inclusive_kernels_of(std::uint32_t range, const RangeTree& tree) const;
  /// With the ranges inside. 0: everything.
  [[nodiscard]] RangeMemory memory_of(std::uint32_t range) const;
  [[nodiscard]] std::vector<MemoryOfKind> memory_by_kind() const;
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }

 private:
  /// The newest calls, each at the place of its number; a record is at most that many calls behind.
  static constexpr std::size_t remembered_calls = std::size_t{1} << 20;
  struct Allocation {
    std::uint64_t bytes = 0;
    std::uint32_t range = 0;
    const char* kind = "";
    bool stream_ordered = false;
  };
  [[nodiscard]] std::uint32_t range_of(std::uint32_t correlation) const;
  void count(const KernelTime& kernel, std::uint32_t range);
  void match_waiting();
  void apply(const MemoryEvent& event, const RangeTree& tree);
  RangeMemory& kind(const char* name, bool stream_ordered);

  std::vector<CallInRange> calls_;
  std::vector<KernelTime> kernels_;  ///< without a range so far
  std::vector<MemoryEvent> memory_;
  std::map<std::uint32_t, KernelSums> sums_;
  std::map<std::uint32_t, RangeMemory> memory_sums_;
  std::map<std::string, RangeMemory> by_kind_;
  std::unordered_map<std::uint64_t, Allocation> live_;
  std::int64_t dropped_ = 0;
};

/// A counter that is a quotient, by what it can be computed from again: factor * numerator / denominator.
struct CounterParts {
  std::string numerator, denominator;
  double factor = 1.0;
};
/// Absent where none are known, as of a counter that is a sum.
std::optional<CounterParts> parts_of(std::string_view counter);
/// Whether values of several calls may be added: "X.sum", and the names of gpubench that are made of such.
bool adds_up(const bench::ResolvedMetric& metric);

/// Counters of what ran between two borders: a range, or a stretch of it between the ranges inside it.
struct CountedPiece {
  std::uint32_t range = 0;
  std::size_t call = 0;  ///< into the calls
  std::map<std::string, double> values;
  std::string lost;  ///< why there are none
};
/// One call of a range: the pieces from `first` to before `last`.
struct CountedCall {
  std::uint32_t range = 0;
  std::size_t first = 0, last = 0;
};
/// One metric of one range over all its calls. A sum or mean of a quotient is refused, unless its parts were counted.
RangeMetric reduce_counter(const bench::ResolvedMetric& metric, std::uint32_t range, Reduction reduction,
                           const std::vector<CountedPiece>& pieces, const std::vector<CountedCall>& calls);

std::string text_of(const std::vector<RangeResult>& ranges, Reduction reduction, const Status& status,
                    const std::vector<SelfCost>& costs);
std::string csv_of(const std::vector<RangeResult>& ranges, Reduction reduction);
std::string json_of(const std::vector<RangeResult>& ranges, Reduction reduction, const Status& status);
std::string text_of(const MemoryActivity& activity);

}  // namespace gpubench::profile
