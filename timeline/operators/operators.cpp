// SPDX-License-Identifier: Apache-2.0
#include "timeline/operators/operators.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "timeline/statistics/breakdown.h"

namespace gpubench::timeline {
namespace {

/// What is open on a thread.
struct Frame {
  std::uint32_t slice;
  std::uint32_t operation;  ///< its place in Operators::parents; that of the frame below where it is no operator
  std::int64_t end;
  std::int64_t within_ns = 0;  ///< of frames within
};

/// Those of graphs: the innermost on the track of operators of a work's stream that it lies in.
void add_captured(const Linked& linked, Operators& result) {
  const Timeline& timeline = linked.timeline;
  std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t>, std::vector<std::uint32_t>> tracks;  // in `all`
  for (const Track& track : timeline.tracks)
    if (track.kind == TrackKind::operators) tracks[{track.process, track.device, track.id}];
  if (tracks.empty()) return;
  const auto holds = [&](std::uint32_t operation, const Slice& slice) {
    const Slice& outer = timeline.slices[result.all[operation].slice];
    return outer.correlation == slice.correlation && outer.start_ns <= slice.start_ns &&
           outer.end_ns() >= slice.end_ns();
  };
  const auto holder = [&](std::uint32_t operation, const Slice& slice) {
    while (operation != none && !holds(operation, slice)) operation = result.all[operation].parent;
    return operation;
  };
  for (const bool of_works : {false, true})
    for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
      const Slice& slice = timeline.slices[i];
      const Track& track = timeline.tracks[slice.track];
      if (of_works ? !slice.in_graph || !linked.works(slice) : track.kind != TrackKind::operators) continue;
      const auto all = tracks.find({track.process, track.device, track.id});
      if (all == tracks.end()) continue;
      auto& of_track = all->second;
      if (!of_works) {
        result.all.push_back({.slice = i, .parent = of_track.empty() ? none : holder(of_track.back(), slice)});
        of_track.push_back(static_cast<std::uint32_t>(result.all.size() - 1));
        continue;
      }
      const auto next = std::ranges::upper_bound(of_track, slice.start_ns, {}, [&](std::uint32_t operation) {
        return timeline.slices[result.all[operation].slice].start_ns;
      });
      if (next == of_track.begin()) continue;
      if (const std::uint32_t operation = holder(*(next - 1), slice); operation != none)
        result.of_captured.emplace(i, operation);
    }
}

}  // namespace

Operators operators(const Linked& linked) {
  const Timeline& timeline = linked.timeline;
  const Correlations& links = linked.links;
  Operators result;
  result.of_call.assign(links.calls.size(), none);
  const std::vector<bool> python = timeline.names.where(is_python_frame);
  std::vector<std::vector<Frame>> threads(links.threads.size());
  const auto close = [&](std::vector<Frame>& stack, std::int64_t now) {
    for (; !stack.empty() && stack.back().end <= now; stack.pop_back()) {
      const Frame& frame = stack.back();
      const Slice& slice = timeline.slices[frame.slice];
      if (slice.kind == SliceKind::other)
        result.all[frame.operation].self_ns = std::max<std::int64_t>(slice.duration_ns - frame.within_ns, 0);
      if (stack.size() < 2) continue;
      Frame& around = *(stack.end() - 2);
      around.within_ns += std::min(slice.end_ns(), timeline.slices[around.slice].end_ns()) - slice.start_ns;
    }
  };
  auto call = links.calls.begin();
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    const std::uint32_t thread = links.thread_of_track[slice.track];
    const bool is_call = call != links.calls.end() && call->slice == i;
    if (thread == none || slice.kind == SliceKind::range || slice.kind == SliceKind::overhead) continue;
    if (slice.kind == SliceKind::other && python[slice.name]) continue;
    auto& stack = threads[thread];
    close(stack, slice.start_ns);
    std::uint32_t operation = stack.empty() ? none : stack.back().operation;
    if (is_call) {
      result.of_call[static_cast<std::size_t>(call - links.calls.begin())] = operation;
      ++call;
    }
    if (slice.kind == SliceKind::other) {
      result.all.push_back({.slice = i, .parent = operation});
      operation = static_cast<std::uint32_t>(result.all.size() - 1);
    }
    stack.push_back({i, operation, slice.end_ns()});
  }
  for (auto& stack : threads) {
    // What crosses its parent's end is closed with it.
    for (Frame& frame : stack) frame.end = std::numeric_limits<std::int64_t>::min();
    close(stack, 0);
  }
  add_captured(linked, result);
  return result;
}

