// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "core/storage/storage.h"
#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/input/bytes.h"
#include "timeline/names.h"
#include "timeline/program/program.h"
#include "timeline/readers.h"
#include "timeline/structure/correlations.h"
#include "timeline/writers.h"

namespace gpubench {
namespace {

using timeline::Timeline;

const std::filesystem::path kept = GPUBENCH_KEPT_TRACES;

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Timeline read(const std::string& text) { return timeline::chrome_json(text, "input"); }
Timeline of_events(const std::string& events) { return read("{\"traceEvents\":[" + events + "]}"); }

std::string refusal(const std::string& text) {
  return message_of<storage::ReadError>([&] { (void)read(text); });
}

/// An excerpt of one of two ranks of a real run of PyTorch on an H200, with its sums by other means: exact decimals in
/// Python.
TEST(Kineto, gives_the_sums_of_the_trace_to_the_nanosecond) {
  const Timeline timeline = timeline::read_chrome_json(kept / "kineto.json");
  EXPECT_THAT(timeline.warnings, IsEmpty());
  ASSERT_THAT(timeline.processes, SizeIs(1));
  EXPECT_EQ(timeline.processes[0].id, 2777);
  EXPECT_EQ(timeline.processes[0].name, "python");
  EXPECT_EQ(timeline.processes[0].rank, 0);
  EXPECT_EQ(timeline.base_ns, 1'790'857'026'000'000'000 + 4'491'036'065'759'623);
  const Program program = timeline::analyze(timeline);
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
  timeline::write_chrome_json(before, [&](std::string_view part) { text += part; });
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
  EXPECT_EQ(timeline::analyze(after).gpus, timeline::analyze(before).gpus);
}

TEST(ChromeReader, names_gpus_and_keeps_the_values_that_work_depends_on) {
  const Timeline timeline = timeline::chrome_json(
      R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}, {"id": 1, "name": "other"}, 7],
          "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "aten::cudnn_convolution", "pid": 1, "tid": 1, "ts": 1, "dur": 9,
             "args": {"Concrete Inputs": ["", "", "[0]"], "Input type": ["float", "float", ""], "Input Dims": [[1, 2, 3], [4, 2, 3], []]}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 20, "dur": 9,
             "args": {"Concrete Inputs": ["", ""], "Input type": ["float", "float"], "Input Dims": [[1, 2], [2, 3]]}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 40, "dur": 9,
             "args": {"Input type": [
                          "long int",
                          "a \" b"
                      ],
                      "Input Dims": [
                          [
                              7,
                              2
                          ],
                          []
                      ]}},
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": {"device": 0, "stream": 7}}]})",
      "trace.json");
  ASSERT_EQ(timeline.gpus.size(), 1);
  EXPECT_EQ(timeline.gpus[0].name, "NVIDIA H200");
  std::vector<std::string> inputs;
  for (const auto& slice : timeline.slices)
    if (slice.kind == SliceKind::other && slice.detail >= 0)
      inputs.push_back(timeline.names.text(static_cast<std::uint32_t>(slice.detail)));
  EXPECT_THAT(inputs, ElementsAre(R"([[1, 2, 3], [4, 2, 3], []]["float", "float", ""]["", "", "[0]"])",
                                  R"([[1, 2], [2, 3]]["float", "float"])", R"([[7, 2], []]["long int", "a \" b"])"))
      << "a file that was formatted tells the same";
}

TEST(ChromeReader, ties_recorded_waits_to_their_calls) {
  const Timeline timeline = timeline::chrome_json(
      R"({"traceEvents": [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaFree", "pid": 5, "tid": 5, "ts": 1, "dur": 9, "args": {"correlation": 3}},
            {"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": -1, "ts": 2, "dur": 7,
             "args": {"cuda_sync_kind": "Context Sync", "stream": -1, "correlation": 3, "device": 0, "context": 1}}]})",
      "trace.json");
  ASSERT_EQ(timeline.processes.size(), 1) << "GPU 0 is no process";
  ASSERT_EQ(timeline.slices.size(), 2);
  EXPECT_EQ(timeline.slices[1].kind, SliceKind::synchronization);
  EXPECT_EQ(timeline.tracks[timeline.slices[1].track].kind, timeline::TrackKind::other);
  EXPECT_EQ(timeline.tracks[timeline.slices[1].track].process, timeline.tracks[timeline.slices[0].track].process);
}

