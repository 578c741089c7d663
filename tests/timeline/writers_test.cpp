// SPDX-License-Identifier: Apache-2.0
#include "timeline/writers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/storage/storage.h"
#include "tests/in_folder.h"
#include "tests/matchers.h"
#include "tests/reports/golden.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/input/bytes.h"
#include "timeline/names.h"
#include "timeline/readers.h"
#include "timeline/structure/correlations.h"
#include "timeline/writers/common.h"

namespace gpubench {
namespace {

using timeline::Timeline;

std::string chrome(const Timeline& timeline) {
  std::string text;
  timeline::write_chrome_json(timeline, [&](std::string_view part) { text += part; });
  return text;
}

std::string perfetto(const Timeline& timeline) {
  std::string text;
  timeline::write_perfetto(timeline, [&](std::string_view part) { text += part; });
  return text;
}

constexpr std::string_view hostile = "k\"</script>\\\n\x01\xff<b>";

/// Two kernels that overlap on one stream, a graph of two kernels, a copy, ranges, memory and a counter.
Sample sample() {
  Sample result;
  Timeline& timeline = result.timeline;
  timeline.base_ns = 1'790'857'026'000'000'000;
  timeline.processes[0].rank = 1;
  timeline.shapes.push_back({.grid = {4, 2, 1},
                             .block = {128, 1, 1},
                             .registers = 32,
                             .static_shared_bytes = 16,
                             .dynamic_shared_bytes = 1024,
                             .local_bytes = 0});
  result.slice(SliceKind::range, result.ranges, -1500, 90'001, "step");
  result.slice(SliceKind::range, result.ranges, -1500, 20'000, "forward");
  result.kernel(0, 2000, 4000, 10'000).detail = 0;
  result.kernel(2000, 3000, 9500, 15'000, hostile);
  result.kernel(3000, 5000, 20'000, 30'007, "Memcpy HtoD (Pinned -> Device)", SliceKind::copy).detail = 4096;
  result.slice(SliceKind::launch, result.thread, 6000, 9000, "cudaGraphLaunch", 50);
  for (int i = 0; i < 2; ++i)
    result.slice(SliceKind::kernel, result.other_stream, 40'000 + i * 100, 40'090 + i * 100, "node", 50).in_graph =
        true;
  timeline.memory = {{.time_ns = 100, .address = 1, .bytes = 64}, {.time_ns = 200, .address = 1, .bytes = -64}};
  timeline.counters.push_back({0, "clock", "MHz", {{50, 1980.0}}});
  result.sorted();
  return result;
}

TEST(ChromeJson, is_as_kept) {
  expect_golden(chrome(sample().timeline), std::filesystem::path(GPUBENCH_GOLDEN) / "chrome.json");
}

TEST(ChromeJson, keeps_nanoseconds_and_ties_launches_to_kernels) {
  const auto json = nlohmann::json::parse(chrome(sample().timeline));
  EXPECT_EQ(json["otherData"]["base_ns"], "1790857026000000000");
  std::map<std::string, nlohmann::json> by_name;
  std::map<std::string, int> phases;
  for (const auto& event : json["traceEvents"]) {
    ++phases[event["ph"]];
    if (event["ph"] == "X") by_name[event["name"]] = event;
  }
  EXPECT_THAT(phases, Contains(std::pair<const std::string, int>("s", 4)));
  EXPECT_THAT(phases, Contains(std::pair<const std::string, int>("f", 5)));
  EXPECT_THAT(chrome(sample().timeline), HasSubstr("\"ts\":-1.500,\"dur\":91.501"));
  EXPECT_EQ(by_name["saxpy"]["args"]["grid"], nlohmann::json({4, 2, 1}));
  EXPECT_NE(by_name["saxpy"]["tid"], by_name["k\"</script>\\\n\x01\xef\xbf\xbd<b>"]["tid"]) << "they overlap";
  EXPECT_EQ(by_name["step"]["tid"], by_name["forward"]["tid"]) << "they nest";
}

TEST(ChromeJson, has_all_slices_in_order_whatever_cores_wrote_them) {
  Sample many;
  constexpr int count = 270'000;  // more than are prepared at a time
  for (int i = 0; i < count; ++i) many.slice(SliceKind::range, many.ranges, 100 * i, 100 * i + 1 + i % 150, "r");
  many.sorted();
  std::istringstream text(chrome(many.timeline));
  std::map<std::string, std::string> threads;
  std::int64_t next = 0;
  for (std::string line; std::getline(text, line);) {
    const auto field = [&](const std::string& name) {
      const std::size_t from = line.find("\"" + name + "\":") + name.size() + 3;
      return line.substr(from, line.find_first_of(",}", from) - from);
    };
    if (line.find("\"thread_name\"") != std::string::npos) threads[field("tid")] = line;
    if (!line.starts_with("{\"ph\":\"X\"")) continue;
    ASSERT_EQ(std::llround(std::stod(field("ts")) * 1e3), 100 * next);
    ASSERT_EQ(std::llround(std::stod(field("dur")) * 1e3), 1 + next % 150);
    ASSERT_TRUE(threads.contains(field("tid"))) << "its thread is named before it";
    ASSERT_EQ(line.find("args"), std::string::npos);
    ++next;
  }
  EXPECT_EQ(next, count);
  EXPECT_THAT(threads, SizeIs(2)) << "those that overlap lie side by side";
}

// A reader of protocol buffers, as far as the writer goes.

struct Field {
  std::uint64_t number = 0, value = 0;
  std::string bytes;
};

std::vector<Field> fields_of(std::string_view bytes) {
  std::vector<Field> fields;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(0));
      bytes.remove_prefix(1);
      value |= std::uint64_t{byte & 127U} << shift;
      if (byte < 128) return value;
    }
  };
  while (!bytes.empty()) {
    const std::uint64_t key = varint();
    Field field{.number = key >> 3, .value = 0, .bytes = {}};
    if ((key & 7U) == 0) {
      field.value = varint();
    } else if ((key & 7U) == 1) {
      for (std::size_t i = 0; i < 8; ++i)
        field.value |= std::uint64_t{static_cast<unsigned char>(bytes.at(i))} << 8 * i;
      bytes.remove_prefix(8);
    } else {
      const std::uint64_t size = varint();
      if ((key & 7U) != 2 || size > bytes.size()) throw std::runtime_error("no field of a message");
      field.bytes = bytes.substr(0, size);
      bytes.remove_prefix(size);
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

const Field* find(const std::vector<Field>& fields, std::uint64_t number) {
  for (const Field& field : fields)
    if (field.number == number) return &field;
  return nullptr;
}

struct Read {
  std::map<std::uint64_t, std::string> tracks;
  std::vector<std::string> slices;  // "track: name from to"
  std::map<std::uint64_t, int> flows, ended;
  std::vector<std::string> counters, marks;
  int open = 0;
};

Read read(const std::string& file) {
  Read result;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> names;  // by sequence and number
  std::map<std::uint64_t, std::uint64_t> times;                          // the last of each sequence
  struct Open {
    std::string name;
    std::uint64_t from;
  };
  std::map<std::uint64_t, std::vector<Open>> open;
  for (const Field& one : fields_of(file)) {
    EXPECT_EQ(one.number, 1);
    const auto packet = fields_of(one.bytes);
    const std::uint64_t sequence = find(packet, 10)->value;
    if (const Field* definitions = find(packet, 12))
      for (const Field& kind : fields_of(definitions->bytes))
        if (kind.number == 2)
          names[{sequence, find(fields_of(kind.bytes), 1)->value}] = find(fields_of(kind.bytes), 2)->bytes;
    if (const Field* track = find(packet, 60)) {
      const auto fields = fields_of(track->bytes);
      const Field* name = find(fields, 2);
      result.tracks[find(fields, 1)->value] =
          name != nullptr ? name->bytes : find(fields_of(find(fields, 3)->bytes), 6)->bytes;
    }
    const Field* event = find(packet, 11);
    if (event == nullptr) continue;
    const auto fields = fields_of(event->bytes);
    const std::uint64_t track = find(fields, 11)->value;
    EXPECT_TRUE(result.tracks.contains(track)) << "described before it is used";
    const std::uint64_t time = find(packet, 8)->value;
    EXPECT_GE(time, std::exchange(times[sequence], time)) << "in order in each sequence";
    switch (find(fields, 9)->value) {
      case 1:
        open[track].push_back({names.at({sequence, find(fields, 10)->value}), time});
        ++result.open;
        break;
      case 2: {
        const Open last = open[track].back();
        open[track].pop_back();
        result.slices.push_back(result.tracks[track] + ": " + last.name + " " + std::to_string(last.from) + " " +
                                std::to_string(time));
        --result.open;
        break;
      }
      case 3:
        result.marks.push_back(result.tracks[track] + ": " + names.at({sequence, find(fields, 10)->value}) + " " +
                               std::to_string(time));
        break;
      default: {
        const Field* whole = find(fields, 30);
        result.counters.push_back(result.tracks[track] + " " +
                                  (whole != nullptr ? std::to_string(whole->value)
                                                    : std::to_string(std::bit_cast<double>(find(fields, 44)->value))));
      }
    }
    for (const Field& field : fields) {
      if (field.number == 47) ++result.flows[field.value];
      if (field.number == 48) ++result.ended[field.value];
    }
  }
  return result;
}

TEST(Perfetto, holds_tracks_slices_flows_and_counters) {
  const Read trace = read(perfetto(sample().timeline));
  EXPECT_EQ(trace.open, 0);
  EXPECT_THAT(trace.slices, SizeIs(11));
  EXPECT_THAT(trace.slices, Contains("ranges of thread 1: step 0 91501"));
  EXPECT_THAT(trace.slices, Contains("ranges of thread 1: forward 0 21500"));
  EXPECT_THAT(trace.slices, Contains("cuda:0 stream 7: saxpy 5500 11500"));
  EXPECT_THAT(trace.slices, Contains("cuda:0 stream 7 (2): k\"</script>\\\\n\\x01\xef\xbf\xbd<b> 11000 16500"))
      << "it overlaps";
  EXPECT_THAT(trace.slices, Contains("cuda:0 stream 8: node 41600 41690"));
  EXPECT_THAT(trace.flows, ElementsAre(std::pair(1, 1), std::pair(2, 1), std::pair(3, 1), std::pair(4, 3)));
  EXPECT_THAT(trace.ended, ElementsAre(std::pair(1, 1), std::pair(2, 1), std::pair(3, 1)));
  EXPECT_THAT(trace.counters, ElementsAre("device memory 64", "device memory 0", "clock 1980.000000"));
  EXPECT_THAT(trace.tracks, Contains(std::pair<const std::uint64_t, std::string>(1, "python3 train.py (rank 1)")));
}

TEST(Writers, draw_flows_between_slices_and_marks) {
  Sample any;
  any.slice(SliceKind::range, any.stream, 300, 400, "to");
  any.slice(SliceKind::range, any.thread, 100, 200, "from");
  const std::uint32_t name = any.timeline.names.number("tile");
  any.timeline.flows.push_back({.from = 1, .to = 0, .name = name});
  any.timeline.marks.push_back({.time_ns = 50, .name = name, .track = any.thread});
  any.sorted();
  const Read trace = read(perfetto(any.timeline));
  EXPECT_THAT(trace.slices, ElementsAre("thread 1: from 50 150", "cuda:0 stream 7: to 250 350"));
  EXPECT_THAT(trace.flows, ElementsAre(std::pair(1, 1)));
  EXPECT_THAT(trace.ended, ElementsAre(std::pair(1, 1)));
  EXPECT_THAT(trace.marks, ElementsAre("thread 1: tile 0"));
  std::map<std::string, double> times;
  const auto json = nlohmann::json::parse(chrome(any.timeline));
  for (const auto& event : json["traceEvents"])
    if (event["name"] == "tile") times[event["ph"]] = event["ts"];
  EXPECT_THAT(times, ElementsAre(std::pair("f", 0.3), std::pair("i", 0.05), std::pair("s", 0.1)));
}

/// All that a timeline tells.
std::vector<std::string> facts_of(const Timeline& timeline) {
  std::vector<std::string> facts;
  const auto put = [&](const auto&... values) {
    facts.push_back(fmt::format("{}", fmt::join(std::tuple(values...), " ")));
  };
  const auto track_of = [&](std::uint32_t number) {
    const auto& track = timeline.tracks[number];
    return fmt::format("{}/{} kind {} id {}", track.process, timeline::track_name(track), static_cast<int>(track.kind),
                       track.id);
  };
  for (const auto& process : timeline.processes) put(process.id, process.name, process.rank.value_or(-1));
  for (const auto& slice : timeline.slices) {
    std::string detail = std::to_string(slice.detail);
    if (slice.detail >= 0 && slice.kind <= SliceKind::communication) {
      const auto& shape = timeline.shapes[static_cast<std::size_t>(slice.detail)];
      detail = fmt::format("{} {} {} {} {} {}", fmt::join(shape.grid, "x"), fmt::join(shape.block, "x"),
                           shape.registers, shape.static_shared_bytes, shape.dynamic_shared_bytes, shape.local_bytes);
    }
    if ((slice.kind == SliceKind::other || slice.kind == SliceKind::launch) && slice.detail >= 0)
      detail = timeline.names.text(static_cast<std::uint32_t>(slice.detail));
    put(track_of(slice.track), printable(timeline.names.text(slice.name)), slice.start_ns - timeline.slices[0].start_ns,
        slice.duration_ns, timeline::name_of(slice.kind), slice.correlation, slice.in_graph, slice.counted, detail);
  }
  for (const auto& flow : timeline.flows) put(flow.from, flow.to);
  for (const auto& mark : timeline.marks)
    put(track_of(mark.track), timeline.names.text(mark.name), mark.time_ns - timeline.slices[0].start_ns);
  for (const auto& counter : timeline.counters)
    if (!counter.name.ends_with(" memory"))
      for (const auto& one : counter.samples)
        put(counter.process, counter.name, counter.unit, one.time_ns - timeline.slices[0].start_ns, one.value);
  for (const auto& one : timeline.memory)
    put(one.time_ns - timeline.slices[0].start_ns, one.address, one.bytes, one.process, timeline.names.text(one.source),
        one.device, static_cast<int>(one.kind));
  for (const auto& one : timeline.messages) {
    put(one.process, one.correlation);
    for (const auto& [name, text] : timeline::message_texts) put(name, timeline.names.text(one.*text));
    for (const auto& [name, number] : timeline::message_numbers) put(name, one.*number);
  }
  for (const auto& gpu : timeline.gpus) put(gpu.process, gpu.device, gpu.name);
  return facts;
}

TEST(Writers, write_what_is_read_again_alike) {
  Sample kept = sample();
  Timeline& timeline = kept.timeline;
  timeline.shapes[0].local_bytes = 8;
  timeline.slices[2].counted = true;
  timeline.marks = {{2500, timeline.names.number("now"), kept.thread}};
  timeline.flows = {{2, 6, timeline.names.number("depends")}};
  timeline.tracks[kept.ranges].name = "ranges of thread 1";
  timeline.memory.push_back({.time_ns = 300,
                             .address = 0x7FFF'FFFF'FFFF,
                             .bytes = std::int64_t{1} << 40,
                             .source = timeline.names.number("PyTorch"),
                             .device = 1,
                             .kind = timeline::MemoryKind::pinned});
  timeline.gpus.push_back({0, 0, "NVIDIA \"H200\""});
  kept.slice(SliceKind::other, kept.thread, 50'000, 60'000, "aten::mm").detail =
      timeline.names.number(R"([[8, 256], []]["float", ""])");
  kept.slice(SliceKind::launch, kept.thread, 51'000, 52'000, "hipLaunchKernel", 60).detail =
      timeline.names.number("gemm");
  kept.slice(SliceKind::communication, kept.stream, 60'000, 70'000, "nccl", 60);
  timeline.messages.push_back({.process = 0,
                               .correlation = 60,
                               .collective = timeline.names.number("allreduce"),
                               .type = timeline.names.number("Float"),
                               .group = timeline.names.number("0 [0, 1]"),
                               .elements_in = 1 << 20,
                               .elements_out = -1,
                               .ranks = 2});
  kept.sorted();
  const auto facts = facts_of(timeline);
  const Timeline from_chrome = timeline::chrome_json(chrome(timeline), "input");
  const Timeline from_perfetto = timeline::perfetto_trace(*timeline::bytes_of(perfetto(timeline)), "input");
  EXPECT_THAT(from_chrome.warnings, IsEmpty());
  EXPECT_THAT(from_perfetto.warnings, IsEmpty());
  // A byte that is no UTF-8 is another in each format, and a line break is escaped once.
  const auto without_hostile = [](std::vector<std::string> all) {
    for (std::string& one : all)
      if (const auto at = one.find("k\""); at != std::string::npos) one.replace(at, one.find("<b>") - at, "");
    std::ranges::sort(all);
    return all;
  };
  EXPECT_THAT(without_hostile(facts_of(from_chrome)), ::testing::ElementsAreArray(without_hostile(facts)));
  EXPECT_THAT(without_hostile(facts_of(from_perfetto)), ::testing::ElementsAreArray(without_hostile(facts)));
  EXPECT_EQ(from_chrome.base_ns + from_chrome.slices[0].start_ns, timeline.base_ns + timeline.slices[0].start_ns);
  EXPECT_EQ(from_perfetto.base_ns + from_perfetto.slices[0].start_ns, timeline.base_ns + timeline.slices[0].start_ns);
}

TEST(Writers, keep_what_is_no_threads_from_the_host) {
  Sample kept;
  kept.slice(SliceKind::other, kept.thread, 0, 10'000, "aten::mm");
  kept.slice(SliceKind::other, kept.track(TrackKind::other, -1, 0, "stream 7"), 5000, 90'000, "nccl:all_reduce");
  for (const Timeline& again : {timeline::chrome_json(chrome(kept.sorted()), "input"),
                                timeline::perfetto_trace(*timeline::bytes_of(perfetto(kept.sorted())), "input")}) {
    ASSERT_EQ(again.slices.size(), 2U);
    EXPECT_EQ(again.tracks[again.slices[0].track].kind, TrackKind::thread);
    EXPECT_EQ(again.tracks[again.slices[1].track].kind, TrackKind::other);
  }
}

TEST(Writers, keep_what_is_of_a_process_with_it) {
  Sample kept;
  kept.timeline.processes.push_back({.id = 101, .rank = 1, .local_rank = {}, .name = "python3 train.py"});
  for (const std::uint32_t process : {0U, 1U}) {
    kept.slice(SliceKind::launch, kept.track(TrackKind::thread, -1, 5, "thread 5", process), 0, 10, "cudaLaunchKernel");
    kept.slice(SliceKind::overhead, kept.track(TrackKind::other, -1, 0, "overhead", process), 20, 30, "flush");
    kept.timeline.memory.push_back({.time_ns = 40, .address = 1, .bytes = 64, .process = process});
  }
  const auto processes = [](const Timeline& timeline) {
    std::vector<std::uint32_t> all;
    for (const auto& slice : timeline.slices)
      if (slice.kind == SliceKind::overhead) all.push_back(timeline.tracks[slice.track].process);
    for (const auto& event : timeline.memory) all.push_back(event.process);
    for (const auto& counter : timeline::counters_of(timeline)) all.push_back(counter.process);
    return all;
  };
  for (const Timeline& again : {timeline::chrome_json(chrome(kept.sorted()), "input"),
                                timeline::perfetto_trace(*timeline::bytes_of(perfetto(kept.sorted())), "input")})
    EXPECT_THAT(processes(again), ElementsAre(0, 1, 0, 1, 0, 1));
}

TEST(Writers, hand_over_few_parts_however_many_tracks_there_are) {
  Sample many;
  for (int i = 0; i < 1000; ++i)
    many.slice(SliceKind::other, many.track(TrackKind::thread, -1, i + 10, ""), i, i + 5, "a");
  many.sorted();
  for (const auto& write : {timeline::write_chrome_json, timeline::write_perfetto}) {
    int parts = 0;
    write(many.timeline, [&](std::string_view) { ++parts; });
    EXPECT_LT(parts, 50) << "each is written to the disk before the next";
  }
}

TEST(Writers, lose_no_slice_however_slices_overlap) {
  std::mt19937_64 random(7);
  Sample any;
  const std::vector<std::uint32_t> tracks = {any.thread, any.ranges, any.stream, any.other_stream};
  for (int i = 0; i < 3000; ++i) {
    const auto start = static_cast<std::int64_t>(random() % 20'000);
    any.slice(static_cast<SliceKind>(random() % 4), tracks[random() % 4], start,
              start + static_cast<std::int64_t>(random() % 300), "n" + std::to_string(random() % 9));
  }
  any.sorted();
  const Read trace = read(perfetto(any.timeline));
  EXPECT_EQ(trace.open, 0);
  EXPECT_THAT(trace.slices, SizeIs(3000));
  const auto json = nlohmann::json::parse(chrome(any.timeline));
  std::size_t slices = 0;
  std::map<std::int64_t, std::vector<double>> ends;  // of what is open on a thread
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++slices;
    auto& open = ends[event["tid"].get<std::int64_t>()];
    const double from = event["ts"], to = from + event["dur"].get<double>();
    while (!open.empty() && open.back() <= from + 1e-6) open.pop_back();
    EXPECT_TRUE(open.empty() || to <= open.back() + 1e-6) << "nests in what is open";
    open.push_back(to);
  }
  EXPECT_EQ(slices, 3000);
}

class WrittenFiles : public InFolder {};

TEST_F(WrittenFiles, choose_the_format_by_the_name_and_say_why_a_file_cannot_be_written) {
  for (const auto& [name, text] :
       {std::pair("a.perfetto-trace", perfetto(sample().timeline)), std::pair("a.json", chrome(sample().timeline))}) {
    timeline::write(sample().timeline, folder_ / name);
    EXPECT_EQ(content(folder_ / name), text);
  }
  EXPECT_THROW(timeline::write(sample().timeline, folder_), storage::WriteError);
}

TEST(Writers, write_an_empty_timeline) {
  EXPECT_THAT(nlohmann::json::parse(chrome({}))["traceEvents"], SizeIs(1));
  EXPECT_TRUE(read(perfetto({})).slices.empty());
}

}  // namespace
}  // namespace gpubench
