// SPDX-License-Identifier: Apache-2.0
#include "timeline/views/flame.h"

#include <map>
#include <string>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

using timeline::FlameGraph;
using timeline::FlameNode;
using timeline::FlameOptions;
using timeline::FlameWeight;

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
  const auto diff = timeline::diff(timeline::flame(before.sorted(), whole), timeline::flame(after.sorted(), whole),
                                   FlameWeight::host);
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

TEST(Flame, TableIsFlatAndEachFrameStandsBehindItsParent) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 10'500, "main");
  for (int i = 0; i < 400; ++i) sample.slice(SliceKind::other, sample.thread, 1000 + i, 3000, "load");
  const ResultTable table = timeline::flame_table(timeline::flame(sample.sorted(), whole), FlameWeight::host);
  ASSERT_GT(table.rows.size(), 400U);
  for (std::size_t i = 1; i < table.rows.size(); ++i) {
    EXPECT_EQ(std::get<std::int64_t>(table.rows[i][0]), static_cast<std::int64_t>(i));
    EXPECT_LT(std::get<std::int64_t>(table.rows[i][1]), static_cast<std::int64_t>(i));
  }
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[1][6]), 10.5e-6);
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[1][5]), 8.5e-6);
}

TEST(Flame, ManySlicesThatCrossAndHugeTimesAreBounded) {
  Sample sample;
  for (int i = 0; i < 3000; ++i) sample.slice(SliceKind::other, sample.thread, i, 10'000 + i, "f" + std::to_string(i));
  for (int i = 0; i < 8; ++i) sample.slice(SliceKind::kernel, sample.stream, i, std::int64_t{1} << 61, "long");
  const FlameGraph graph = timeline::flame(sample.sorted());
  EXPECT_LE(graph.nodes.size(), 200'000U);
  EXPECT_EQ(graph.nodes.front().gpu_total_ns, std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace gpubench
