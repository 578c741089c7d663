// SPDX-License-Identifier: Apache-2.0
#include "timeline/program/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "core/base/units.h"
#include "timeline/names.h"

namespace gpubench::timeline {
namespace {

constexpr std::int64_t max_stretches = 1500;     // of a track
constexpr std::size_t max_overview_tracks = 64;  // those with the most time
constexpr std::uint32_t max_levels = 4;          // of nested ranges
constexpr double own_share = 0.9;                // of a stretch, for it to bear the name of its longest slice

/// Of work on a known GPU, and of calls and ranges of a known thread.
std::optional<WorkKind> work_kind(const Correlations& links, const Slice& slice) {
  using enum WorkKind;
  constexpr std::array<std::optional<WorkKind>, slice_kind_names.size()> kinds = {
      compute, communication, memory, memory, launch, launch, wait, std::nullopt, range};
  const auto& places = occupies_gpu(slice.kind) ? links.gpu_of_track : links.thread_of_track;
  return places[slice.track] == none ? std::nullopt : kinds[static_cast<std::size_t>(slice.kind)];
}

/// Stretches of one track. Slices closer than `step` are one stretch, unless both are as long as that.
class Stretches {
 public:
  void add(std::int64_t from, std::int64_t to, WorkKind kind, std::uint32_t name, std::int64_t step) {
    if (open_) {
      from = std::max(from, end_);
      if (to <= from) return;
      const bool joins = from - end_ < step && (end_ - start_ < step || to - from < step);
      if (joins) {
        end_ = to;
        by_kind_[static_cast<std::size_t>(kind)] += to - from;
        if (to - from > longest_) {
          longest_ = to - from;
          name_ = name;
        }
        return;
      }
      close();
    }
    open_ = true;
    start_ = from;
    end_ = to;
    longest_ = to - from;
    name_ = name;
    by_kind_ = {};
    by_kind_[static_cast<std::size_t>(kind)] = to - from;
  }

  struct Stretch {
    std::int64_t start, end;
    WorkKind kind;
    std::uint32_t name;  // none where it is of several
  };
  std::vector<Stretch> take() {
    if (open_) close();
    return std::move(all_);
  }
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  void close() {
    const auto most = std::ranges::max_element(by_kind_) - by_kind_.begin();
    const bool own = static_cast<double>(longest_) >= own_share * static_cast<double>(end_ - start_);
    all_.push_back({start_, end_, static_cast<WorkKind>(most), own ? name_ : none});
    for (const std::int64_t time : by_kind_) total_ += time;
    open_ = false;
  }

  bool open_ = false;
  std::int64_t start_ = 0, end_ = 0, longest_ = 0, total_ = 0;
  std::uint32_t name_ = none;
  std::array<std::int64_t, work_kind_names.size()> by_kind_ = {};
  std::vector<Stretch> all_;
};

}  // namespace

void add_overview(const Linked& linked, const std::vector<std::string>& labels, std::int64_t start_ns,
                  std::int64_t end_ns, Program& program) {
  const Timeline& timeline = linked.timeline;
  const std::int64_t step = std::max<std::int64_t>((end_ns - start_ns) / max_stretches, 1);
  // By process, what it shows (ranges, calls, work), track and level.
  using Key = std::tuple<std::uint32_t, int, std::uint32_t, std::uint32_t>;
  std::map<Key, Stretches> tracks;
  std::unordered_map<std::uint32_t, std::vector<std::int64_t>> open_ranges;  // their ends, by track
  for (const Slice& slice : timeline.slices) {
    const auto kind = work_kind(linked.links, slice);
    if (!kind) continue;
    std::uint32_t level = 0;
    if (*kind == WorkKind::range) {
      auto& ends = open_ranges[slice.track];
      while (!ends.empty() && ends.back() <= slice.start_ns) ends.pop_back();
      level = static_cast<std::uint32_t>(ends.size());
      if (level >= max_levels) continue;
      ends.push_back(slice.end_ns());
    }
    const int what = *kind == WorkKind::range ? 0 : occupies_gpu(slice.kind) ? 2 : 1;
    tracks[{timeline.tracks[slice.track].process, what, slice.track, level}].add(slice.start_ns, slice.end_ns(), *kind,
                                                                                 slice.name, step);
  }
  std::vector<std::int64_t> totals;
  std::unordered_map<std::uint32_t, std::int64_t> numbers;
  std::map<Key, std::vector<Stretches::Stretch>> taken;
  for (auto& [key, stretches] : tracks) {
    taken[key] = stretches.take();
    totals.push_back(stretches.total());
  }
  std::ranges::sort(totals, std::ranges::greater());
  const std::int64_t least = totals.size() > max_overview_tracks ? totals[max_overview_tracks - 1] : 0;
  for (const auto& [key, stretches] : taken) {
    if (tracks.at(key).total() < least || program.overview.size() == max_overview_tracks) continue;
    const auto& [process, what, track, level] = key;
    ProgramTrack shown;
    const bool on_thread = what == 0 && timeline.tracks[track].kind != TrackKind::ranges;
    shown.name =
        fmt::format("{}{}{}{}{}", labels[process], labels[process].empty() ? "" : " ", on_thread ? "ranges of " : "",
                    track_name(timeline.tracks[track]), level > 0 ? fmt::format(", level {}", level + 1) : "");
    for (const auto& stretch : stretches) {
      shown.starts_seconds.push_back(seconds_of(stretch.start - start_ns));
      shown.lengths_seconds.push_back(seconds_of(stretch.end - stretch.start));
      shown.kinds.push_back(stretch.kind);
      if (stretch.name == none) {
        shown.names.push_back(-1);
        continue;
      }
      const auto [place, added] = numbers.emplace(stretch.name, static_cast<std::int64_t>(numbers.size()));
      if (added) program.overview_names.push_back(timeline.names.text(stretch.name));
      shown.names.push_back(place->second);
    }
    program.overview.push_back(std::move(shown));
  }
}

}  // namespace gpubench::timeline