TEST(ChromeReader, unpacks_gzip_and_keeps_what_came_before_a_break) {
  const auto file = std::filesystem::temp_directory_path() / ("gpubench-trace-" + std::to_string(::getpid()) + ".gz");
  const std::string text = content(kept / "kineto.json");
  gzFile packed = gzopen(file.c_str(), "wb");
  ASSERT_EQ(gzwrite(packed, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  gzclose(packed);
  const auto whole = timeline::read_chrome_json(file);
  EXPECT_EQ(whole.slices.size(), read(text).slices.size());
  EXPECT_THAT(whole.warnings, IsEmpty());
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  const auto half = timeline::read_chrome_json(file);
  EXPECT_GT(half.slices.size(), 10);
  EXPECT_LT(half.slices.size(), whole.slices.size());
  EXPECT_THAT(half.warnings, Contains(HasSubstr("ends in the middle")));
  std::filesystem::remove(file);
}

TEST(ChromeReader, survives_a_break_anywhere) {
  const std::string text = content(kept / "kineto.json");
  for (std::size_t length = 0; length < text.size(); length += 487) {
    try {
      const Timeline timeline = timeline::chrome_json(text.substr(0, length), "input");
      EXPECT_THAT(timeline.warnings, Not(IsEmpty())) << length;
      (void)timeline::analyze(timeline);
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
  EXPECT_THROW((void)timeline::read_chrome_json("/nowhere/trace.json"), storage::ReadError);
  EXPECT_THROW((void)timeline::read_chrome_json("/tmp"), storage::ReadError);
}

TEST(ChromeReader, leaves_odd_events_out_and_says_so) {
  const Timeline timeline = of_events(
      R"({"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"good"},{"ph":"X","pid":1,"tid":1,"dur":1,"name":"no time"},)"
      R"({"ph":"X","pid":1,"tid":1,"ts":1,"dur":-1,"name":"negative"},{"ph":"X","tid":1,"ts":1,"dur":1},7,)"
      R"({"ph":"X","pid":1,"tid":1,"ts":9223372036854775807,"dur":1,"name":"far"},)"
      R"({"ph":"X","pid":1,"tid":1,"ts":1e300,"dur":1,"name":"far"},{"ph":"X","pid":1,"tid":1,"ts":"nan","dur":1})");
  EXPECT_THAT(timeline.slices, SizeIs(1));
  EXPECT_THAT(
      timeline.warnings,
      ElementsAre("input: 7 events without a usable time, length or place were left out, the first at byte 72."));
  (void)timeline::analyze(timeline);
}

/// Of each slice "track: name from+duration kind".
std::vector<std::string> slices_of(const Timeline& timeline) {
  std::vector<std::string> all;
  for (const auto& slice : timeline.slices)
    all.push_back(timeline::track_name(timeline.tracks[slice.track]) + ": " + timeline.names.text(slice.name) + " " +
                  std::to_string(slice.start_ns) + "+" + std::to_string(slice.duration_ns) + " " +
                  std::string(timeline::name_of(slice.kind)));
  return all;
}

std::string packed(const std::string& text) {
  std::string out(compressBound(static_cast<uLong>(text.size())) + 32, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// A file of these bytes, gone with its test.
class Scratch {
 public:
  Scratch(const std::string& name, const std::string& bytes)
      : path(std::filesystem::temp_directory_path() / ("gpubench-" + std::to_string(::getpid()) + "-" + name)) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~Scratch() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

/// Events with all that makes it hard to see where one ends.
std::string hard_events(int count) {
  std::string text = "{\"deviceProperties\":[{\"a\":{\"b\":\"}]\"}}],\"traceEvents\" : [";
  for (int i = 0; i < count; ++i)
    text += (i > 0 ? ",\n  " : "") + std::string("{\"ph\":\"X\",\"pid\":1,\"tid\":") + std::to_string(i % 3) +
            ",\"ts\":" + std::to_string(i) +
            ".5,\"dur\":1,\"args\":{\"l\":[{\"x\":1},{\"y\":[{}]}],\"s\":\"}, {\\\"\"}," +
            "\"name\":\"k{lambda(int)#1}, {" + std::string(static_cast<std::size_t>(i % 7), '}') + "\\\\\"}";
  return text + "], \"distributedInfo\": {\"rank\": 3}, \"more\": {\"traceEvents\":[1]}}";
}

TEST(ChromeReader, reads_the_same_however_its_windows_cut_the_text) {
  const std::string text = hard_events(400);
  const auto whole = slices_of(read(text));
  ASSERT_THAT(whole, SizeIs(400));
  EXPECT_EQ(whole[3], "thread 0: k{lambda(int)#1}, {}}}\\ 3000+1000 other");
  for (const std::size_t window : {64U, 100U, 173U, 1000U, 4096U}) {
    const auto bytes = timeline::bytes_of(text);
    const Timeline timeline = timeline::chrome_json(*bytes, "input", window);
    EXPECT_EQ(slices_of(timeline), whole) << window;
    EXPECT_EQ(timeline.processes[0].rank, 3) << window;
    EXPECT_THAT(timeline.warnings, IsEmpty()) << window;
  }
}

TEST(ChromeReader, takes_control_characters_between_tokens_however_it_is_cut) {
  std::string text = R"({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "a"},
                        {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 2,@@ "name": "b"}]})";
  std::ranges::replace(text, '@', '\0');
  EXPECT_EQ(timeline::chrome_json(text, "input").slices.size(), 2U);
  EXPECT_EQ(timeline::chrome_json(*timeline::bytes_of(text), "input", 64).slices.size(), 2U);
}

TEST(ChromeReader, takes_bytes_that_are_not_utf8_and_control_characters) {
  const Timeline timeline = of_events(
      "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1,\"name\":\"caf\xe9 \x01\"},"
      "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"\xc3\xa9\"},"
      "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":NaN,\"name\":\"nan\"}");
  EXPECT_THAT(slices_of(timeline), ElementsAre("thread 1: caf?   0+1000 other", "thread 1: \xc3\xa9 1000+1000 other"));
  EXPECT_THAT(timeline.warnings, ElementsAre(HasSubstr("1 event without a usable time")));
}

TEST(ChromeReader, says_the_byte_where_a_text_breaks_off) {
  const std::string text = R"({"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"a"},{"ph":"X","pid")";
  const Timeline timeline = read(text);
  EXPECT_THAT(timeline.slices, SizeIs(1));
  EXPECT_THAT(timeline.warnings, ElementsAre("input ends in the middle or is damaged after 1 event (the event at byte "
                                             "69 is not whole); what came before is kept."));
  std::string bytes = packed(content(kept / "kineto.json"));
  const std::string half = std::to_string(bytes.size() / 2);
  const Scratch file("cut.gz", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(timeline::read_chrome_json(file.path).warnings,
              ElementsAre(HasSubstr("(its gzip data break off at byte " + half + "); what came before is kept.")));
  for (std::size_t i = 0; i < 100; ++i) bytes[bytes.size() / 2 + i] = '\0';
  const Scratch bad("damaged.gz", bytes);
  EXPECT_THAT(timeline::read_chrome_json(bad.path).warnings,
              ElementsAre(HasSubstr("its gzip data are damaged at byte")));
  const Scratch nothing("nothing.gz", packed("").substr(0, 5));
  EXPECT_THROW((void)timeline::read_chrome_json(nothing.path), storage::ReadError);
}

TEST(ChromeReader, says_where_another_trace_follows_in_one_file) {
  const std::string events = R"([{"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"a"}])";
  for (const std::string& one :
       {events, "{\"traceEvents\":" + events + "}", "{\"traceEvents\":" + events + ",\"otherData\":{\"dropped\":0}}"}) {
    EXPECT_THAT(read(one + " \n").warnings, IsEmpty());
    const Timeline timeline = read(one + one);
    EXPECT_THAT(timeline.slices, SizeIs(1));
    EXPECT_THAT(timeline.warnings,
                ElementsAre("input goes on behind the end of its trace, at byte " + std::to_string(one.size()) +
                            ": that was not read. Give each trace a file of its own."));
  }
}

