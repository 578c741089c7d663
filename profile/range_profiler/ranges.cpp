// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/text.h"

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

std::optional<CounterParts> parts_of(std::string_view counter) {
  struct Quotient {
    std::string_view counter, numerator, denominator;
    double factor;
  };
  // What each is by its description in CUPTI's host API.
  static constexpr auto table = std::to_array<Quotient>({
      {"lts__t_sector_hit_rate.pct", "lts__t_sectors_lookup_hit.sum", "lts__t_sectors.sum", 100.0},
      {"l1tex__t_sector_hit_rate.pct", "l1tex__t_sectors_lookup_hit.sum", "l1tex__t_sectors.sum", 100.0},
      {"smsp__thread_inst_executed_per_inst_executed.ratio", "smsp__thread_inst_executed.sum",
       "smsp__inst_executed.sum", 1.0},
      {"smsp__issue_active.avg.pct_of_peak_sustained_active", "smsp__issue_active.sum", "smsp__cycles_active.sum",
       100.0},
  });
  for (const Quotient& quotient : table)
    if (quotient.counter == counter)
      return CounterParts{std::string(quotient.numerator), std::string(quotient.denominator), quotient.factor};
  return std::nullopt;
}

bool adds_up(const bench::ResolvedMetric& metric) {
  return !metric.peak && !metric.terms.empty() &&
         std::ranges::all_of(metric.terms, [](const auto& term) { return term.counter.ends_with(".sum"); });
}

namespace {

/// The sum of a counter over pieces; absent where one has none.
std::optional<double> sum_over(const std::vector<const CountedPiece*>& pieces, const std::string& counter,
                               std::string& note) {
  double sum = 0.0;
  for (const CountedPiece* piece : pieces) {
    const auto value = piece->values.find(counter);
    if (value == piece->values.end()) {
      note = piece->lost.empty() ? "it was not counted in every call" : piece->lost;
      return std::nullopt;
    }
    sum += value->second;
  }
  return sum;
}

std::optional<double> metric_over(const bench::ResolvedMetric& metric, const std::vector<const CountedPiece*>& pieces,
                                  std::string& note) {
  double value = 0.0;
  for (const auto& term : metric.terms) {
    const auto sum = sum_over(pieces, term.counter, note);
    if (!sum) return std::nullopt;
    value += term.factor * *sum;
  }
  return value;
}

/// A quotient over several pieces, from its parts.
std::optional<double> quotient_over(const bench::ResolvedMetric& metric,
                                    const std::vector<const CountedPiece*>& pieces) {
  if (metric.terms.size() != 1) return std::nullopt;
  const auto parts = parts_of(metric.terms[0].counter);
  if (!parts) return std::nullopt;
  std::string ignored;
  const auto numerator = sum_over(pieces, parts->numerator, ignored);
  const auto denominator = sum_over(pieces, parts->denominator, ignored);
  if (!numerator || !denominator || *denominator == 0.0) return std::nullopt;
  return metric.terms[0].factor * parts->factor * *numerator / *denominator;
}

std::optional<double> over_calls(const bench::ResolvedMetric& metric, Reduction reduction,
                                 const std::vector<std::vector<const CountedPiece*>>& calls, std::string& note) {
  const bool additive = adds_up(metric);
  if (!additive && reduction != Reduction::max) {
    std::vector<const CountedPiece*> all;
    for (const auto& call : calls) all.insert(all.end(), call.begin(), call.end());
    if (all.size() == 1) return metric_over(metric, all, note);
    if (const auto value = quotient_over(metric, all)) {
      note = "recomputed from its parts over all calls";
      return value;
    }
    note =
        fmt::format("{} is no quantity that adds up, so it has no {} over calls; ask for the max, or count its parts",
                    metric.name, reduction == Reduction::sum ? "sum" : "mean");
    return std::nullopt;
  }
  double sum = 0.0;
  std::optional<double> max;
  for (const auto& call : calls) {
    auto value = additive || call.size() == 1 ? metric_over(metric, call, note) : quotient_over(metric, call);
    if (!value) {
      if (note.empty())
        note = "ranges inside divide its calls, and it cannot be put together again; count its parts as well";
      return std::nullopt;
    }
    sum += *value;
    max = std::max(max.value_or(*value), *value);
  }
  if (reduction == Reduction::max) return max;
  return reduction == Reduction::sum ? sum : sum / static_cast<double>(calls.size());
}

}  // namespace

RangeMetric reduce_counter(const bench::ResolvedMetric& metric, std::uint32_t range, Reduction reduction,
                           const std::vector<CountedPiece>& pieces, const std::vector<CountedCall>& calls) {
  RangeMetric result;
  result.name = metric.name;
  result.unit = metric.unit;
  std::vector<std::vector<const CountedPiece*>> inclusive;
  std::vector<std::vector<const CountedPiece*>> exclusive;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    if (calls[c].range != range) continue;
    inclusive.emplace_back();
    exclusive.emplace_back();
    for (std::size_t i = calls[c].first; i < calls[c].last; ++i) {
      inclusive.back().push_back(&pieces[i]);
      if (pieces[i].call == c) exclusive.back().push_back(&pieces[i]);
    }
  }
  if (inclusive.empty()) {
    result.note = "none of its calls was counted";
    return result;
  }
  std::string note_of_exclusive;
  result.inclusive = over_calls(metric, reduction, inclusive, result.note);
  result.exclusive = over_calls(metric, reduction, exclusive, note_of_exclusive);
  if (result.note.empty()) result.note = note_of_exclusive;
  return result;
}

}  // namespace gpubench::profile
