// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/flame.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/timeline/sample_timeline.h"
#include "timeline/analyses/rows.h"

namespace gpubench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::Sample;
using ::testing::UnorderedElementsAre;
using timeline::FlameGraph;
using timeline::FlameNode;
using timeline::FlameOptions;
using timeline::FlameWeight;
using timeline::SliceKind;

using Times = std::pair<std::int64_t, std::int64_t>;

const FlameOptions whole = {.small_kernel_share = 0.0, .by_thread = false};

/// "all;outer;inner" to {self, total}, of one weight.
std::map<std::string, std::pair<std::int64_t, std::int64_t>> times(const FlameGraph& graph, FlameWeight weight) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> result;
  std::vector<std::string> paths;
  for (const FlameNode& node : graph.nodes) {
    paths.push_back(node.parent == FlameNode::no_parent ? graph.name(node)
                                                        : paths[node.parent] + ";" + graph.name(node));
    EXPECT_TRUE(result.emplace(paths.back(), std::pair(node.self(weight), node.total(weight))).second) << paths.back();
  }
  return result;
}

std::int64_t count_of(const FlameGraph& graph, std::string_view name) {
  std::int64_t count = 0;
  for (const FlameNode& node : graph.nodes)
    if (graph.name(node) == name) count += node.count;
  return count;
}

TEST(Flame, StacksByContainment) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 100, "main");
  sample.slice(SliceKind::other, sample.thread, 10, 40, "load");
  sample.slice(SliceKind::other, sample.thread, 20, 30, "parse");
  sample.slice(SliceKind::other, sample.thread, 40, 50, "load");
  EXPECT_THAT(times(timeline::flame(sample.sorted(), whole), FlameWeight::host),
              UnorderedElementsAre(Pair("all", Pair(0, 100)), Pair("all;main", Pair(60, 100)),
                                   Pair("all;main;load", Pair(30, 40)), Pair("all;main;load;parse", Pair(10, 10))));
}

TEST(Flame, SlicesThatCrossAreSplitAndNothingCountsTwice) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 10, "a");
  sample.slice(SliceKind::other, sample.thread, 5, 15, "b");
  sample.slice(SliceKind::other, sample.thread, 8, 12, "c");
  const FlameGraph graph = timeline::flame(sample.sorted(), whole);
  EXPECT_THAT(
      times(graph, FlameWeight::host),
      UnorderedElementsAre(Pair("all", Pair(0, 15)), Pair("all;a", Pair(5, 10)), Pair("all;a;b", Pair(3, 5)),
                           Pair("all;a;b;c", Pair(2, 2)), Pair("all;b", Pair(3, 5)), Pair("all;b;c", Pair(2, 2))));
  EXPECT_EQ(count_of(graph, "b"), 1);
  EXPECT_EQ(count_of(graph, "c"), 1);
}

TEST(Flame, OfEqualStartsTheLongerIsOutsideAndZeroLengthsCount) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 5, "short");
  sample.slice(SliceKind::other, sample.thread, 0, 9, "long");
  sample.slice(SliceKind::other, sample.thread, 3, 3, "mark");
  sample.slice(SliceKind::other, sample.thread, 9, 9, "mark");
  const FlameGraph graph = timeline::flame(sample.sorted(), whole);
  EXPECT_THAT(
      times(graph, FlameWeight::host),
      UnorderedElementsAre(Pair("all", Pair(0, 9)), Pair("all;long", Pair(4, 9)), Pair("all;long;short", Pair(5, 5)),
                           Pair("all;long;short;mark", Pair(0, 0)), Pair("all;mark", Pair(0, 0))));
  EXPECT_EQ(count_of(graph, "mark"), 2);
}

TEST(Flame, KernelsLieBelowWhatLaunchedThem) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 50, "step");
  sample.kernel(10, 12, 20, 320);
  sample.kernel(30, 32, 320, 420);
  sample.kernel(60, 62, 420, 430, "other");
  sample.slice(SliceKind::copy, sample.stream, 500, 507, "unknown launch");
  const FlameGraph graph = timeline::flame(sample.sorted(), whole);
  EXPECT_EQ(graph.natural_weight(), FlameWeight::gpu);
  EXPECT_THAT(
      times(graph, FlameWeight::gpu),
      UnorderedElementsAre(
          Pair("all", Pair(0, 417)), Pair("all;step", Pair(0, 400)), Pair("all;step;cudaLaunchKernel", Pair(0, 400)),
          Pair("all;step;cudaLaunchKernel;saxpy", Pair(400, 400)), Pair("all;cudaLaunchKernel", Pair(0, 10)),
          Pair("all;cudaLaunchKernel;other", Pair(10, 10)), Pair("all;unknown launch", Pair(7, 7))));
  EXPECT_EQ(times(graph, FlameWeight::host).at("all"), Times(0, 52)) << "host time is that of threads alone";
  EXPECT_EQ(count_of(graph, "saxpy"), 2);
}