TEST(ChromeReader, unpacks_zstandard_or_says_that_it_cannot) {
  try {
    EXPECT_THAT(timeline::read_chrome_json(kept / "small.json.zst").slices, SizeIs(23));
  } catch (const storage::ReadError& error) {
    EXPECT_THAT(error.what(), HasSubstr("which this gpubench was built without; unpack it with 'zstd -d'"));
  }
}

TEST(ChromeReader, pairs_begins_and_ends_in_any_order) {
  const auto event = [](const char* phase, int time, const char* name) {
    return std::string("{\"ph\":\"") + phase + "\",\"pid\":1,\"tid\":1,\"ts\":" + std::to_string(time) +
           ",\"name\":\"" + name + "\"}";
  };
  const Timeline timeline = of_events(event("E", 30, "") + "," + event("E", 20, "") + "," + event("B", 5, "inner") +
                                      "," + event("B", 0, "outer"));
  EXPECT_THAT(slices_of(timeline), ElementsAre("thread 1: outer 0+30000 other", "thread 1: inner 5000+15000 other"));
  EXPECT_THAT(timeline.warnings, IsEmpty());
}

TEST(ChromeReader, reads_async_events_counters_flows_and_instants) {
  const Timeline timeline = of_events(
      R"({"ph":"b","cat":"net","id":"0x1","pid":1,"tid":1,"ts":0,"name":"get"},)"
      R"({"ph":"b","cat":"net","id":"0x2","pid":1,"tid":1,"ts":1,"name":"put"},)"
      R"({"ph":"e","cat":"net","id":"0x1","pid":1,"tid":2,"ts":5,"name":"get"},)"
      R"({"ph":"e","cat":"net","id2":{"local":"0x2"},"pid":1,"tid":2,"ts":"9","name":"put"},)"
      R"({"args":{"used":2.5,"free":1},"ph":"C","pid":1,"tid":1,"ts":3,"name":"heap"},)"
      R"({"ph":"C","pid":1,"ts":4,"name":"heap","args":{"used":3,"free":0.5}},)"
      R"({"ph":"X","pid":1,"tid":1,"ts":10,"dur":10,"name":"outer"},{"ph":"X","pid":1,"tid":1,"ts":12,"dur":2,"name":"inner"},)"
      R"({"ph":"X","pid":1,"tid":2,"ts":20,"dur":1,"name":"later"},{"ph":"X","pid":1,"tid":3,"ts":30,"dur":5,"name":"last"},)"
      R"({"ph":"s","cat":"c","id":7,"pid":1,"tid":1,"ts":13,"name":"go"},)"
      R"({"ph":"t","cat":"c","id":7,"pid":1,"tid":2,"ts":20,"name":"go"},)"
      R"({"ph":"f","cat":"c","id":7,"pid":1,"tid":3,"ts":25,"name":"go"},)"
      R"({"ph":"i","s":"t","pid":1,"tid":1,"ts":11,"name":"now"},{"ph":"i","pid":9,"tid":9,"ts":1,"name":"alone"},)"
      R"({"ph":"i","s":"g","pid":"Traces","tid":"Trace PyTorch Profiler","ts":1,"name":"Iteration Start"})");
  EXPECT_THAT(slices_of(timeline), ElementsAre("async net: get 0+5000 other", "async net: put 1000+8000 other",
                                               "thread 1: outer 10000+10000 other", "thread 1: inner 12000+2000 other",
                                               "thread 2: later 20000+1000 other", "thread 3: last 30000+5000 other"));
  ASSERT_THAT(timeline.counters, SizeIs(2));
  EXPECT_EQ(timeline.counters[0].name, "heap used");
  EXPECT_EQ(timeline.counters[0].samples[1].time_ns, 4000);
  EXPECT_EQ(timeline.counters[1].samples[1].value, 0.5);
  ASSERT_THAT(timeline.flows, SizeIs(2));
  EXPECT_EQ(std::pair(timeline.flows[0].from, timeline.flows[0].to), std::pair(3U, 4U));
  EXPECT_EQ(std::pair(timeline.flows[1].from, timeline.flows[1].to), std::pair(4U, 5U));
  ASSERT_THAT(timeline.marks, SizeIs(2));
  EXPECT_EQ(timeline.names.text(timeline.marks[0].name), "alone");
  EXPECT_EQ(track_name(timeline.tracks[timeline.marks[0].track]), "thread 9");
  EXPECT_EQ(timeline.names.text(timeline.marks[1].name), "now");
  EXPECT_THAT(timeline.warnings, IsEmpty());
}

