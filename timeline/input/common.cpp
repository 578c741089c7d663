// SPDX-License-Identifier: Apache-2.0
#include "timeline/input/common.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/collective.h"
#include "core/model/device.h"
#include "timeline/names.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {
namespace {

/// Of each point, by time, its slice, or `none`.
std::vector<std::uint32_t> slices_at(const Timeline& timeline, const std::vector<FlowPoint>& points,
                                     const std::vector<std::uint32_t>& thread_of_track) {
  struct Thread {
    std::vector<std::uint32_t> open;     // slices, the outer ones first
    std::vector<std::uint32_t> waiting;  // points of the next slice
  };
  std::unordered_map<std::uint32_t, Thread> threads;
  for (const FlowPoint& point : points) threads[point.thread];
  std::vector<Thread*> of_track;
  for (const std::uint32_t thread : thread_of_track) {
    const auto place = threads.find(thread);
    of_track.push_back(place == threads.end() ? nullptr : &place->second);
  }
  std::vector<std::uint32_t> result(points.size(), none);
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < points.size(); ++i) {
    for (; next < timeline.slices.size() && timeline.slices[next].start_ns <= points[i].time_ns; ++next) {
      const Slice& slice = timeline.slices[next];
      Thread* const thread = of_track[slice.track];
      if (thread == nullptr) continue;
      while (!thread->open.empty() && timeline.slices[thread->open.back()].end_ns() <= slice.start_ns)
        thread->open.pop_back();
      thread->open.push_back(next);
      for (const std::uint32_t point : thread->waiting) result[point] = next;
      thread->waiting.clear();
    }
    Thread& thread = threads[points[i].thread];
    while (!thread.open.empty() && timeline.slices[thread.open.back()].end_ns() < points[i].time_ns)
      thread.open.pop_back();
    const std::uint32_t around = thread.open.empty() ? none : thread.open.back();
    if (points[i].enclosing || (around != none && timeline.slices[around].start_ns == points[i].time_ns))
      result[i] = around;
    else
      thread.waiting.push_back(i);
  }
  for (; next < timeline.slices.size(); ++next)
    if (Thread* const thread = of_track[timeline.slices[next].track]; thread != nullptr) {
      for (const std::uint32_t point : thread->waiting) result[point] = next;
      thread->waiting.clear();
    }
  return result;
}

}  // namespace

constexpr std::ptrdiff_t max_reordered =
    4096;  // open slices that are looked through: a hostile trace may have millions

bool is_xspace(std::string_view start) {
  return start.starts_with('\n') &&
         std::ranges::any_of(std::to_array<std::string_view>({"/host:", "/device:", "Task Environment"}),
                             [&](std::string_view plane) { return contains(start.substr(0, 24), plane); });
}

bool is_rocprof(std::string_view start) { return contains(start, "\"rocprofiler-sdk-tool\""); }

void demangle_kernels(Timeline& timeline) {
  std::unordered_map<std::uint32_t, std::uint32_t> plain;  // by the name as written
  const auto plain_of = [&](std::uint32_t number) {
    if (!timeline.names.text(number).starts_with("_Z")) return number;
    const auto [place, added] = plain.emplace(number, number);
    if (added) place->second = timeline.names.number(demangled(timeline.names.text(number)).substr(0, max_name_bytes));
    return place->second;
  };
  for (Slice& slice : timeline.slices)
    if (occupies_gpu(slice.kind))
      slice.name = plain_of(slice.name);
    else if (slice.kind == SliceKind::launch && slice.detail >= 0)
      slice.detail = plain_of(static_cast<std::uint32_t>(slice.detail));
}

SliceKind kind_of_kernel(std::string_view name) {
  return is_collective_kernel(name) ? SliceKind::communication : SliceKind::kernel;
}

