// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/range_tree.h"

namespace gpubench::profile {

RangeNode* RangeTree::child(RangeNode& parent, std::string_view name, RangeType type) {
  const auto find = [&]() -> RangeNode* {
    for (RangeNode* child = parent.first_child.load(std::memory_order_acquire); child != nullptr;
         child = child->next.load(std::memory_order_acquire))
      if (child->name == name && child->type == type) return child;
    return nullptr;
  };
  if (RangeNode* const found = find()) return found;
  const std::lock_guard lock(mutex_);
  if (RangeNode* const found = find()) return found;
  if (nodes_.size() >= max_nodes) {
    full_ = true;
    return nullptr;
  }
  RangeNode& made = nodes_.emplace_back();
  made.name = name;
  made.type = type;
  made.parent = &parent;
  made.id = static_cast<std::uint32_t>(nodes_.size() - 1);
  // At the end, so that ranges are listed in the order of their first calls.
  std::atomic<RangeNode*>* last = &parent.first_child;
  while (RangeNode* const next = last->load(std::memory_order_relaxed)) last = &next->next;
  last->store(&made, std::memory_order_release);
  return &made;
}

std::size_t RangeTree::size() const {
  const std::lock_guard lock(mutex_);
  return nodes_.size();
}

const RangeNode& RangeTree::node(std::size_t id) const {
  const std::lock_guard lock(mutex_);
  return nodes_[id];
}

void RangeTree::forget_calls() {
  const std::lock_guard lock(mutex_);
  for (RangeNode& node : nodes_) node.calls = node.host_ns = 0;
}

}  // namespace gpubench::profile