TEST(ChromeReader, knows_the_streams_of_xla) {
  const Timeline timeline = timeline::read_chrome_json(kept / "xla.json");
  EXPECT_THAT(
      slices_of(timeline),
      ElementsAre("python: PjitFunction(step) 0+50000 other", "python: cuMemcpyHtoDAsync_v2 10000+4500 transfer",
                  "python: cuLaunchKernel 20000+3750 launch", "XLA Ops: fusion.3 110000+131000 other",
                  "cuda:1 Stream #15(MemcpyH2D): MemcpyH2D 110125+8500 copy",
                  "cuda:1 Stream #14(Compute): loop_fusion_3 210500+30250 kernel"));
  EXPECT_THAT(timeline.warnings, IsEmpty());
  ASSERT_THAT(timeline.processes, SizeIs(1));
  EXPECT_EQ(timeline.processes[0].name, "/host:CPU");
  EXPECT_EQ(timeline.slices[4].detail, 4096);
  ASSERT_THAT(timeline.shapes, SizeIs(1));
  EXPECT_EQ(timeline.shapes[0].grid[0], 128);
  EXPECT_EQ(timeline.shapes[0].registers, 32);
  const Program program = timeline::analyze(timeline);
  ASSERT_THAT(program.gpus, SizeIs(1));
  EXPECT_EQ(program.gpus[0].device, "cuda:1");
  EXPECT_DOUBLE_EQ(program.gpus[0].busy_seconds, 38.75e-6);
  EXPECT_EQ(program.gpus[0].launches, 1);
}

