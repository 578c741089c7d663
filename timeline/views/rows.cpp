// SPDX-License-Identifier: Apache-2.0
#include "timeline/views/rows.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "timeline/names.h"

namespace gpubench::timeline {
namespace {

/// Where rows are free again. Within a thread a slice lies below all that is open; on a stream as high as it can.
class Levels {
 public:
  std::uint32_t place(const Slice& slice, bool nests, std::uint32_t max) {
    std::uint32_t level = 0;
    if (nests) {
      while (!ends_.empty() && ends_.back() <= slice.start_ns) ends_.pop_back();
      level = static_cast<std::uint32_t>(ends_.size());
    } else {
      while (level < ends_.size() && ends_[level] > slice.start_ns) ++level;
    }
    if (level >= max) return none;
    if (level == ends_.size())
      ends_.push_back(slice.end_ns());
    else
      ends_[level] = slice.end_ns();
    return level;
  }

 private:
  std::vector<std::int64_t> ends_;
};

/// Bars of one row, of several slices where they fit in `step` together.
std::vector<Bar> joined_bars(const std::vector<Bar>& bars, std::int64_t step) {
  std::vector<Bar> result;
  std::int64_t longest = 0;
  for (const Bar& bar : bars) {
    if (result.empty() || bar.end_ns - result.back().start_ns > step) {
      result.push_back(bar);
      longest = bar.busy_ns;
      continue;
    }
    Bar& all = result.back();
    all.end_ns = std::max(all.end_ns, bar.end_ns);
    all.busy_ns += bar.busy_ns;
    all.count += bar.count;
    all.correlation = 0;
    if (bar.busy_ns > longest) {
      longest = bar.busy_ns;
      all.name = bar.name;
      all.kind = bar.kind;
    }
  }
  return result;
}

}  // namespace

Rows rows(const Linked& linked, const RowOptions& options) {
  const Timeline& timeline = linked.timeline;
  const Correlations& links = linked.links;
  Rows result;
  if (timeline.slices.empty()) return result;
  // Tracks of one thread are one; the first of them stands for all.
  std::vector<std::uint32_t> home(timeline.tracks.size());
  std::map<std::uint32_t, std::uint32_t> of_thread;
  for (std::uint32_t i = 0; i < home.size(); ++i) {
    const std::uint32_t thread = links.thread_of_track[i];
    const bool plain = timeline.tracks[i].kind == TrackKind::thread;
    home[i] = thread == none ? i : of_thread.emplace(thread, i).first->second;
    if (thread != none && plain) of_thread[thread] = i;
  }
  for (std::uint32_t i = 0; i < home.size(); ++i)
    if (links.thread_of_track[i] != none) home[i] = of_thread[links.thread_of_track[i]];

  std::vector<Levels> levels(home.size());
  // Process, kind, which track has the first slice, track, level.
  using Key = std::tuple<std::uint32_t, int, std::size_t, std::uint32_t, std::uint32_t>;
  std::vector<std::size_t> turn(home.size(), 0);
  std::size_t turns = 0;
  std::vector<std::int64_t> busy_ns(home.size(), 0), busy_until(home.size(), timeline.slices.front().start_ns);
  std::map<Key, std::vector<Bar>> bars;
  result.start_ns = timeline.slices.front().start_ns;
  result.end_ns = result.start_ns;
  for (const Slice& slice : timeline.slices) {
    const std::uint32_t track = home[slice.track];
    const TrackKind kind = timeline.tracks[track].kind;
    busy_ns[track] += std::max<std::int64_t>(0, slice.end_ns() - std::max(slice.start_ns, busy_until[track]));
    busy_until[track] = std::max(busy_until[track], slice.end_ns());
    const std::uint32_t level = levels[track].place(slice, links.thread_of_track[track] != none, options.max_levels);
    if (level == none) {
      ++result.left_out;
      continue;
    }
    const int order = kind == TrackKind::path                                     ? 0
                      : kind == TrackKind::stream || kind == TrackKind::operators ? 3
                      : kind == TrackKind::other                                  ? 2
                                                                                  : 1;
    if (turn[track] == 0) turn[track] = ++turns;
    bars[{timeline.tracks[track].process, order, turn[track], track, level}].push_back(
        {slice.start_ns, slice.end_ns(), slice.duration_ns, slice.name, 1, slice.correlation, slice.kind});
    result.end_ns = std::max(result.end_ns, slice.end_ns());
  }
  result.slices = static_cast<std::int64_t>(timeline.slices.size()) - result.left_out;

  const auto count = [&] {
    std::size_t sum = 0;
    for (const auto& [key, list] : bars) sum += list.size();
    return sum;
  };
  const auto join = [&](std::int64_t step) {
    result.step_ns = step;
    for (auto& [key, list] : bars) list = joined_bars(list, step);
  };
  while (count() > options.max_bars && result.step_ns < result.end_ns - result.start_ns)
    join(std::max<std::int64_t>(result.step_ns * 2, (result.end_ns - result.start_ns) / 1'000'000 + 1));
  const std::vector<std::string> labels = process_labels(timeline);
  for (auto& [key, list] : bars) {
    const auto& [process, order, first, track, level] = key;
    const bool of_all = timeline.tracks[track].kind == TrackKind::path;  // it goes through all processes
    const std::string label = labels[process].empty() || of_all ? "" : labels[process] + " ";
    result.rows.push_back({track, level, label + track_name(timeline.tracks[track]), std::move(list), busy_ns[track]});
  }
  return result;
}

}  // namespace gpubench::timeline
