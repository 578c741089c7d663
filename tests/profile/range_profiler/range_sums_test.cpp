// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/range_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpubench::profile {
namespace {

class Sums : public testing::Test {
 protected:
  std::uint32_t range(std::initializer_list<const char*> path) {
    RangeNode* node = &tree.root();
    for (const char* name : path) node = tree.child(*node, name, RangeType::kernels);
    return node->id;
  }
  KernelSums inclusive(std::uint32_t id) { return sums.inclusive_kernels_of(id, tree); }

  RangeTree tree;
  RangeSums sums;
};

TEST_F(Sums, KernelsCountForTheInnermostRangeAndItsOuterOnes) {
  const auto step = range({"step"});
  const auto gemm = range({"step", "gemm"});
  sums.add({{{1, step}, {2, gemm}, {3, gemm}}, {{1, 100}, {2, 200}, {3, 500}}, {}, 0});
  sums.settle(tree);
  EXPECT_EQ(sums.kernels_of(step).kernels, 1);
  EXPECT_EQ(inclusive(step).kernels, 3);
  EXPECT_EQ(inclusive(step).reduced(Reduction::sum), 800.0);
  EXPECT_EQ(inclusive(step).reduced(Reduction::max), 500.0);
  EXPECT_EQ(inclusive(gemm).reduced(Reduction::mean), 350.0);
  EXPECT_EQ(sums.kernels_of(step).reduced(Reduction::sum), 100.0);
  EXPECT_EQ(KernelSums().reduced(Reduction::sum), 0.0);
  EXPECT_EQ(KernelSums().reduced(Reduction::max), std::nullopt);
  EXPECT_EQ((KernelSums{1, 0, 0.0, 0.0}.reduced(Reduction::sum)), std::nullopt) << "a kernel without a time";
}

TEST_F(Sums, RecordsComeInAnyOrder) {
  const auto a = range({"a"});
  sums.add({{}, {{7, 10}, {8, 20}}, {}, 0});  // the kernels first
  EXPECT_EQ(sums.waiting(), 2U);
  sums.add({{{7, a}}, {}, {}, 3});
  EXPECT_EQ(sums.kernels_of(a).kernels, 1);
  sums.settle(tree);
  EXPECT_EQ(sums.kernels_of(0).kernels, 1) << "outside of all ranges";
  EXPECT_EQ(sums.dropped(), 3);
}

TEST_F(Sums, AGraphsKernelsShareACall) {
  const auto a = range({"a"});
  sums.add({{{9, a}}, {{9, 10}, {9, 20}, {9, 30}}, {}, 0});
  EXPECT_EQ(sums.kernels_of(a).kernels, 3);
}

TEST_F(Sums, AKernelWithoutATimeIsCountedNotTimed) {
  const auto a = range({"a"});
  sums.add({{{1, a}, {2, a}}, {{1, 0}, {2, 30}}, {}, 0});
  EXPECT_EQ(sums.kernels_of(a).kernels, 2);
  EXPECT_EQ(sums.kernels_of(a).reduced(Reduction::mean), 30.0);
}

TEST_F(Sums, ManyMillionCallsNeedNoMoreMemory) {
  const auto a = range({"a"});
  RecordBatch batch;
  constexpr std::uint32_t calls = 3'000'000;
  for (std::uint32_t i = 1; i <= calls; ++i) {
    batch.calls.push_back({i, a});
    if (i % 1000 == 0) batch.kernels.push_back({i, 1});
  }
  sums.add(batch);
  EXPECT_EQ(sums.kernels_of(a).kernels, calls / 1000);
}

TEST_F(Sums, MemoryHasAPeakAndWhatLivesOn) {
  const auto outer = range({"outer"});
  const auto inner = range({"outer", "inner"});
  const auto event = [](std::uint32_t call, bool allocation, std::uint64_t address, std::uint64_t bytes,
                        std::uint64_t time, bool stream_ordered = false) {
    return MemoryEvent{call, allocation, stream_ordered, "device", address, bytes, time};
  };
  RecordBatch batch;
  batch.calls = {{1, outer}, {2, inner}, {3, inner}, {4, outer}, {5, outer}};
  batch.memory = {event(4, false, 20, 0, 40),   // inner's, released in outer; the record has no size
                  event(1, true, 10, 100, 10),  // not in the order of time
                  event(2, true, 20, 1000, 20), event(3, true, 30, 50, 30, true),
                  event(5, false, 99, 7, 50),  // allocated before the session
                  event(6, true, 40, 1, 60)};  // outside
  sums.add(batch);
  sums.settle(tree);
  const RangeMemory of_outer = sums.memory_of(outer);
  EXPECT_EQ(of_outer.allocations, 3);
  EXPECT_EQ(of_outer.allocated_bytes, 1150U);
  EXPECT_EQ(of_outer.releases, 2);
  EXPECT_EQ(of_outer.freed_bytes, 1007U);
  EXPECT_EQ(of_outer.live_bytes, 150U);
  EXPECT_EQ(of_outer.peak_bytes, 1150U);
  const RangeMemory of_inner = sums.memory_of(inner);
  EXPECT_EQ(of_inner.releases, 0);
  EXPECT_EQ(of_inner.live_bytes, 50U);
  EXPECT_EQ(sums.memory_of(0).live_bytes, 151U);
  const auto kinds = sums.memory_by_kind();
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0].kind, "device");
  EXPECT_EQ(kinds[0].memory.allocations, 3);
  EXPECT_EQ(kinds[1].kind, "device, stream-ordered");
  EXPECT_EQ(kinds[1].memory.peak_bytes, 50U);
}

}  // namespace
}  // namespace gpubench::profile