TEST(Flame, ShortFramesAndDeepOnesLeaveTheirTimeToTheirCallers) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 100, "main");
  sample.slice(SliceKind::other, sample.thread, 10, 90, "middle");
  sample.slice(SliceKind::other, sample.thread, 20, 22, "short");
  sample.slice(SliceKind::other, sample.thread, 30, 70, "deep");
  FlameOptions options = whole;
  options.min_duration_ns = 3;
  EXPECT_THAT(times(timeline::flame(sample.sorted(), options), FlameWeight::host),
              UnorderedElementsAre(Pair("all", Pair(0, 100)), Pair("all;main", Pair(20, 100)),
                                   Pair("all;main;middle", Pair(40, 80)), Pair("all;main;middle;deep", Pair(40, 40))));
  options = whole;
  options.max_depth = 2;
  EXPECT_THAT(times(timeline::flame(sample.sorted(), options), FlameWeight::host),
              UnorderedElementsAre(Pair("all", Pair(0, 100)), Pair("all;main", Pair(20, 100)),
                                   Pair("all;main;middle", Pair(80, 80))));
}

TEST(Flame, SmallKernelsOfOneCallerAreGrouped) {
  Sample sample;
  sample.kernel(0, 1, 10, 10'010, "large");
  for (int i = 0; i < 3; ++i)
    sample.kernel(10 + i, 11 + i, 20'000 + 10 * i, 20'005 + 10 * i, "tiny" + std::to_string(i));
  FlameOptions options = whole;
  options.small_kernel_share = 0.001;
  const FlameGraph graph = timeline::flame(sample.sorted(), options);
  const auto gpu = times(graph, FlameWeight::gpu);
  EXPECT_EQ(gpu.at("all"), Times(0, 10'015));
  EXPECT_EQ(gpu.at("all;cudaLaunchKernel;large"), Times(10'000, 10'000));
  EXPECT_EQ(gpu.at("all;cudaLaunchKernel;3 other kernels"), Times(15, 15));
  EXPECT_EQ(gpu.size(), 4U);
  EXPECT_EQ(count_of(graph, "3 other kernels"), 3);
}

TEST(Flame, ThreadsHaveFramesOfTheirOwnUnlessLaidTogether) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 10, "work");
  const FlameGraph graph = timeline::flame(sample.sorted());
  EXPECT_EQ(graph.nodes.size(), 3U);
  EXPECT_THAT(graph.name(graph.nodes[1]), HasSubstr("thread"));
}

TEST(Flame, DiffMatchesByPath) {
  Sample before, after;
  before.slice(SliceKind::other, before.thread, 0, 100, "main");
  before.slice(SliceKind::other, before.thread, 10, 40, "load");
  before.slice(SliceKind::other, before.thread, 50, 60, "gone");
  after.slice(SliceKind::other, after.thread, 0, 80, "main");
  after.slice(SliceKind::other, after.thread, 5, 65, "load");
  after.slice(SliceKind::other, after.thread, 70, 75, "load");
  const auto diff =
      timeline::diff(timeline::flame(before.sorted(), whole), timeline::flame(after.sorted(), whole), FlameWeight::host);
  std::map<std::string, std::vector<std::int64_t>> found;
  for (const auto& node : diff.nodes)
    found[diff.names.text(node.name)] = {node.base_self_ns, node.base_total_ns, node.base_count,
                                         node.new_self_ns,  node.new_total_ns,  node.new_count};
  EXPECT_THAT(found["main"], ElementsAre(60, 100, 1, 15, 80, 1));
  EXPECT_THAT(found["load"], ElementsAre(30, 30, 1, 65, 65, 2));
  EXPECT_THAT(found["gone"], ElementsAre(10, 10, 1, 0, 0, 0));
}

TEST(Flame, FoldedTextKeepsTheFormatWhateverTheNames) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 10, "a;b\nc");
  sample.slice(SliceKind::other, sample.thread, 2, 5, "inner");
  const FlameGraph graph = timeline::flame(sample.sorted(), whole);
  EXPECT_EQ(timeline::folded(graph, FlameWeight::host), "all;a b\\nc 7\nall;a b\\nc;inner 3\n");
  EXPECT_THAT(timeline::folded(graph, FlameWeight::gpu), IsEmpty());
}

TEST(Flame, SpeedscopeHasTheShapeOfItsSchema) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 50, "a \"quoted\" step\x01");
  sample.kernel(10, 12, 20, 320);
  const auto json = nlohmann::json::parse(timeline::speedscope(timeline::flame(sample.sorted(), whole), "a.json"));
  EXPECT_EQ(json["$schema"], "https://www.speedscope.app/file-format-schema.json");
  ASSERT_EQ(json["profiles"].size(), 2U);
  EXPECT_EQ(json["profiles"][0]["name"], "GPU time by what launched it");
  for (const auto& profile : json["profiles"]) {
    EXPECT_EQ(profile["type"], "sampled");
    EXPECT_EQ(profile["unit"], "nanoseconds");
    EXPECT_EQ(profile["samples"].size(), profile["weights"].size());
    std::int64_t sum = 0;
    for (const auto& weight : profile["weights"]) sum += weight.get<std::int64_t>();
    EXPECT_EQ(profile["startValue"], 0);
    EXPECT_EQ(profile["endValue"], sum);
    for (const auto& stack : profile["samples"])
      for (const auto& frame : stack) EXPECT_LT(frame.get<std::size_t>(), json["shared"]["frames"].size());
  }
  for (const auto& frame : json["shared"]["frames"]) EXPECT_TRUE(frame["name"].is_string());
}