std::vector<OperatorTime> operator_times(const Linked& linked) {
  const Timeline& timeline = linked.timeline;
  const Correlations& links = linked.links;
  const Operators found = operators(linked);
  const auto& all = found.all;
  std::unordered_map<std::uint32_t, OperatorTime> times;  // by name
  std::vector<std::int64_t> gpu_ns(all.size(), 0);        // with what is within
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    if (!linked.works(work)) continue;
    const std::uint32_t operation = found.of_work(links, i);
    OperatorTime& own = times[operation == none ? 0 : timeline.slices[all[operation].slice].name];
    own.gpu_self_ns += work.duration_ns;
    ++own.works;
    (operation == none ? own.gpu_ns : gpu_ns[operation]) += work.duration_ns;
  }
  // Each with what is within it in a row, so that one within another of its name is known by its place.
  std::vector<std::uint32_t> size(all.size(), 1), next(all.size()), order(all.size());
  for (std::size_t i = all.size(); i-- > 0;)
    if (const std::uint32_t parent = all[i].parent; parent != none) {
      size[parent] += size[i];
      gpu_ns[parent] += gpu_ns[i];
    }
  std::uint32_t next_root = 0;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    std::uint32_t& place = all[i].parent == none ? next_root : next[all[i].parent];
    order[place] = i;
    next[i] = place + 1;
    place += size[i];
  }
  std::unordered_map<std::uint32_t, std::size_t> ends;  // of the last one of a name
  for (std::size_t place = 0; place < order.size(); ++place) {
    const Operators::One& one = all[order[place]];
    const Slice& slice = timeline.slices[one.slice];
    OperatorTime& time = times[slice.name];
    ++time.count;
    time.host_self_ns += one.self_ns;
    std::size_t& end = ends[slice.name];
    if (place < end) continue;
    end = place + size[order[place]];
    time.gpu_ns += gpu_ns[order[place]];
    if (links.thread_of_track[slice.track] != none) time.host_ns += slice.duration_ns;
  }
  std::vector<OperatorTime> result;
  for (auto& [name, time] : times) {
    time.name = name;
    result.push_back(time);
  }
  std::ranges::sort(result, [&](const OperatorTime& a, const OperatorTime& b) {
    return std::tuple(-a.gpu_self_ns, -a.gpu_ns, -a.host_self_ns, a.name) <
           std::tuple(-b.gpu_self_ns, -b.gpu_ns, -b.host_self_ns, b.name);
  });
  return result;
}

std::vector<OperatorCall> operator_calls(const Linked& linked) {
  const Timeline& timeline = linked.timeline;
  const Correlations& links = linked.links;
  const Operators found = operators(linked);
  std::vector<OperatorCall> calls(found.all.size());
  std::vector<std::int64_t> longest(found.all.size(), -1);
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    const std::uint32_t operation = linked.works(work) ? found.of_work(links, i) : none;
    if (operation == none) continue;
    OperatorCall& call = calls[operation];
    if (call.works++ == 0) call.device = timeline.tracks[work.track].device;
    call.gpu_ns += work.duration_ns;
    if (work.kind != SliceKind::kernel) continue;
    ++call.kernels;
    if (work.duration_ns > longest[operation]) {
      longest[operation] = work.duration_ns;
      call.kernel = work.name;
    }
    if (work.detail < 0) continue;
    const auto& grid = timeline.shapes[static_cast<std::size_t>(work.detail)].grid;
    call.blocks += std::int64_t{grid[0]} * grid[1] * grid[2];
  }
  std::vector<OperatorCall> result;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].works == 0) continue;
    calls[i].slice = found.all[i].slice;
    result.push_back(calls[i]);
  }
  return result;
}

}  // namespace gpubench::timeline
