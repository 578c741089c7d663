// SPDX-License-Identifier: Apache-2.0
// What the readers share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

namespace gpubench::timeline {

constexpr std::int64_t max_time_ns = std::int64_t{1} << 61;  // 73 years: sums of two stay in range
constexpr std::size_t max_tracks = 100'000;
constexpr std::size_t max_slices = 0xFFFF'0000;
constexpr std::size_t max_name_bytes = 4096;

inline std::uint32_t to_uint32(std::optional<std::int64_t> number) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number.value_or(0), 0, 0xFFFFFFFF));
}

/// Whether a file that begins so is XLA's XSpace: its first plane bears its name after its number, where a packet of
/// Perfetto's has no text.
bool is_xspace(std::string_view start);
/// Whether it is rocprofv3's JSON.
bool is_rocprof(std::string_view start);

/// Kernels that are named as the linker has them, "_ZN5aiter...", get the names of their source.
void demangle_kernels(Timeline& timeline);

/// The kind by the category of an event, as PyTorch's profiler and our own writers name it, and by its name.
SliceKind kind_of_category(std::string_view category, std::string_view name);
/// A kernel of NCCL communicates; its name may be as in the source or as the linker has it.
SliceKind kind_of_kernel(std::string_view name);

/// Marks the last slice as open, among those of its track, the last begun at the end, whatever the order of the file.
void open_slice(std::vector<Slice>& slices, std::vector<std::uint32_t>& open);
/// Ends the last that has begun by then; false where there is none.
bool close_slice(std::vector<Slice>& slices, std::vector<std::uint32_t>& open, std::int64_t time_ns);

/// "python3 (rank 1)", as the writers name a process.
void take_rank(Process& process);
/// "cuda:0 stream 7", as the writers name a stream, and "operators of cuda:0 stream 7".
void name_stream(Track& track);

/// Joins the tracks on which writers put slices that overlap, "stream 7" and "stream 7 (2)"; numbered threads too where
/// they may be such. Returns of each track what it became.
std::vector<std::uint32_t> join_lanes(Timeline& timeline, bool threads);

/// Notes what the GPUs of the streams are called; `name_of` gives an empty name for what is not known.
template <class NameOf>
void note_gpus(Timeline& timeline, const NameOf& name_of) {
  for (const Track& track : timeline.tracks) {
    if (track.kind != TrackKind::stream) continue;
    const auto known = [&](const GpuModel& gpu) { return gpu.process == track.process && gpu.device == track.device; };
    if (std::ranges::any_of(timeline.gpus, known)) continue;
    if (std::string name = name_of(timeline.processes[track.process].id, track.device); !name.empty())
      timeline.gpus.push_back({track.process, track.device, std::move(name)});
  }
}

/// "ranges of thread 1" are those of the thread of that name.
void tie_ranges(Timeline& timeline);

/// Adds this to all times, and takes it off the base.
void move_times(Timeline& timeline, std::int64_t by);
/// When the first thing happened; the most that there is where nothing did.
std::int64_t first_time(const Timeline& timeline);

/// A timeline in the making. What cannot stand on it is left out and counted.
class Builder {
 public:
  explicit Builder(std::string origin) : origin_(std::move(origin)) {}

  /// The place of a shape in Timeline::shapes.
  std::int64_t shape(const LaunchShape& shape);
  /// The track of this kind, process, device and id; `name` is asked for where it is new. Absent where there are too
  /// many.
  template <class NameOf>
  std::optional<std::uint32_t> track(TrackKind kind, std::uint32_t process, std::int64_t device, std::int64_t id,
                                     const NameOf& name) {
    const std::tuple key(kind, process, device, id);
    if (const auto known = tracks_.find(key); known != tracks_.end()) return known->second;
    if (timeline.tracks.size() >= max_tracks) return std::nullopt;
    timeline.tracks.push_back({.kind = kind, .process = process, .device = device, .id = id, .name = name()});
    return tracks_[key] = static_cast<std::uint32_t>(timeline.tracks.size() - 1);
  }
  /// Null where the times are none, or the track.
  Slice* slice(std::optional<std::uint32_t> track, std::int64_t start, std::int64_t end, std::uint32_t name,
               SliceKind kind);
  void leave_out() { ++left_out_; }
  /// Sorted, from the first time on, with a warning of what was left out.
  Timeline take();

  Timeline timeline;

 private:
  std::string origin_;
  std::map<LaunchShape, std::int64_t> shapes_;
  std::map<std::tuple<TrackKind, std::uint32_t, std::int64_t, std::int64_t>, std::uint32_t> tracks_;
  long long left_out_ = 0;
};

/// One end of an arrow, before its slice is known.
struct FlowPoint {
  std::uint64_t id = 0;
  std::int64_t time_ns = 0;
  std::uint32_t thread = 0;
  std::uint32_t name = 0;
  char phase = 's';       ///< as Chrome's: begins, steps, finishes
  bool enclosing = true;  ///< at the slice around it, not at the next one
};

/// Adds the arrows between the slices that the points lie on. The timeline is sorted; `thread_of_track` says where each
/// track's points come from.
void bind_flows(Timeline& timeline, std::vector<FlowPoint>& points, const std::vector<std::uint32_t>& thread_of_track);

}  // namespace gpubench::timeline
