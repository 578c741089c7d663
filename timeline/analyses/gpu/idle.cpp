// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/gpu/idle.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/base/units.h"
#include "timeline/analysis.h"
#include "timeline/names.h"
#include "timeline/program/program.h"

namespace gpubench::timeline {

std::vector<StreamIdle> stream_idle(const Linked& linked, std::int64_t threshold_ns) {
  const Timeline& timeline = linked.timeline;
  std::vector<StreamIdle> idle(timeline.tracks.size());
  std::vector<std::int64_t> ends(timeline.tracks.size(), never);
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (!linked.works(slice)) continue;
    std::int64_t& end = ends[slice.track];
    const std::int64_t gap = end == never ? 0 : slice.start_ns - end;
    if (gap > 0) {
      StreamIdle& here = idle[slice.track];
      const Slice* const call = linked.call_of(i);
      const bool host = call != nullptr && call->start_ns > end;
      const bool kernel = !host && gap < threshold_ns;
      (host ? here.host_ns : kernel ? here.kernel_ns : here.other_ns) += gap;
    }
    end = std::max(end, slice.end_ns());
  }
  std::vector<StreamIdle> result;
  for (std::uint32_t track = 0; track < idle.size(); ++track)
    if (ends[track] != never) {
      idle[track].track = track;
      result.push_back(idle[track]);
    }
  return result;
}

ResultTable idle_causes(const std::vector<GpuTime>& gpus) {
  ResultTable table{"idle_by_cause",
                    columns_of(fmt::format(
                        "gpu{}; cause; ={}; seconds=time; share=of all; gaps:count=gaps", gpus.size() > 1 ? "=GPU" : "",
                        gpus.size() == 1 ? "why " + gpubench::name_of(gpus[0]) + " was idle" : "why it was idle"))};
  for (const GpuTime& gpu : gpus)
    for (const Idle& idle : gpu.idle)
      table.add({gpubench::name_of(gpu), std::string(gpubench::name_of(idle.cause)), std::string(text_of(idle.cause)),
                 idle.seconds, gpu.wall_seconds > 0.0 ? Value(idle.seconds / gpu.wall_seconds) : Absent{"no time"},
                 idle.gaps});
  return table;
}

namespace {

std::vector<ResultTable> idle_tables(const Linked& linked, std::string_view /*by*/) {
  const Timeline& timeline = linked.timeline;
  ResultTable streams{"streams", columns_of("gpu; stream; =stream, by HTA's causes; host_wait_seconds=host wait; "
                                            "kernel_wait_seconds=kernel wait; other_seconds=other")};
  for (const StreamIdle& idle : stream_idle(linked)) {
    const Track& track = timeline.tracks[idle.track];
    const std::string gpu = gpu_name(timeline, track.process, track.device);
    streams.add({gpu, track.id,
                 fmt::format("{} {}", gpu, track.name.empty() ? fmt::format("stream {}", track.id) : track.name),
                 seconds_of(idle.host_ns), seconds_of(idle.kernel_ns), seconds_of(idle.other_ns)});
  }
  std::vector<ResultTable> tables = {idle_causes(analyze(linked).gpus), std::move(streams)};
  tables.front().none = "No GPU was idle between its first and its last work.";
  std::vector<ResultTable> launches = tables_of(linked, "launches");
  launches.front().none.clear();
  std::ranges::move(launches, std::back_inserter(tables));
  return tables;
}

}  // namespace

extern const Analysis idle_analysis{
    .name = "idle", .what = "Say why the GPUs were idle", .tables = idle_tables, .needs_gpu = true};

}  // namespace gpubench::timeline
