// SPDX-License-Identifier: Apache-2.0
// Several files as one timeline: formats, ranks, clocks.
#include "timeline/readers.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/storage/storage.h"
#include "tests/in_folder.h"
#include "tests/matchers.h"

namespace gpubench {
namespace {

using timeline::Timeline;

class Timelines : public InFolder {
 protected:
  std::string refusal(const std::vector<std::filesystem::path>& paths) {
    return message_of<storage::ReadError>([&] { (void)timeline::read_timeline(paths); });
  }
};

/// Five collectives, the i-th ending at start + i ms, as one rank saw them.
std::string of_rank(std::int64_t base_ns, std::int64_t start_us, const std::string& rank = "") {
  std::string text = "\n{\"baseTimeNanoseconds\":" + std::to_string(base_ns) + ",";
  if (!rank.empty()) text += "\"distributedInfo\":{\"rank\":" + rank + "},";
  text += "\"traceEvents\":[";
  for (int i = 0; i < 5; ++i) {
    const std::string n = std::to_string(i + 1);
    text += "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":5,\"tid\":5,\"ts\":" +
            std::to_string(start_us + i * 1000) + ",\"dur\":5,\"args\":{\"correlation\":" + n + "}},";
    text += "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":7,\"ts\":" +
            std::to_string(start_us + i * 1000 + 10) + ",\"dur\":90,\"args\":{\"stream\":7,\"correlation\":" + n + "}}";
    text += i < 4 ? "," : "]}";
  }
  return text;
}

constexpr std::int64_t base = 1'790'857'026'000'000'000;

TEST_F(Timelines, of_a_folder_take_ranks_from_traces_or_names_and_leave_out_what_is_none) {
  file("a.bin", of_rank(base, 1000, "1"));
  file("rank_0.json", of_rank(base, 1003));
  file("notes.md", "# text");
  file("settings.json", "{\"a\":1}");
  file(".hidden.json", "{");
  const Timeline timeline = timeline::read_timeline(folder_);
  ASSERT_THAT(timeline.processes, SizeIs(2));
  EXPECT_EQ(timeline.processes[0].rank, 1);
  EXPECT_EQ(timeline.processes[1].rank, 0);
  EXPECT_THAT(timeline.slices, SizeIs(20));
  EXPECT_EQ(timeline.slices[2].start_ns, 10'000);
  EXPECT_EQ(timeline.slices[1].start_ns, 3000);
  EXPECT_EQ(timeline.base_ns, base + 1'000'000);
  EXPECT_THAT(timeline.warnings, ElementsAre(HasSubstr("settings.json: holds no \"traceEvents\"")));
}

TEST_F(Timelines, refuse_two_files_of_one_rank_and_folders_without_a_trace) {
  const auto a = file("a.json", of_rank(base, 0, "3")), b = file("rank3.json", of_rank(base, 0));
  EXPECT_THAT(refusal({a, b}), AllOf(HasSubstr("two traces are of rank 3: "), HasSubstr("a.json and "),
                                     HasSubstr("rank3.json; give one of them")));
  const auto nobody = file("trace.json", of_rank(base, 0));
  EXPECT_THAT(refusal({nobody, folder_ / "." / "trace.json"}),
              HasSubstr("trace.json is given twice; give one file of each rank"));
  std::filesystem::create_directories(folder_ / "empty");
  EXPECT_THAT(refusal({folder_ / "empty"}), HasSubstr("this folder has no trace; give one with files such as"));
  file("empty/settings.json", "[1]");
  file("empty/text", "text");
  EXPECT_THAT(refusal({file("text", "text")}), HasSubstr("is no trace of a kind that gpubench knows"));
  EXPECT_THAT(refusal({folder_ / "none"}), HasSubstr("No such file or directory"));
}

TEST_F(Timelines, say_what_is_wrong_with_files_that_are_empty_packed_twice_or_lines_of_json) {
  const auto packed = [&](const std::string& name, const std::string& text) {
    return file(name, storage::compressed(text));
  };
  EXPECT_THAT(refusal({file("a.json", " \n")}), HasSubstr("a.json: is empty; record"));
  EXPECT_THAT(refusal({packed("b.json.gz", "")}), HasSubstr("b.json.gz: is empty; record"));
  EXPECT_THAT(refusal({packed("c.json.gz", storage::compressed(of_rank(base, 0)))}), HasSubstr("is packed twice"));
  EXPECT_THAT(refusal({file("d.zip", "PK\x03\x04 and more")}), HasSubstr("is a zip archive"));
  const std::string event = R"({"ph":"X","name":"k","pid":1,"tid":1,"ts":1,"dur":2})";
  EXPECT_THAT(refusal({file("e.jsonl", event + "\n" + event + "\n")}), HasSubstr("one JSON object after another"));
  EXPECT_THAT(refusal({file("f.json", event + "\n")}), HasSubstr("holds no \"traceEvents\""));
}

TEST_F(Timelines, put_clocks_right_by_the_ends_of_collectives) {
  const auto a = file("rank0.json", of_rank(base, 1000)), b = file("rank1.json", of_rank(base + 3'200'000, 1000));
  const Timeline timeline = timeline::read_timeline({a, b});
  EXPECT_THAT(timeline.warnings, ElementsAre("The clock of rank1.json is 3.20 ms ahead of that of rank0.json, as the "
                                             "ends of 5 collectives show; its times were moved."));
  EXPECT_EQ(timeline.slices[0].start_ns, 0);
  EXPECT_EQ(timeline.slices[1].start_ns, 0);
  const Timeline near = timeline::read_timeline({a, file("rank2.json", of_rank(base, 1020))});
  EXPECT_THAT(near.warnings, IsEmpty()) << "20 us are no difference of clocks";
  EXPECT_EQ(near.slices[1].start_ns, 10'000 - 0);
  const Timeline undated = timeline::read_timeline({a, file("rank4.json", of_rank(0, 77))});
  EXPECT_THAT(undated.warnings,
              ElementsAre("rank0.json and rank4.json have different clocks; the ends of 5 collectives "
                          "were put at one time."));
  EXPECT_EQ(undated.slices[1].start_ns, 0);
}

TEST_F(Timelines, say_that_they_were_recorded_at_different_times) {
  const std::string event = "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"name\":\"a\"}],";
  const auto a = file("a.json", event + "\"baseTimeNanoseconds\":" + std::to_string(base) + "}");
  const auto b = file("b.json", event + "\"baseTimeNanoseconds\":" + std::to_string(base - 60'000'000'000) + "}");
  const Timeline timeline = timeline::read_timeline({a, b});
  EXPECT_THAT(timeline.warnings,
              ElementsAre("a.json and b.json were not recorded at the same time: 60.0 s lie between them."));
  EXPECT_EQ(timeline.slices[1].start_ns, 60'000'000'000);
}

TEST_F(Timelines, say_that_work_begins_before_its_launch) {
  const auto one = file(
      "a.json",
      R"([{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":5,"ts":10,"dur":5,"args":{"correlation":1}},
    {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":8.5,"dur":3,"args":{"stream":7,"correlation":1}}])");
  EXPECT_THAT(
      timeline::read_timeline(one).warnings,
      ElementsAre(HasSubstr("1 piece of work on a GPU begins before the call that launched it, by up to 1.50 us")));
}

TEST_F(Timelines, ask_another_reader_about_files_of_no_known_format) {
  const auto own = file("x.recording", "GPSPOOL1");
  const Timeline timeline = timeline::read_timeline(own, [&](const std::filesystem::path& asked) {
    EXPECT_EQ(asked, own);
    Timeline one;
    one.dropped = 7;
    return std::optional(one);
  });
  EXPECT_EQ(timeline.dropped, 7);
}

/// Two runs one behind the other, nearly sorted, falling, and few different times: over several of the parts in which
/// slices are sorted.
TEST(Sort, is_stable_and_keeps_the_slices_of_flows) {
  constexpr std::uint32_t count = 70'000;
  const std::vector<std::function<std::int64_t(std::uint32_t)>> shapes = {
      [](std::uint32_t i) { return std::int64_t{i % (count / 2)} * 10; },
      [](std::uint32_t i) { return std::int64_t{i} * 10 + (i % 6 == 0 ? 55 : 0); },
      [](std::uint32_t i) { return std::int64_t{count - i}; },
      [](std::uint32_t i) { return std::int64_t{i * 2654435761U % 7}; },
      [](std::uint32_t i) { return std::int64_t{i * 2654435761U % 1'000'003}; }};
  for (const auto& shape : shapes)
    for (const bool flows : {false, true}) {
      Timeline timeline;
      for (std::uint32_t i = 0; i < count; ++i)
        timeline.slices.push_back({.start_ns = shape(i), .name = i, .duration_ns = i % 3});
      if (flows)
        for (std::uint32_t i = 0; i < count; i += 101) timeline.flows.push_back({i, count - 1 - i, 0});
      auto expected = timeline.slices;
      std::ranges::stable_sort(expected, {},
                               [](const timeline::Slice& one) { return std::pair(one.start_ns, -one.duration_ns); });
      sort(timeline);
      for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(timeline.slices[i].name, expected[i].name) << i;
      for (std::uint32_t i = 0; i < timeline.flows.size(); ++i) {
        ASSERT_EQ(timeline.slices[timeline.flows[i].from].name, i * 101);
        ASSERT_EQ(timeline.slices[timeline.flows[i].to].name, count - 1 - i * 101);
      }
    }
}

}  // namespace
}  // namespace gpubench
