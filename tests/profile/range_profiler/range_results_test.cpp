// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/range_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpubench::profile {
namespace {

using timeline::SliceKind;
using timeline::TrackKind;

/// A process with two threads, 1 and 2, and a GPU.
class Results : public testing::Test {
 protected:
  Results() {
    timeline_.processes.emplace_back().id = 42;
    for (std::uint32_t thread = 1; thread <= 2; ++thread) {
      timeline_.tracks.push_back({.kind = TrackKind::ranges, .id = thread, .name = {}});
      timeline_.tracks.push_back({.kind = TrackKind::thread, .id = thread, .name = {}});
    }
    timeline_.tracks.push_back({.kind = TrackKind::stream, .device = 0, .id = 7, .name = {}});
  }
  void slice(std::int64_t start, std::int64_t duration, const std::string& name, std::uint32_t track, SliceKind kind,
             std::uint32_t correlation = 0) {
    timeline_.slices.push_back({.start_ns = start,
                                .name = timeline_.names.number(name),
                                .track = track,
                                .duration_ns = duration,
                                .correlation = correlation,
                                .kind = kind});
  }
  void range(std::int64_t start, std::int64_t end, const std::string& name, std::uint32_t thread = 1) {
    slice(start, end - start, name, 2 * thread - 2, SliceKind::range);
  }
  void launch(std::int64_t time, std::initializer_list<std::int64_t> kernels, std::uint32_t thread = 1) {
    slice(time, 1, "cudaLaunchKernel", 2 * thread - 1, SliceKind::launch, ++calls_);
    for (const std::int64_t ns : kernels) slice(time + 5, ns, "kernel", 4, SliceKind::kernel, calls_);
  }
  void memory(std::int64_t time, std::uint64_t address, std::int64_t bytes, timeline::MemoryKind kind = {}) {
    slice(time, 1, "cudaMalloc", 1, SliceKind::call);
    timeline_.memory.push_back({.time_ns = time, .address = address, .bytes = bytes, .kind = kind});
  }
  RangeSummary summary(Reduction reduction = Reduction::sum) {
    sort(timeline_);
    return summarize(timeline_, {.reduction = reduction});
  }

  timeline::Timeline timeline_;
  std::uint32_t calls_ = 0;
};

TEST_F(Results, KernelsCountForTheInnermostRangeAndItsOuterOnes) {
  range(100, 900, "step");
  range(200, 400, "gemm");
  range(500, 501, "empty");
  launch(150, {100});
  launch(210, {200, 500});  // a graph's kernels share a call
  launch(950, {7});
  const auto ranges = summary().ranges;
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].path, "step");
  EXPECT_EQ(ranges[0].kernels, 3);
  EXPECT_EQ(ranges[0].exclusive_kernels, 1);
  EXPECT_EQ(ranges[0].metrics[0].inclusive, 800.0);
  EXPECT_EQ(ranges[0].metrics[0].exclusive, 100.0);
  EXPECT_NEAR(ranges[0].host_ms, 800e-6, 1e-12);
  EXPECT_EQ(ranges[1].path, "step/gemm");
  EXPECT_EQ(ranges[1].depth, 1);
  EXPECT_EQ(ranges[2].metrics[0].inclusive, 0.0);
  EXPECT_EQ(summary(Reduction::max).ranges[0].metrics[0].inclusive, 500.0);
  EXPECT_EQ(summary(Reduction::mean).ranges[1].metrics[0].inclusive, 350.0);
  EXPECT_EQ(summary(Reduction::mean).ranges[2].metrics[0].inclusive, std::nullopt);
  EXPECT_EQ(summary().kernels_outside, 1);
}

TEST_F(Results, ThreadsHaveRangesOfTheirOwnAndNumbersStayApart) {
  for (int i = 0; i < 20; ++i) {
    range(100 * i, 100 * i + 50, "step " + std::to_string(i));
    range(100 * i, 100 * i + 50, "work", 2);
    launch(100 * i + 10, {1}, 2);
  }
  const auto ranges = summary().ranges;
  EXPECT_EQ(ranges.size(), 21U);
  const auto work = std::ranges::find(ranges, "work", &RangeResult::path);
  ASSERT_NE(work, ranges.end());
  EXPECT_EQ(work->calls, 20);
  EXPECT_EQ(work->kernels, 20);
}

TEST_F(Results, MemoryHasAPeakAndWhatLivesOn) {
  range(0, 55, "outer");
  range(15, 35, std::string("inner") + memory_mark);
  memory(10, 10, 100);
  memory(20, 20, 1000);
  memory(30, 30, 50, timeline::MemoryKind::pool);
  memory(40, 20, 0);   // inner's, given back in outer; the record has no size
  memory(50, 99, -7);  // from before the session
  memory(60, 40, 1);   // outside
  const RangeSummary all = summary();
  ASSERT_EQ(all.ranges.size(), 2U);
  const RangeMemory& outer = *all.ranges[0].memory;
  EXPECT_EQ(outer.allocations, 3);
  EXPECT_EQ(outer.allocated_bytes, 1150U);
  EXPECT_EQ(outer.releases, 2);
  EXPECT_EQ(outer.freed_bytes, 1007U);
  EXPECT_EQ(outer.live_bytes, 150U);
  EXPECT_EQ(outer.peak_bytes, 1150U);
  EXPECT_EQ(all.ranges[1].name, "inner");
  EXPECT_EQ(all.ranges[1].type, RangeType::memory);
  EXPECT_EQ(all.ranges[1].memory->releases, 0);
  EXPECT_EQ(all.ranges[1].memory->live_bytes, 50U);
  ASSERT_EQ(all.memory.size(), 2U);
  EXPECT_EQ(all.memory[0].kind, "device");
  EXPECT_EQ(all.memory[0].memory.allocations, 3);
  EXPECT_EQ(all.memory[0].memory.live_bytes, 101U);
  EXPECT_EQ(all.memory[1].kind, "pool");
  EXPECT_EQ(all.memory[1].memory.peak_bytes, 50U);
}

}  // namespace
}  // namespace gpubench::profile