TEST(ChromeReader, reads_what_viztracer_writes) {
  const Timeline timeline = timeline::read_chrome_json(kept / "viztracer.json");
  EXPECT_THAT(timeline.slices, SizeIs(23));
  EXPECT_THAT(slices_of(timeline), Contains("MainThread: leaf (prog.py:2) 9163+2433 other"));
  EXPECT_EQ(timeline.processes[0].name, "MainProcess");
  EXPECT_THAT(timeline.warnings, IsEmpty());
}

TEST(ChromeReader, keeps_all_before_a_quote_that_is_lost) {
  for (const int damaged : {1, 40, 700, 1990}) {
    std::string events;
    for (int i = 0; i < 2000; ++i)
      events += (i > 0 ? "," : "") + std::string(R"({"ph":"X","pid":1,"tid":1,"dur":1,"name":)") +
                (i == damaged ? "a" : "\"a") + R"(","ts":)" + std::to_string(i) + "}";
    const Timeline timeline = of_events(events);
    EXPECT_THAT(timeline.slices, SizeIs(damaged));
    EXPECT_THAT(timeline.warnings, Contains(HasSubstr("what came before is kept.")));
  }
}

TEST(ChromeReader, is_not_led_astray_by_depth) {
  const std::size_t deep = 1'000'000;
  std::string nested;
  for (std::size_t i = 0; i < deep; ++i) nested += "{\"a\":";
  nested += "1" + std::string(deep, '}');
  const std::string good = R"({"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"good"})";
  EXPECT_THAT(
      of_events(R"({"ph":"X","pid":1,"tid":1,"ts":5,"dur":1,"name":"deep","args":)" + nested + "}," + good).slices,
      SizeIs(2));
  EXPECT_THAT(of_events(std::string(deep, '[') + std::string(deep, ']') + "," + good).slices, SizeIs(1));
  EXPECT_THAT(of_events(good + "," + std::string(deep, '[')).warnings,
              ElementsAre(HasSubstr("the event at byte 72 is not whole")));
}

TEST(ChromeReader, takes_events_without_names_and_with_ids_that_repeat) {
  const Timeline timeline = of_events(
      R"({"ph":"X","pid":1,"tid":1,"ts":0,"dur":9},{"ph":"X","pid":1,"tid":2,"ts":5,"dur":9,"name":"b"},)"
      R"({"ph":"s","cat":"c","id":7,"pid":1,"tid":1,"ts":1,"name":"go"},{"ph":"s","cat":"c","id":7,"pid":1,"tid":1,"ts":2,"name":"go"},)"
      R"({"ph":"f","bp":"e","cat":"c","id":7,"pid":1,"tid":2,"ts":6,"name":"go"},{"ph":"f","bp":"e","cat":"c","id":7,"pid":1,"tid":2,"ts":7,"name":"go"},)"
      R"({"ph":"b","cat":"a","id":1,"pid":1,"tid":1,"ts":1,"name":"x"},{"ph":"b","cat":"a","id":1,"pid":1,"tid":1,"ts":2,"name":"y"},)"
      R"({"ph":"e","cat":"a","id":1,"pid":1,"tid":1,"ts":3},{"ph":"e","cat":"a","id":1,"pid":1,"tid":1,"ts":4})");
  EXPECT_THAT(slices_of(timeline), ElementsAre("thread 1:  0+9000 other", "async a: x 1000+3000 other",
                                               "async a: y 2000+1000 other", "thread 2: b 5000+9000 other"));
  EXPECT_THAT(timeline.flows, SizeIs(1));
  EXPECT_THAT(timeline.warnings, ElementsAre("input: 1 slice has no name."));
}

