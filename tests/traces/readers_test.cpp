// SPDX-License-Identifier: Apache-2.0
#include "traces/readers.h"

#include <gmock/gmock.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "core/storage/storage.h"
#include "tests/traces/sample_timeline.h"
#include "traces/analyses.h"
#include "traces/writers.h"

namespace gpubench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Sample;
using ::testing::SizeIs;
using traces::SliceKind;
using traces::Timeline;
using traces::TrackKind;

const std::filesystem::path kept = GPUBENCH_KEPT_TRACES;

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Timeline read(const std::string& text) { return traces::chrome_json(text, "input"); }
Timeline of_events(const std::string& events) { return read("{\"traceEvents\":[" + events + "]}"); }

std::string refusal(const std::string& text) {
  try {
    (void)read(text);
  } catch (const storage::ReadError& error) {
    return error.what();
  }
  return "";
}

/// An excerpt of one of two ranks of a real run of PyTorch on an H200, with its sums by other means: exact decimals in
/// Python.
TEST(Kineto, gives_the_sums_of_the_trace_to_the_nanosecond) {
  const Timeline timeline = traces::read_chrome_json(kept / "kineto.json");
  EXPECT_THAT(timeline.warnings, IsEmpty());
  ASSERT_THAT(timeline.processes, SizeIs(1));
  EXPECT_EQ(timeline.processes[0].id, 2777);
  EXPECT_EQ(timeline.processes[0].name, "python");
  EXPECT_EQ(timeline.processes[0].rank, 0);
  EXPECT_EQ(timeline.base_ns, 1'790'857'026'000'000'000 + 4'491'036'065'759'623);
  const Program program = traces::analyze(timeline);
  ASSERT_THAT(program.gpus, SizeIs(1));
  const GpuTime& gpu = program.gpus[0];
  EXPECT_EQ(gpu.device, "cuda:0");
  EXPECT_DOUBLE_EQ(gpu.wall_seconds, 20502.039e-6);
  EXPECT_DOUBLE_EQ(gpu.busy_seconds, 2104.443e-6);
  EXPECT_DOUBLE_EQ(gpu.compute_seconds, 363.072e-6);
  EXPECT_DOUBLE_EQ(gpu.communication_seconds, 1931.867e-6);
  EXPECT_DOUBLE_EQ(gpu.memory_seconds, 3.103e-6);
  EXPECT_DOUBLE_EQ(gpu.communication_overlap_seconds, 191.296e-6);
  EXPECT_EQ(program.kernel_launches, 44);
  double idle = 0.0;
  for (const Idle& one : gpu.idle) {
    idle += one.seconds;
    EXPECT_NE(one.cause, IdleCause::unknown) << "each launch is known";
  }
  EXPECT_NEAR(idle, gpu.wall_seconds - gpu.busy_seconds, 1e-12);
  ASSERT_THAT(program.ranges, Not(IsEmpty()));
  EXPECT_EQ(program.ranges[0].path, "ProfilerStep#*");
  ASSERT_THAT(program.memory, SizeIs(1));
  EXPECT_EQ(program.memory[0].kind, "pool");
}

TEST(ChromeReader, keeps_times_to_the_nanosecond_however_they_are_written) {
  const Timeline timeline =
      of_events(R"({"ph":"X","pid":1,"tid":1,"ts":4491036073229.465,"dur":627.753,"name":"a"},)"
                R"({"ph":"X","pid":1,"tid":1,"ts":"4491036073229.466","dur":"0.0004","name":"b"},)"
                R"({"ph":"X","pid":1,"tid":1,"ts":4491036073229.4676,"dur":5,"name":"c"},)"
                R"({"ph":"X","pid":1,"tid":1,"ts":4.4910360732295e12,"dur":1e1,"name":"d"})");
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (const auto& slice : timeline.slices) times.emplace_back(slice.start_ns, slice.duration_ns);
  EXPECT_THAT(times, ElementsAre(std::pair(0, 627'753), std::pair(1, 0), std::pair(3, 5000), std::pair(35, 10'000)));
  EXPECT_EQ(timeline.base_ns, 4'491'036'073'229'465);
}

TEST(ChromeReader, reads_begins_and_ends_arrays_and_what_never_ends) {
  const Timeline timeline = read(
      R"([{"ph":"B","pid":"p","tid":"t","ts":0,"name":"outer"},{"ph":"B","pid":"p","tid":"t","ts":1,"name":"inner"},
      {"ph":"E","pid":"p","tid":"t","ts":3},{"ph":"X","pid":"p","tid":"t","ts":8,"dur":2,"name":"last"},
      {"ph":"E","pid":"p","tid":"other","ts":3}])");
  ASSERT_THAT(timeline.slices, SizeIs(3));
  EXPECT_EQ(timeline.slices[0].duration_ns, 10'000);
  EXPECT_TRUE(timeline.slices[0].open);
  EXPECT_EQ(timeline.slices[1].duration_ns, 2000);
  EXPECT_EQ(timeline.processes[0].name, "p");
  EXPECT_THAT(timeline.warnings, ElementsAre(HasSubstr("1 event without a usable time")));
}

TEST(ChromeReader, reads_what_was_written) {
  Sample sample;
  sample.timeline.base_ns = 1'790'857'026'000'000'000;
  sample.timeline.shapes.push_back({.grid = {4, 2, 1}, .block = {128, 1, 1}, .registers = 32});
  sample.slice(SliceKind::range, sample.ranges, 0, 90'001, "step");
  sample.kernel(0, 2000, 4000, 10'000).detail = 0;
  sample.kernel(2000, 3000, 20'000, 30'007, "Memcpy HtoD", SliceKind::copy).detail = 4096;
  sample.kernel(2500, 3000, 40'000, 40'001, "q\"\\\n\u00e4", SliceKind::communication);
  sample.slice(SliceKind::synchronization, sample.thread, 5000, 40'000, "cudaDeviceSynchronize");
  const Timeline& before = sample.sorted();
  std::string text;
  traces::write_chrome_json(before, [&](std::string_view part) { text += part; });
  const Timeline after = read(text);
  EXPECT_EQ(after.base_ns, before.base_ns);
  const auto facts = [](const Timeline& timeline) {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::string, SliceKind, std::uint32_t, TrackKind, std::int64_t>>
        all;
    for (const auto& slice : timeline.slices) {
      const auto& track = timeline.tracks[slice.track];
      all.emplace_back(slice.start_ns, slice.duration_ns, timeline.names.text(slice.name), slice.kind,
                       slice.correlation, track.kind, track.device);
    }
    return all;
  };
  EXPECT_EQ(facts(after), facts(before));
  EXPECT_EQ(after.shapes[0].grid, before.shapes[0].grid);
  EXPECT_EQ(traces::analyze(after).gpus, traces::analyze(before).gpus);
}

TEST(ChromeReader, unpacks_gzip_and_keeps_what_came_before_a_break) {
  const auto file = std::filesystem::temp_directory_path() / ("gpubench-trace-" + std::to_string(::getpid()) + ".gz");
  const std::string text = content(kept / "kineto.json");
  gzFile packed = gzopen(file.c_str(), "wb");
  ASSERT_EQ(gzwrite(packed, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  gzclose(packed);
  const auto whole = traces::read_chrome_json(file);
  EXPECT_EQ(whole.slices.size(), read(text).slices.size());
  EXPECT_THAT(whole.warnings, IsEmpty());
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  const auto half = traces::read_chrome_json(file);
  EXPECT_GT(half.slices.size(), 10);
  EXPECT_LT(half.slices.size(), whole.slices.size());
  EXPECT_THAT(half.warnings, Contains(HasSubstr("ends in the middle")));
  std::filesystem::remove(file);
}

TEST(ChromeReader, survives_a_break_anywhere) {
  const std::string text = content(kept / "kineto.json");
  for (std::size_t length = 0; length < text.size(); length += 487) {
    try {
      const Timeline timeline = traces::chrome_json(text.substr(0, length), "input");
      EXPECT_THAT(timeline.warnings, Not(IsEmpty())) << length;
      (void)traces::analyze(timeline);
    } catch (const storage::ReadError& error) {
      EXPECT_THAT(error.what(), HasSubstr("input: ")) << length;
    }
  }
}

TEST(ChromeReader, refuses_what_is_no_trace_in_a_sentence) {
  EXPECT_THAT(refusal(""), HasSubstr("input: is not JSON that can be read"));
  EXPECT_THAT(refusal("{\"a\":1}"), HasSubstr("input: holds no \"traceEvents\""));
  EXPECT_THAT(refusal("42"), HasSubstr("input: "));
  EXPECT_THAT(refusal(std::string(1'000'000, '[')), HasSubstr("input: "));
  EXPECT_THAT(refusal("{\"traceEvents\":" + std::string(100'000, '{')), HasSubstr("input: "));
  EXPECT_THROW((void)traces::read_chrome_json("/nowhere/trace.json"), storage::ReadError);
  EXPECT_THROW((void)traces::read_chrome_json("/tmp"), storage::ReadError);
}

TEST(ChromeReader, leaves_odd_events_out_and_says_so) {
  const Timeline timeline = of_events(
      R"({"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"good"},{"ph":"X","pid":1,"tid":1,"dur":1,"name":"no time"},)"
      R"({"ph":"X","pid":1,"tid":1,"ts":1,"dur":-1,"name":"negative"},{"ph":"X","tid":1,"ts":1,"dur":1},7,)"
      R"({"ph":"X","pid":1,"tid":1,"ts":9223372036854775807,"dur":1,"name":"far"},)"
      R"({"ph":"X","pid":1,"tid":1,"ts":1e300,"dur":1,"name":"far"},{"ph":"X","pid":1,"tid":1,"ts":"nan","dur":1})");
  EXPECT_THAT(timeline.slices, SizeIs(1));
  EXPECT_THAT(timeline.warnings, ElementsAre("input: 7 events without a usable time, length or place were left out."));
  (void)traces::analyze(timeline);
}

}  // namespace
}  // namespace gpubench