SliceKind kind_of_category(std::string_view category, std::string_view name) {
  // Those of Kineto today, of its former versions, and of other vendors' plug-ins.
  constexpr std::string_view calls[] = {"cuda_runtime", "cuda_driver",        "Runtime", "hip_api", "mtia_runtime",
                                        "xpu_runtime",  "privateuse1_runtime"};
  constexpr std::pair<std::string_view, SliceKind> kinds[] = {{"gpu_memcpy", SliceKind::copy},
                                                              {"Memcpy", SliceKind::copy},
                                                              {"gpu_memset", SliceKind::fill},
                                                              {"Memset", SliceKind::fill},
                                                              {"user_annotation", SliceKind::range}};
  if (std::ranges::find(calls, category) != std::end(calls)) return kind_of_call(name);
  if (category == "kernel" || category == "Kernel") return kind_of_kernel(name);
  for (const auto& [of, kind] : kinds)
    if (category == of) return kind;
  // Of MTIA: what its command processor executes, among it waits for events.
  if (category == "mtia_ccp_events") return name.starts_with("event_") ? SliceKind::other : kind_of_kernel(name);
  if (category == "cuda_sync") return name == "Stream Wait Event" ? SliceKind::other : SliceKind::synchronization;
  const auto own = std::ranges::find(slice_kind_names, category);
  return own == slice_kind_names.end() ? SliceKind::other : static_cast<SliceKind>(own - slice_kind_names.begin());
}

void open_slice(std::vector<Slice>& slices, std::vector<std::uint32_t>& open) {
  slices.back().open = true;
  auto at = open.end();
  while (at != open.begin() && open.end() - at < max_reordered && slices[*(at - 1)].start_ns > slices.back().start_ns)
    --at;
  open.insert(at, static_cast<std::uint32_t>(slices.size() - 1));
}

bool close_slice(std::vector<Slice>& slices, std::vector<std::uint32_t>& open, std::int64_t time_ns) {
  for (auto at = open.end(); at != open.begin() && open.end() - at < max_reordered;) {
    Slice& slice = slices[*--at];
    if (slice.start_ns > time_ns) continue;
    slice.duration_ns = time_ns - slice.start_ns;
    slice.open = false;
    open.erase(at);
    return true;
  }
  return false;
}

void take_rank(Process& process) {
  constexpr std::string_view begin = " (rank ";
  const auto at = process.name.rfind(begin);
  if (process.rank || at == std::string::npos || !process.name.ends_with(')')) return;
  const std::string_view number = std::string_view(process.name).substr(at + begin.size());
  process.rank = number_in<std::int64_t>(number.substr(0, number.size() - 1));
  if (process.rank) process.name.resize(at);
}

void name_stream(Track& track) {
  constexpr std::string_view operators = "operators of ";
  if (track.kind != TrackKind::stream && track.name.starts_with(operators) &&
      std::string_view(track.name).substr(operators.size()).starts_with(gpu_prefix)) {
    Track stream{.kind = TrackKind::stream, .name = track.name.substr(operators.size())};
    name_stream(stream);
    track.kind = TrackKind::operators;
    track.device = stream.device;
    track.id = stream.id;
    return;
  }
  if (track.kind != TrackKind::stream || track.device >= 0 || !track.name.starts_with(gpu_prefix)) return;
  const auto space = track.name.find(' ');
  track.device =
      number_in<std::int64_t>(std::string_view(track.name).substr(gpu_prefix.size(), space - gpu_prefix.size()))
          .value_or(-1);
  if (space == std::string::npos) return;
  track.name.erase(0, space + 1);
  if (track.id == 0 && track.name.starts_with("stream "))
    track.id = number_in<std::int64_t>(std::string_view(track.name).substr(7)).value_or(0);
}