TEST(ChromeReader, keeps_times_beyond_what_a_double_holds) {
  const Timeline timeline =
      of_events(R"({"ph":"X","pid":1,"tid":1,"ts":1790857026000000.123,"dur":0.001,"name":"a"},)"
                R"({"ph":"X","pid":1,"tid":1,"ts":1790857026000000.1245,"dur":1.5e-2,"name":"b"},)"
                R"({"ph":"X","pid":1,"tid":1,"ts":1.790857026000000126E15,"dur":"25E+2","name":"c"})");
  EXPECT_EQ(timeline.base_ns, 1'790'857'026'000'000'123);
  EXPECT_THAT(slices_of(timeline),
              ElementsAre("thread 1: a 0+1 other", "thread 1: b 2+15 other", "thread 1: c 3+2500000 other"));
}

TEST(ChromeReader, knows_the_categories_of_older_kinetos_and_of_other_accelerators) {
  const timeline::Timeline timeline = timeline::chrome_json(
      R"({"traceEvents":[
{"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1,"dur":2,"args":{"correlation":7}},
{"ph":"X","cat":"Kernel","name":"_Z5saxpyi","pid":0,"tid":7,"ts":5,"dur":4,"args":{"stream":7,"correlation":7}},
{"ph":"X","cat":"mtia_ccp_events","name":"gif_merge","pid":17,"tid":3774,"ts":20,"dur":4,"args":{"stream":108}},
{"ph":"X","cat":"mtia_ccp_events","name":"event_wait","pid":17,"tid":3774,"ts":30,"dur":4,"args":{"stream":108}}]})",
      "old");
  ASSERT_EQ(timeline.slices.size(), 4U);
  EXPECT_EQ(timeline.slices[0].kind, timeline::SliceKind::launch);
  EXPECT_EQ(timeline.slices[1].kind, timeline::SliceKind::kernel);
  EXPECT_EQ(timeline.names.text(timeline.slices[1].name), "saxpy(int)");
  EXPECT_EQ(timeline.slices[2].kind, timeline::SliceKind::kernel);
  EXPECT_EQ(timeline.tracks[timeline.slices[2].track].device, 17);
  EXPECT_EQ(timeline.slices[3].kind, timeline::SliceKind::other) << "it waits";
}

TEST(ChromeReader, says_that_it_does_not_know_whose_the_kernels_of_several_processes_are) {
  const std::string kernel =
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20,"dur":5,"args":{"device":0,"stream":7,"correlation":1}})";
  const auto launch = [](int process) {
    return fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":{},"tid":1,"ts":10,"dur":5,"args":{{"correlation":1}}}})",
        process);
  };
  const auto warnings = [](const std::string& events) { return of_events(events).warnings; };
  EXPECT_THAT(warnings(launch(100) + "," + launch(200) + "," + kernel),
              ElementsAre(HasSubstr("2 processes launch work, and the trace does not say whose each kernel is: all is "
                                    "taken for that of process 100. Give one file of each process.")));
  EXPECT_THAT(warnings(launch(100) + "," + kernel), IsEmpty());
}

TEST(ChromeReader, shows_amds_kernels_of_bfloat16_as_in_the_source) {
  const auto shown = [](const std::string& name) {
    const timeline::Timeline timeline =
        timeline::chrome_json(R"({"traceEvents":[{"ph":"X","cat":"kernel","name":")" + name +
                                  R"(","pid":0,"tid":7,"ts":5,"dur":4,"args":{"stream":7,"correlation":7}}]})",
                              "rocm");
    return timeline.names.text(timeline.slices.at(0).name);
  };
  EXPECT_EQ(shown("_ZN5aiter4normIDF16bLi64EEEvPT_S2_"),
            "void aiter::norm<std::bfloat16_t, 64>(std::bfloat16_t*, std::bfloat16_t*)");
  // An argument that the demangler does not know (Tn, of constrained templates) costs the arguments alone.
  EXPECT_EQ(
      shown("_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_"
            "PS4_i"),
      "sgl_hip::activation::act_and_mul_kernel<14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i>(...)");
  EXPECT_EQ(shown("_ZN2ck12_GLOBAL__N_14gemmITnjLj4EEEvv"), "ck::(anonymous namespace)::gemm<TnjLj4EEEvv>(...)");
  EXPECT_EQ(shown("_ZN99999999999999999999ck"), "_ZN99999999999999999999ck");
  EXPECT_EQ(shown("_ZDF16b"), "_ZDF16b");
  EXPECT_EQ(shown("DF16b"), "DF16b");
}

}  // namespace
}  // namespace gpubench
