// SPDX-License-Identifier: Apache-2.0
#include "timeline/writers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/storage/storage.h"
#include "tests/reports/golden.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/correlations.h"
#include "timeline/names.h"
#include "timeline/readers.h"

namespace gpubench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Sample;
using ::testing::SizeIs;
using timeline::SliceKind;
using timeline::Timeline;

std::string chrome(const Timeline& timeline) {
  std::string text;
  timeline::write_chrome_json(timeline, [&](std::string_view part) { text += part; });
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
  testing::expect_golden(chrome(sample().timeline), std::filesystem::path(GPUBENCH_GOLDEN) / "chrome.json");
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

TEST(Writers, draw_flows_between_slices_and_marks) {
  Sample any;
  any.slice(SliceKind::range, any.stream, 300, 400, "to");
  any.slice(SliceKind::range, any.thread, 100, 200, "from");
  const std::uint32_t name = any.timeline.names.number("tile");
  any.timeline.flows.push_back({.from = 1, .to = 0, .name = name});
  any.timeline.marks.push_back({.time_ns = 50, .name = name, .track = any.thread});
  any.sorted();
  std::map<std::string, double> times;
  const auto json = nlohmann::json::parse(chrome(any.timeline));
  for (const auto& event : json["traceEvents"])
    if (event["name"] == "tile") times[event["ph"]] = event["ts"];
  EXPECT_THAT(times, ElementsAre(std::pair("f", 0.3), std::pair("i", 0.05), std::pair("s", 0.1)));
}

/// All that a timeline tells, but for memory, which the formats hold as counters.
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
  const auto facts = facts_of(timeline);
  const Timeline from_chrome = timeline::chrome_json(chrome(timeline), "input");
  EXPECT_THAT(from_chrome.warnings, ::testing::IsEmpty());
  // A byte that is no UTF-8 is another one there.
  const auto without_hostile = [](std::vector<std::string> all) {
    for (std::string& one : all)
      if (const auto at = one.find("k\""); at != std::string::npos) one.replace(at, one.find("<b>") - at, "");
    std::ranges::sort(all);
    return all;
  };
  EXPECT_THAT(without_hostile(facts_of(from_chrome)), ::testing::ElementsAreArray(without_hostile(facts)));
  EXPECT_EQ(from_chrome.base_ns + from_chrome.slices[0].start_ns, timeline.base_ns + timeline.slices[0].start_ns);
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

TEST(Writers, write_whole_files_and_say_why_a_file_cannot_be_written) {
  const auto folder = std::filesystem::temp_directory_path() / ("gpubench-writers-" + std::to_string(::getpid()));
  const auto content = [&](const char* name) {
    timeline::write(sample().timeline, folder / name);
    std::ifstream stream(folder / name, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(stream), {}};
  };
  EXPECT_EQ(content("a.json"), chrome(sample().timeline));
  EXPECT_THROW(timeline::write(sample().timeline, folder), storage::WriteError);
  std::filesystem::remove_all(folder);
}

TEST(Writers, write_an_empty_timeline) { EXPECT_THAT(nlohmann::json::parse(chrome({}))["traceEvents"], SizeIs(1)); }

}  // namespace
}  // namespace gpubench
