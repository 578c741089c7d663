// SPDX-License-Identifier: Apache-2.0
// What records of kernels and memory come to in each range. No CUDA.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/range_profiler/range_tree.h"
#include "profile/range_profiler/record_source.h"

namespace gpubench::profile {

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

}  // namespace gpubench::profile