std::vector<std::uint32_t> join_lanes(Timeline& timeline, bool threads) {
  using Key = std::tuple<std::uint32_t, std::int64_t, std::string_view>;
  std::map<Key, std::uint32_t> by_name;
  for (std::uint32_t i = 0; i < timeline.tracks.size(); ++i)
    by_name.emplace(Key{timeline.tracks[i].process, timeline.tracks[i].device, timeline.tracks[i].name}, i);
  std::vector<std::uint32_t> place(timeline.tracks.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lanes;
  std::vector<bool> is_lane(place.size());
  for (std::uint32_t i = 0; i < place.size(); ++i) {
    const Track& track = timeline.tracks[i];
    const std::string_view name = track.name;
    const auto open = name.rfind(" (");
    if ((!threads && track.kind == TrackKind::thread && track.id != 0) || open == std::string_view::npos ||
        !name.ends_with(')') || !number_in<std::uint32_t>(name.substr(open + 2, name.size() - open - 3)))
      continue;
    const auto first = by_name.find(Key{track.process, track.device, name.substr(0, open)});
    if (first == by_name.end() || is_lane[first->second]) continue;
    is_lane[i] = true;
    lanes.emplace_back(i, first->second);
  }
  std::vector<Track> kept;
  for (std::uint32_t i = 0; i < place.size(); ++i)
    if (!is_lane[i]) {
      place[i] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(timeline.tracks[i]);
    }
  for (const auto& [lane, first] : lanes) place[lane] = place[first];
  if (lanes.empty()) return place;
  timeline.tracks = std::move(kept);
  for (Slice& slice : timeline.slices) slice.track = place[slice.track];
  for (Instant& mark : timeline.marks) mark.track = place[mark.track];
  return place;
}

void tie_ranges(Timeline& timeline) {
  constexpr std::string_view begin = "ranges of ";
  std::map<std::pair<std::uint32_t, std::string>, std::int64_t> threads;
  for (const Track& track : timeline.tracks)
    if (track.kind == TrackKind::thread) threads.emplace(std::pair(track.process, track_name(track)), track.id);
  for (Track& track : timeline.tracks) {
    if (track.kind != TrackKind::ranges || !track.name.starts_with(begin)) continue;
    const auto thread = threads.find({track.process, track.name.substr(begin.size())});
    if (thread != threads.end()) track.id = thread->second;
  }
}

std::int64_t first_time(const Timeline& timeline) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  const auto look = [&](const auto& all, auto time) {
    for (const auto& one : all) first = std::min(first, one.*time);
  };
  look(timeline.slices, &Slice::start_ns);
  look(timeline.marks, &Instant::time_ns);
  look(timeline.memory, &MemoryEvent::time_ns);
  for (const CounterTrack& counter : timeline.counters) look(counter.samples, &CounterSample::time_ns);
  return first;
}

void move_times(Timeline& timeline, std::int64_t by) {
  for (Slice& slice : timeline.slices) slice.start_ns += by;
  for (Instant& mark : timeline.marks) mark.time_ns += by;
  for (MemoryEvent& event : timeline.memory) event.time_ns += by;
  for (CounterTrack& counter : timeline.counters)
    for (CounterSample& sample : counter.samples) sample.time_ns += by;
  // Of a hostile file the sum may not fit.
  if (__builtin_sub_overflow(timeline.base_ns, by, &timeline.base_ns)) timeline.base_ns = 0;
}

std::int64_t Builder::shape(const LaunchShape& shape) {
  const auto [place, added] = shapes_.emplace(shape, static_cast<std::int64_t>(timeline.shapes.size()));
  if (added) timeline.shapes.push_back(shape);
  return place->second;
}

Slice* Builder::slice(std::optional<std::uint32_t> track, std::int64_t start, std::int64_t end, std::uint32_t name,
                      SliceKind kind) {
  if (!track || start < -max_time_ns || end < start || end > max_time_ns || timeline.slices.size() >= max_slices) {
    leave_out();
    return nullptr;
  }
  timeline.slices.push_back(
      {.start_ns = start, .name = name, .track = *track, .duration_ns = end - start, .kind = kind});
  return &timeline.slices.back();
}

Timeline Builder::take() {
  if (const std::int64_t first = first_time(timeline); first != std::numeric_limits<std::int64_t>::max())
    move_times(timeline, -first);
  sort(timeline);
  if (left_out_ > 0)
    timeline.warnings.push_back(fmt::format("{}: {} without a usable time or place {} left out.", origin_,
                                            plural(left_out_, "event"), left_out_ == 1 ? "was" : "were"));
  return std::move(timeline);
}

void bind_flows(Timeline& timeline, std::vector<FlowPoint>& points, const std::vector<std::uint32_t>& thread_of_track) {
  if (points.empty()) return;
  std::ranges::stable_sort(points, {}, &FlowPoint::time_ns);
  const auto slices = slices_at(timeline, points, thread_of_track);
  std::unordered_map<std::uint64_t, std::uint32_t> last;  // slice of each arrow
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (slices[i] == none) continue;
    if (points[i].phase == 's') {
      last[points[i].id] = slices[i];
      continue;
    }
    const auto from = last.find(points[i].id);
    if (from == last.end()) continue;
    if (from->second != slices[i]) timeline.flows.push_back({from->second, slices[i], points[i].name});
    from->second = slices[i];
    if (points[i].phase == 'f') last.erase(from);
  }
}

}  // namespace gpubench::timeline
