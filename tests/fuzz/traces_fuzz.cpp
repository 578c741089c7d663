// SPDX-License-Identifier: Apache-2.0
// A trace of any bytes is refused with a sentence, or analysed and written; what is written is read again alike.
#include "core/storage/storage.h"
#include "tests/fuzz/fuzz.h"
#include "traces/analyses.h"
#include "traces/readers.h"
#include "traces/writers.h"

namespace {

using namespace gpubench;

void trace(std::string_view text) {
  const traces::Timeline timeline = traces::chrome_json(std::string(text), "input");
  const Program program = traces::analyze(timeline);
  for (const GpuTime& gpu : program.gpus) require(gpu.busy_seconds <= gpu.wall_seconds * (1.0 + 1e-9));
  traces::Names paths;
  require(traces::range_paths(timeline, paths).size() == timeline.slices.size());
  std::string chrome;
  traces::write_chrome_json(timeline, [&](std::string_view part) { chrome += part; });
  require(traces::chrome_json(chrome, "again").slices.size() == timeline.slices.size());
  traces::write_perfetto(timeline, [](std::string_view) {});
}

}  // namespace

FUZZ_TARGET(READER, gpubench::storage::ReadError)
