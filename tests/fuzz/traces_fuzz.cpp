// SPDX-License-Identifier: Apache-2.0
// A trace of any bytes is refused with a sentence, or analysed and written; what is written is read again alike.
#include <span>
#include <stdexcept>
#include <string>

#include "core/storage/storage.h"
#include "kernel_trace/decode.h"
#include "kernel_trace/recording.h"
#include "profile/range_profiler/range_reports.h"
#include "profile/range_profiler/range_results.h"
#include "profile/recording_reader.h"
#include "profile/verdicts.h"
#include "tests/fuzz/written.h"
#include "timeline/input/bytes.h"
#include "timeline/program/program.h"
#include "timeline/readers.h"
#include "timeline/structure/range_tree.h"
#include "timeline/writers.h"

namespace {

using namespace gpubench;

void check(const timeline::Timeline& timeline) {
  const Program program = timeline::analyze(timeline);
  for (const GpuTime& gpu : program.gpus) require(gpu.busy_seconds <= gpu.wall_seconds * (1.0 + 1e-9));
  timeline::StringPool paths;
  require(timeline::range_paths(timeline, paths).size() == timeline.slices.size());
  for (const timeline::Flow& flow : timeline.flows)
    require(flow.from < timeline.slices.size() && flow.to < timeline.slices.size());
  for (const timeline::Instant& mark : timeline.marks) require(mark.track < timeline.tracks.size());
  for (const timeline::Slice& slice : timeline.slices) require(slice.duration_ns >= 0);
  std::string chrome, perfetto;
  timeline::write_chrome_json(timeline, [&](std::string_view part) { chrome += part; });
  require(timeline::chrome_json(chrome, "again").slices.size() == timeline.slices.size());
  timeline::write_perfetto(timeline, [&](std::string_view part) { perfetto += part; });
  if (!timeline.slices.empty())
    require(timeline::perfetto_trace(*timeline::bytes_of(perfetto), "again").slices.size() == timeline.slices.size());
}

void trace(std::string_view text) {
  const timeline::Timeline timeline = timeline::chrome_json(text, "input");
  check(timeline);
  const auto bytes = timeline::bytes_of(text);
  // Small windows cut it elsewhere; only what is broken may be read differently then.
  const timeline::Timeline again = timeline::chrome_json(*bytes, "input", 128);
  require(!timeline.warnings.empty() || again.slices.size() == timeline.slices.size());
}

void perfetto_trace(std::string_view text) { check(timeline::perfetto_trace(*timeline::bytes_of(text), "input")); }

void nsight_trace(std::string_view text) { check(timeline::read_nsight(File(text, "a.sqlite").path)); }

/// Of whatever format: XLA's, ROCm's, or packed.
void other_trace(std::string_view text) { check(timeline::read_timeline(File(text, "a.trace").path)); }

[[maybe_unused]] profile::Recordings recordings_in(std::string_view text) {
  return profile::read_recordings(std::vector{File(text, "a.gprec").path});
}

void recording(std::string_view text) try {
  const profile::Recordings recordings = recordings_in(text);
  for (const profile::CountedLaunch& launch : recordings.counted)
    require(launch.process < recordings.timeline.processes.size());
  check(recordings.timeline);
} catch (const profile::RecordingError&) {  // with a sentence
}

/// The report of a recording, which is a run, and those of its ranges.
void profiled_program(std::string_view text) try {
  const profile::Recordings recordings = recordings_in(text);
  Run program;
  program.devices = profile::devices_of(recordings, {});
  program = profile::verdicts_of(recordings, program);
  require(storage::run_from_json(storage::to_json(program), "again").points.size() == program.points.size());
  fuzz::write_all(program);
  const auto ranges = profile::summarize(recordings.timeline, {}).ranges;
  fuzz::plain(profile::text_of(ranges, profile::Reduction::sum, {}));
  fuzz::plain(profile::csv_of(ranges, profile::Reduction::sum));
  (void)fuzz::parsed(profile::json_of(ranges, profile::Reduction::sum, {}));
} catch (const profile::RecordingError&) {  // with a sentence
}

/// What kernels wrote to a buffer.
void kernel_events(std::string_view text) try {
  const auto events = kernel_trace::decode(std::as_bytes(std::span(text)), {{fuzz::hostile}, {fuzz::hostile}, {}, {}});
  const kernel_trace::Statistics statistics = kernel_trace::statistics_of(events);
  fuzz::plain(kernel_trace::statistics_table(statistics));
  fuzz::plain(kernel_trace::statistics_csv(statistics));
  (void)fuzz::parsed(kernel_trace::statistics_json(statistics));
  check(kernel_trace::timeline_of(events));
} catch (const std::invalid_argument&) {  // no buffer, with a sentence
}

constexpr Target all[] = {{"trace", refusing<trace, storage::ReadError>},
                          {"perfetto_trace", refusing<perfetto_trace, storage::ReadError>},
                          {"nsight_trace", refusing<nsight_trace, storage::ReadError>},
                          {"other_trace", refusing<other_trace, storage::ReadError>},
                          {"recording", refusing<recording, storage::ReadError>},
                          {"profiled_program", refusing<profiled_program, storage::ReadError>},
                          {"kernel_events", refusing<kernel_events, storage::ReadError>}};
std::span<const Target> targets() { return all; }

}  // namespace
