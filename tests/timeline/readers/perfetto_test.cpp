// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/storage/storage.h"
#include "tests/matchers.h"
#include "timeline/input/bytes.h"
#include "timeline/names.h"
#include "timeline/program/program.h"
#include "timeline/readers.h"
#include "timeline/structure/correlations.h"

namespace gpubench {
namespace {

using timeline::Timeline;

const std::filesystem::path official = std::filesystem::path(GPUBENCH_KEPT_TRACES) / "official.perfetto-trace";

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Timeline read(const std::string& bytes) { return timeline::perfetto_trace(*timeline::bytes_of(bytes), "input"); }

/// Written by the official schema: make_official.py.
TEST(PerfettoReader, reads_what_the_official_schema_writes) {
  const Timeline timeline = timeline::read_timeline(official);
  std::vector<std::string> slices;
  for (const auto& slice : timeline.slices)
    slices.push_back(timeline::track_name(timeline.tracks[slice.track]) + ": " + timeline.names.text(slice.name) + " " +
                     std::to_string(slice.start_ns) + "+" + std::to_string(slice.duration_ns) + " " +
                     std::string(timeline::name_of(slice.kind)) + " " + std::to_string(slice.correlation) +
                     (slice.open ? " open" : ""));
  EXPECT_THAT(slices, ElementsAre("worker: outer 0+100000 other 0", "worker: interned \u00e4 100+200 launch 1",
                                  "cuda:0 stream 7: saxpy 50000+10000 kernel 1",
                                  "cuda:0 stream 7: in units 100000+5000 kernel 0",
                                  "worker: packed, never ends 1000000+0 other 0 open"));
  EXPECT_EQ(timeline.base_ns, 1'790'857'026'002'000'000);
  ASSERT_THAT(timeline.processes, SizeIs(1));
  EXPECT_EQ(timeline.processes[0].id, 4711);
  EXPECT_EQ(timeline.processes[0].name, "train");
  EXPECT_EQ(timeline.processes[0].rank, 2);
  ASSERT_THAT(timeline.counters, SizeIs(1));
  EXPECT_EQ(timeline.counters[0].name, "power");
  EXPECT_EQ(timeline.counters[0].unit, "mW");
  EXPECT_EQ(timeline.counters[0].samples[0].value, 30.0);
  EXPECT_EQ(timeline.counters[0].samples[1].value, 20.0);
  ASSERT_THAT(timeline.marks, SizeIs(1));
  EXPECT_EQ(timeline.marks[0].time_ns, 400);
  EXPECT_THAT(timeline.flows, IsEmpty()) << "it is the correlation";
  EXPECT_EQ(timeline.dropped, 1);
  EXPECT_THAT(timeline.warnings, IsEmpty());
  const Program program = timeline::analyze(timeline);
  ASSERT_THAT(program.gpus, SizeIs(1));
  EXPECT_EQ(program.gpus[0].launches, 1);
}

TEST(PerfettoReader, pairs_begins_and_ends_in_any_order) {
  const auto packet = [](char time, char type) {  // of track 77
    const char bytes[] = {10, 10, 0x40, time, 0x50, 1, 0x5A, 4, 0x48, type, 0x58, 77};
    return std::string(bytes, sizeof bytes);
  };
  constexpr char begin = 1, end = 2;
  const Timeline timeline = read(packet(50, end) + packet(10, begin) + packet(60, begin) + packet(70, end));
  ASSERT_THAT(timeline.slices, SizeIs(2));
  EXPECT_EQ(timeline.slices[0].duration_ns, 40);
  EXPECT_EQ(timeline.slices[1].duration_ns, 10);
  EXPECT_THAT(timeline.warnings, IsEmpty());
  EXPECT_THAT(read(packet(50, end) + packet(60, begin) + packet(70, end)).warnings,
              ElementsAre(HasSubstr("1 event without a usable time or place was left out")));
}

TEST(PerfettoReader, keeps_what_came_before_a_break_and_says_where) {
  const std::string bytes = content(official);
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    try {
      const Timeline timeline = read(bytes.substr(0, length));
      EXPECT_LE(timeline.slices.size(), 5U);
      for (const std::string& warning : timeline.warnings)
        EXPECT_THAT(warning, HasSubstr("is not whole); what came before is kept.")) << length;
    } catch (const storage::ReadError& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr("input: is no Perfetto trace that can be read (the packet at byte 0 is not whole)"));
    }
  }
  EXPECT_THAT(read(bytes + "\x07").warnings,
              Contains(HasSubstr("byte " + std::to_string(bytes.size()) + " begins no packet")));
}

}  // namespace
}  // namespace gpubench
