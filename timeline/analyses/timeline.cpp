// SPDX-License-Identifier: Apache-2.0
// Streams, threads and ranges over time, and how long host and GPUs worked.
#include "timeline/timeline.h"

#include "core/base/units.h"
#include "timeline/analysis.h"
#include "timeline/statistics/breakdown.h"
#include "timeline/views/rows.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t max_bars = 20'000;  // in files

double us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

std::vector<ResultTable> timeline_tables(const Linked& linked, std::string_view /*by*/) {
  ResultTable tracks{"tracks", columns_of("track=track; levels:count=levels; slices:count=slices; busy_seconds=busy")};
  ResultTable slices{"slices", columns_of("track; level; name; kind; start_us; duration_us; count")};
  slices.shown = 0;
  tracks.none = "The trace has no tracks.";
  const Rows all = rows(linked, {.max_bars = max_bars});
  std::int64_t levels = 0, count = 0;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    const BarRow& row = all.rows[i];
    if (row.level == 0) levels = count = 0;
    ++levels;
    for (const Bar& bar : row.bars) {
      slices.add({row.name, std::int64_t{row.level}, linked.timeline.names.text(bar.name),
                  std::string(name_of(bar.kind)), us(bar.start_ns), us(bar.end_ns - bar.start_ns),
                  std::int64_t{bar.count}});
      count += bar.count;
    }
    if (i + 1 == all.rows.size() || all.rows[i + 1].level == 0)
      tracks.add({row.name, levels, count, seconds_of(row.track_busy_ns)});
  }
  if (all.left_out > 0) tracks.notes.push_back(plural(all.left_out, "slice") + " nested too deeply to show.");
  const Activity active = activity(linked.timeline);
  ResultTable facts{
      "", columns_of("total_time_us; cpu_active_time_us; gpu_active_time_us; overlap_time_us; joined_below_us")};
  facts.add({us(active.total_ns), us(active.host_ns), us(active.gpu_ns), us(active.both_ns), us(all.step_ns)});
  return {std::move(tracks), std::move(slices), std::move(facts)};
}

}  // namespace

extern const Analysis timeline_analysis{"timeline", "Draw streams, threads and ranks over time", timeline_tables};

}  // namespace gpubench::timeline
