// SPDX-License-Identifier: Apache-2.0
// Ranges of one name inside the same outer ranges, as a tree. No CUDA.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "gpubench/profile.h"

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

}  // namespace gpubench::profile
