// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/range_sums.h"

#include <algorithm>

namespace gpubench::profile {

void KernelSums::add(const KernelSums& other) {
  kernels += other.kernels;
  timed += other.timed;
  total_ns += other.total_ns;
  max_ns = std::max(max_ns, other.max_ns);
}

std::optional<double> KernelSums::reduced(Reduction reduction) const {
  if (timed == 0) return kernels == 0 && reduction == Reduction::sum ? std::optional(0.0) : std::nullopt;
  if (reduction == Reduction::max) return max_ns;
  return reduction == Reduction::sum ? total_ns : total_ns / static_cast<double>(timed);
}

RangeSums::RangeSums() : calls_(remembered_calls) {}

std::uint32_t RangeSums::range_of(std::uint32_t correlation) const {
  const CallInRange& call = calls_[correlation % remembered_calls];
  return call.correlation == correlation ? call.range : 0;
}

void RangeSums::count(const KernelTime& kernel, std::uint32_t range) {
  const auto nanoseconds = static_cast<double>(kernel.nanoseconds);
  const bool timed = kernel.nanoseconds > 0;
  sums_[range].add({1, timed ? 1 : 0, nanoseconds, nanoseconds});
}

void RangeSums::match_waiting() {
  std::erase_if(kernels_, [&](const KernelTime& kernel) {
    const std::uint32_t range = range_of(kernel.correlation);
    if (range != 0) count(kernel, range);
    return range != 0;
  });
}

void RangeSums::add(const RecordBatch& batch) {
  dropped_ += batch.dropped;
  memory_.insert(memory_.end(), batch.memory.begin(), batch.memory.end());
  kernels_.insert(kernels_.end(), batch.kernels.begin(), batch.kernels.end());
  // Before a later call takes the place of an earlier one.
  constexpr std::size_t at_a_time = remembered_calls / 2;
  for (std::size_t i = 0; i < batch.calls.size(); ++i) {
    calls_[batch.calls[i].correlation % remembered_calls] = batch.calls[i];
    if (i % at_a_time == at_a_time - 1) match_waiting();
  }
  match_waiting();
}

void RangeSums::settle(const RangeTree& tree) {
  match_waiting();
  for (const KernelTime& kernel : kernels_) count(kernel, 0);
  kernels_.clear();
  std::ranges::stable_sort(memory_, {}, &MemoryEvent::time_ns);
  for (const MemoryEvent& event : memory_) apply(event, tree);
  memory_.clear();
}

RangeMemory& RangeSums::kind(const char* name, bool stream_ordered) {
  return by_kind_[std::string(name) + (stream_ordered ? ", stream-ordered" : "")];
}

void RangeSums::apply(const MemoryEvent& event, const RangeTree& tree) {
  const auto for_each_outer = [&](std::uint32_t range, const auto& change) {
    const RangeNode* node = range < tree.size() ? &tree.node(range) : nullptr;
    for (; node != nullptr; node = node->parent) change(memory_sums_[node->id]);
  };
  const std::uint32_t range = range_of(event.correlation);
  if (event.allocation) {
    const auto allocate = [&](RangeMemory& memory) {
      ++memory.allocations;
      memory.allocated_bytes += event.bytes;
      memory.live_bytes += event.bytes;
      memory.peak_bytes = std::max(memory.peak_bytes, memory.live_bytes);
    };
    for_each_outer(range, allocate);
    allocate(kind(event.kind, event.stream_ordered));
    live_[event.address] = {event.bytes, range, event.kind, event.stream_ordered};
    return;
  }
  const auto known = live_.find(event.address);
  const std::uint64_t bytes = known == live_.end() ? event.bytes : known->second.bytes;
  const auto free = [&](RangeMemory& memory) {
    ++memory.releases;
    memory.freed_bytes += bytes;
  };
  for_each_outer(range, free);
  if (known == live_.end()) return free(kind(event.kind, event.stream_ordered));
  const auto lives_no_more = [&](RangeMemory& memory) { memory.live_bytes -= std::min(memory.live_bytes, bytes); };
  for_each_outer(known->second.range, lives_no_more);
  RangeMemory& of_kind = kind(known->second.kind, known->second.stream_ordered);
  free(of_kind);
  lives_no_more(of_kind);
  live_.erase(known);
}

void RangeSums::clear() {
  std::ranges::fill(calls_, CallInRange{});
  kernels_.clear();
  memory_.clear();
  sums_.clear();
  memory_sums_.clear();
  by_kind_.clear();
  live_.clear();
  dropped_ = 0;
}

KernelSums RangeSums::kernels_of(std::uint32_t range) const {
  const auto found = sums_.find(range);
  return found == sums_.end() ? KernelSums() : found->second;
}

KernelSums RangeSums::inclusive_kernels_of(std::uint32_t range, const RangeTree& tree) const {
  KernelSums all = kernels_of(range);
  for (const RangeNode* child = tree.node(range).first_child; child != nullptr; child = child->next)
    all.add(inclusive_kernels_of(child->id, tree));
  return all;
}

RangeMemory RangeSums::memory_of(std::uint32_t range) const {
  const auto found = memory_sums_.find(range);
  return found == memory_sums_.end() ? RangeMemory() : found->second;
}

std::vector<MemoryOfKind> RangeSums::memory_by_kind() const {
  std::vector<MemoryOfKind> kinds;
  for (const auto& [name, memory] : by_kind_) kinds.push_back({name, memory});
  return kinds;
}

}  // namespace gpubench::profile
