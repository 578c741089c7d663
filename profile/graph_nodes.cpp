// SPDX-License-Identifier: Apache-2.0
#include "profile/graph_nodes.h"

#include <algorithm>
#include <limits>
#include <map>

namespace gpubench::profile {
namespace {

using timeline::Slice;
using timeline::SliceKind;

constexpr std::uint32_t no_slice = std::numeric_limits<std::uint32_t>::max();
/// Calls that may begin after one that holds a moment, and end before it.
constexpr std::ptrdiff_t max_calls_within = 64;

}  // namespace

void GraphNodes::add(const GraphNodeRecord& node, std::int64_t time_ns) {
  const std::uint64_t of = whole(node.copy_of);
  if (of == 0) {
    // CUPTI may tell of a copy as made, too, by the call that instantiates the graph.
    if (of_node_.try_emplace(whole(node.node), static_cast<std::uint32_t>(made_.size())).second)
      made_.push_back({node.thread, time_ns});
  } else if (const auto known = of_node_.find(of); known != of_node_.end()) {
    const std::uint32_t made = known->second;
    of_node_[whole(node.node)] = made;
  }
}

void GraphNodes::add_work(std::uint64_t node, std::uint32_t slice) {
  if (const auto known = of_node_.find(node); known != of_node_.end()) works_.push_back({known->second, slice});
}

void GraphNodes::tie(timeline::Timeline& timeline, std::uint32_t process) const {
  if (works_.empty()) return;
  std::map<std::int64_t, std::vector<std::uint32_t>> calls;  // by thread
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    const timeline::Track& track = timeline.tracks[slice.track];
    if (track.process != process || track.kind != timeline::TrackKind::thread) continue;
    if (slice.kind == SliceKind::launch || slice.kind == SliceKind::transfer || slice.kind == SliceKind::call)
      calls[track.id].push_back(i);
  }
  const auto start_of = [&](std::uint32_t slice) { return timeline.slices[slice].start_ns; };
  for (auto& [thread, own] : calls) std::ranges::sort(own, {}, start_of);
  std::vector<std::uint32_t> call_of(made_.size(), no_slice);
  for (std::size_t i = 0; i < made_.size(); ++i) {
    const auto own = calls.find(made_[i].thread);
    if (own == calls.end()) continue;
    auto call = std::ranges::upper_bound(own->second, made_[i].time_ns, {}, start_of);
    const auto last = call - std::min(call - own->second.begin(), max_calls_within);
    while (call != last && call_of[i] == no_slice)
      if (timeline.slices[*--call].end_ns() >= made_[i].time_ns) call_of[i] = *call;
  }
  const std::uint32_t name = timeline.names.number(timeline::capture_flow);
  for (const Work& work : works_)
    if (call_of[work.made] != no_slice) timeline.flows.push_back({call_of[work.made], work.slice, name});
}

}  // namespace gpubench::profile
