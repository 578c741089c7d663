// SPDX-License-Identifier: Apache-2.0
#include "timeline/structure/range_tree.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/program/program.h"

namespace gpubench {
namespace {

using ::testing::FieldsAre;
constexpr std::int64_t us = 1000;

TEST(Ranges, nest_and_sum_up_the_kernels_launched_in_them) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 100 * us, "step");
  sample.slice(SliceKind::range, sample.ranges, 0, 40 * us, "forward");
  sample.slice(SliceKind::range, sample.ranges, 50 * us, 90 * us, "backward");
  sample.slice(SliceKind::range, sample.ranges, 200 * us, 300 * us, "step");
  sample.kernel(10 * us, 12 * us, 14 * us, 20 * us);      // in step/forward
  sample.kernel(30 * us, 32 * us, 150 * us, 160 * us);    // launched there, runs after
  sample.kernel(45 * us, 47 * us, 170 * us, 180 * us);    // in step alone
  sample.kernel(210 * us, 212 * us, 214 * us, 215 * us);  // in the second step
  sample.kernel(310 * us, 312 * us, 314 * us, 320 * us);  // in none
  const auto ranges = timeline::analyze(sample.sorted()).ranges;
  ASSERT_THAT(ranges, SizeIs(3));
  EXPECT_EQ(ranges[0], (ProgramRange{"", "step", 0, 2, 200e-6, 27e-6, 11e-6, 4}));
  EXPECT_EQ(ranges[1], (ProgramRange{"", "step/forward", 1, 1, 40e-6, 16e-6, 16e-6, 2}));
  EXPECT_EQ(ranges[2], (ProgramRange{"", "step/backward", 1, 1, 40e-6, 0, 0, 0}));
  timeline::StringPool paths;
  std::vector<std::string> of_kernels;
  const auto numbers = timeline::range_paths(sample.timeline, paths);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (sample.timeline.slices[i].kind == SliceKind::kernel)
      of_kernels.push_back(paths.text(numbers[i]));
    else
      EXPECT_EQ(numbers[i], 0);
  EXPECT_THAT(of_kernels, ElementsAre("step/forward", "step/forward", "step", "step", ""));
}

TEST(Ranges, sum_up_the_memory_that_is_taken_in_them) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 100 * us, "step");
  sample.slice(SliceKind::range, sample.ranges, 10 * us, 40 * us, "forward");
  const auto take = [&](std::int64_t at, std::uint64_t address, std::int64_t bytes, const char* call) {
    sample.slice(SliceKind::call, sample.thread, at - us, at + us, call);
    sample.timeline.memory.push_back({.time_ns = at, .address = address, .bytes = bytes});
  };
  take(5 * us, 1, 100, "cudaMalloc");
  take(20 * us, 2, 1000, "cudaMallocAsync_v11020");
  take(30 * us, 2, -1000, "cudaFreeAsync_v11020");
  take(35 * us, 3, 500, "cuMemAlloc_v2");
  take(50 * us, 4, 10, "cudaHostAlloc");
  take(150 * us, 5, 7, "cudaMalloc");                                                // in no range
  sample.timeline.memory.push_back({.time_ns = 60 * us, .address = 6, .bytes = 9});  // of no call
  const auto ranges = timeline::analyze(sample.sorted()).ranges;
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_THAT(std::tie(ranges[0].allocations, ranges[0].allocated_bytes, ranges[0].peak_bytes),
              FieldsAre(4, 1610, 1100));
  EXPECT_THAT(std::tie(ranges[1].allocations, ranges[1].allocated_bytes, ranges[1].peak_bytes),
              FieldsAre(2, 1500, 1000));
}

TEST(Ranges, take_in_launches_of_a_thread_without_any_where_one_thread_has_them) {
  Sample sample;
  const auto backward = sample.track(TrackKind::thread, -1, 2, "thread 2");
  sample.slice(SliceKind::range, sample.ranges, 0, 100 * us, "step");
  sample.slice(SliceKind::launch, backward, 10 * us, 12 * us, "cudaLaunchKernel", 1);
  sample.slice(SliceKind::kernel, sample.stream, 20 * us, 25 * us, "k", 1);
  EXPECT_EQ(timeline::analyze(sample.sorted()).ranges.front().launches, 1);
  const auto third = sample.track(TrackKind::ranges, -1, 3, "ranges of thread 3");
  sample.slice(SliceKind::range, third, 5 * us, 100 * us, "loading");
  for (const ProgramRange& range : timeline::analyze(sample.sorted()).ranges) EXPECT_EQ(range.launches, 0);
}

TEST(Ranges, that_overlap_without_nesting_stay_side_by_side) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 50 * us, "a");
  sample.slice(SliceKind::range, sample.ranges, 40 * us, 100 * us, "b");
  sample.kernel(45 * us, 46 * us, 47 * us, 48 * us);
  sample.kernel(60 * us, 61 * us, 62 * us, 63 * us);
  const auto ranges = timeline::analyze(sample.sorted()).ranges;
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_EQ(ranges[0].path, "a");
  EXPECT_EQ(ranges[1].path, "b");
  EXPECT_EQ(ranges[1].launches, 2);
}