TEST(Flame, JsonIsNested) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 10'500, "main");
  sample.slice(SliceKind::other, sample.thread, 1000, 3000, "load");
  const auto json = nlohmann::json::parse(timeline::flame_json(timeline::flame(sample.sorted(), whole), FlameWeight::host));
  EXPECT_EQ(json["value"], 10.5);
  EXPECT_EQ(json["children"][0]["self"], 8.5);
  EXPECT_EQ(json["children"][0]["children"][0]["name"], "load");
}

TEST(Flame, ManySlicesThatCrossAndHugeTimesAreBounded) {
  Sample sample;
  for (int i = 0; i < 3000; ++i) sample.slice(SliceKind::other, sample.thread, i, 10'000 + i, "f" + std::to_string(i));
  for (int i = 0; i < 8; ++i) sample.slice(SliceKind::kernel, sample.stream, i, std::int64_t{1} << 61, "long");
  const FlameGraph graph = timeline::flame(sample.sorted());
  EXPECT_LE(graph.nodes.size(), 200'000U);
  EXPECT_EQ(graph.nodes.front().gpu_total_ns, std::numeric_limits<std::int64_t>::max());
}

/// "level: name from-to ..." of each row.
std::vector<std::string> drawn(const timeline::Timeline& timeline, const timeline::RowOptions& options = {}) {
  std::vector<std::string> result;
  for (const timeline::BarRow& row : timeline::rows(timeline, options).rows) {
    std::string text = std::to_string(row.level) + ":";
    for (const timeline::Bar& bar : row.bars)
      text += " " + timeline.names.text(bar.name) + " " + std::to_string(bar.start_ns) + "-" +
              std::to_string(bar.end_ns) + (bar.count > 1 ? "x" + std::to_string(bar.count) : "");
    result.push_back(text);
  }
  return result;
}

TEST(Rows, ThreadsNestAndStreamsGetARowMoreWhereTheyOverlap) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 50, "step");
  sample.slice(SliceKind::other, sample.thread, 5, 30, "op");
  sample.slice(SliceKind::other, sample.thread, 10, 12, "inner");
  sample.slice(SliceKind::other, sample.thread, 25, 60, "crosses");
  sample.slice(SliceKind::other, sample.thread, 31, 32, "in it");
  sample.slice(SliceKind::kernel, sample.stream, 20, 30, "k1");
  sample.slice(SliceKind::kernel, sample.stream, 28, 40, "k2");
  sample.slice(SliceKind::kernel, sample.stream, 35, 45, "k3");
  sample.slice(SliceKind::kernel, sample.stream, 45, 45, "k4");
  EXPECT_THAT(drawn(sample.sorted()), ElementsAre("0: step 0-50", "1: op 5-30", "2: inner 10-12 crosses 25-60",
                                                  "3: in it 31-32", "0: k1 20-30 k3 35-45 k4 45-45", "1: k2 28-40"));
  EXPECT_EQ(timeline::rows(sample.timeline, {.max_levels = 2}).left_out, 2);
}

TEST(Rows, BeyondTheLimitNeighboursBecomeOneBarAndTheirTimeIsKept) {
  Sample sample;
  for (int i = 0; i < 1000; ++i) sample.slice(SliceKind::kernel, sample.stream, 100 * i, 100 * i + 10, "k");
  sample.slice(SliceKind::kernel, sample.stream, 200'000, 300'000, "long");
  const timeline::Rows few = timeline::rows(sample.sorted(), {.max_bars = 100});
  ASSERT_EQ(few.rows.size(), 1U);
  EXPECT_LE(few.rows[0].bars.size(), 100U);
  EXPECT_GT(few.step_ns, 0);
  std::int64_t busy = 0, count = 0, end = 0;
  for (const timeline::Bar& bar : few.rows[0].bars) {
    busy += bar.busy_ns;
    count += bar.count;
    EXPECT_GE(bar.start_ns, end);
    EXPECT_TRUE(bar.count == 1 || bar.end_ns - bar.start_ns <= few.step_ns);
    end = bar.end_ns;
  }
  EXPECT_EQ(busy, 110'000);
  EXPECT_EQ(count, 1001);
  EXPECT_TRUE(timeline::rows(timeline::Timeline()).rows.empty());
}

}  // namespace
}  // namespace gpubench
