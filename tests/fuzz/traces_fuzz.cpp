// SPDX-License-Identifier: Apache-2.0
// A trace of any bytes is refused with a sentence, or analysed and written; what is written is read again alike.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "core/storage/storage.h"
#include "profile/recording_reader.h"
#include "tests/fuzz/fuzz.h"
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

[[maybe_unused]] void trace(std::string_view text) {
  const timeline::Timeline timeline = timeline::chrome_json(text, "input");
  check(timeline);
  const auto bytes = timeline::bytes_of(text);
  // Small windows cut it elsewhere; only what is broken may be read differently then.
  const timeline::Timeline again = timeline::chrome_json(*bytes, "input", 128);
  require(!timeline.warnings.empty() || again.slices.size() == timeline.slices.size());
}

[[maybe_unused]] void perfetto_trace(std::string_view text) {
  check(timeline::perfetto_trace(*timeline::bytes_of(text), "input"));
}

/// A file of these bytes, while it lives: SQLite opens files by their names, and others tell formats by their content.
struct File {
  explicit File(std::string_view text, std::string_view extension)
      : path(std::filesystem::temp_directory_path() /
             ("gpubench-fuzz-" + std::to_string(::getpid()) + std::string(extension))) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  File& operator=(File&&) = delete;
  std::filesystem::path path;
};

[[maybe_unused]] void nsight_trace(std::string_view text) { check(timeline::read_nsight(File(text, ".sqlite").path)); }

/// Of whatever format: XLA's, ROCm's, or packed.
[[maybe_unused]] void other_trace(std::string_view text) { check(timeline::read_timeline(File(text, ".trace").path)); }

[[maybe_unused]] void recording(std::string_view text) try {
  const File file(text, ".gprec");
  const profile::Recordings recordings = profile::read_recordings(std::vector{file.path});
  for (const profile::CountedLaunch& launch : recordings.counted)
    require(launch.process < recordings.timeline.processes.size());
  check(recordings.timeline);
} catch (const profile::RecordingError&) {  // with a sentence
}

}  // namespace

FUZZ_TARGET(READER, gpubench::storage::ReadError)