TEST(Ranges, with_many_numbers_at_their_ends_are_one) {
  Sample sample;
  for (int i = 0; i < 20; ++i) {
    sample.slice(SliceKind::range, sample.ranges, i * 100, i * 100 + 50, "step " + std::to_string(i));
    sample.slice(SliceKind::range, sample.ranges, i * 100, i * 100 + 20, "layer " + std::to_string(i % 2));
  }
  sample.slice(SliceKind::range, sample.ranges, 3000, 3050, "ProfilerStep#7");
  const auto ranges = timeline::analyze(sample.sorted()).ranges;
  std::vector<std::string> paths;
  for (const ProgramRange& range : ranges) paths.push_back(range.path);
  EXPECT_THAT(paths, ElementsAre("step *", "step */layer 0", "step */layer 1", "ProfilerStep#*"));
  EXPECT_EQ(ranges[0].count, 20);
}

TEST(Ranges, stay_bounded_whatever_their_names_and_nesting) {
  Sample sample;
  for (int i = 0; i < 20'000; ++i)
    sample.slice(SliceKind::range, sample.ranges, i, 100'000 - i, "r" + std::to_string(i) + "x");
  for (int i = 0; i < 20'000; ++i)
    sample.slice(SliceKind::range, sample.ranges, 200'000 + 2 * i, 200'001 + 2 * i, "s" + std::to_string(i) + "x");
  const auto ranges = timeline::analyze(sample.sorted()).ranges;
  EXPECT_LE(ranges.size(), 8192);
  std::int64_t deepest = 0, single = 0;
  for (const ProgramRange& range : ranges) {
    deepest = std::max(deepest, range.depth);
    if (range.depth == 0) single += range.count;
  }
  EXPECT_LE(deepest, 64);
  EXPECT_EQ(single, 20'001);
}

/// A stream is captured with two kernels in ranges of modules, and the graph launched twice in steps.
TEST(RangePaths, of_works_of_graphs_are_those_of_the_capture_within_those_of_the_launch) {
  for (const bool again : {false, true}) {
    Sample sample;
    const auto capture = [&](std::int64_t at, std::string_view second) {
      sample.slice(SliceKind::call, sample.thread, at, at + 1, "cudaStreamBeginCapture");
      sample.slice(SliceKind::range, sample.ranges, at + 2, at + 10, "net/attn");
      sample.slice(SliceKind::launch, sample.thread, at + 4, at + 5, "cudaLaunchKernel", ++sample.correlation);
      sample.slice(SliceKind::range, sample.ranges, at + 12, at + 20, second);
      sample.slice(SliceKind::launch, sample.thread, at + 14, at + 15, "cudaLaunchKernel", ++sample.correlation);
      sample.slice(SliceKind::call, sample.thread, at + 21, at + 22, "cudaStreamEndCapture");
    };
    capture(0, "net/mlp");
    if (again) capture(30, "net/other");  // as long, of other modules: which of the two is launched is not known
    for (int i = 0; i < 2; ++i) {
      const std::int64_t at = 100 + i * 100;
      sample.slice(SliceKind::range, sample.ranges, at, at + 90, "step");
      sample.slice(SliceKind::launch, sample.thread, at + 5, at + 10, "cudaGraphLaunch", ++sample.correlation);
      for (const auto& [from, name] : {std::pair(20, "gemm"), {40, "relu"}})
        sample.slice(SliceKind::kernel, sample.stream, at + from, at + from + 15, name, sample.correlation).in_graph =
            true;
    }
    timeline::StringPool paths;
    const timeline::Timeline& timeline = sample.sorted();
    const auto of_slice = timeline::range_paths(timeline, paths);
    std::vector<std::string> found;
    for (std::size_t i = 0; i < of_slice.size(); ++i)
      if (timeline.slices[i].kind == SliceKind::kernel) found.push_back(paths.text(of_slice[i]));
    const std::vector<std::string> known = {"step/net/attn", "step/net/mlp", "step/net/attn", "step/net/mlp"};
    EXPECT_EQ(found, again ? std::vector<std::string>(4, "step") : known);
  }
}

/// The same where the source tells which call made what, in another order than it ran in.
TEST(RangePaths, of_works_of_graphs_are_as_the_source_tells) {
  Sample sample;
  sample.slice(SliceKind::call, sample.thread, 0, 1, "cudaStreamBeginCapture");
  for (const auto& [at, range] : {std::pair(2, "attn"), {12, "mlp"}}) {
    sample.slice(SliceKind::range, sample.ranges, at, at + 8, range);
    sample.slice(SliceKind::launch, sample.thread, at + 2, at + 3, "cudaLaunchKernel", ++sample.correlation);
  }
  sample.slice(SliceKind::call, sample.thread, 21, 22, "cudaStreamEndCapture");
  sample.slice(SliceKind::launch, sample.thread, 100, 110, "cudaGraphLaunch", ++sample.correlation);
  for (const int at : {120, 140})
    sample.slice(SliceKind::kernel, sample.stream, at, at + 15, "gemm", sample.correlation).in_graph = true;
  timeline::Timeline timeline = sample.sorted();
  const auto at = [&](std::int64_t start) {
    return static_cast<std::uint32_t>(std::ranges::find(timeline.slices, start, &timeline::Slice::start_ns) -
                                      timeline.slices.begin());
  };
  const std::uint32_t name = timeline.names.number(timeline::capture_flow);
  timeline.flows = {{at(14), at(120), name}, {at(4), at(140), name}};
  timeline::StringPool paths;
  const auto of_slice = timeline::range_paths(timeline, paths);
  EXPECT_EQ(paths.text(of_slice[at(120)]), "mlp");
  EXPECT_EQ(paths.text(of_slice[at(140)]), "attn");
}

}  // namespace
}  // namespace gpubench
