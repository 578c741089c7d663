// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gpubench::profile {
namespace {

using testing::HasSubstr;

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

TEST(RangeTree, StopsGrowing) {
  RangeTree tree;
  for (std::size_t i = 0; i < RangeTree::max_nodes + 10; ++i)
    (void)tree.child(tree.root(), "step " + std::to_string(i), RangeType::kernels);
  EXPECT_EQ(tree.size(), RangeTree::max_nodes);
  EXPECT_TRUE(tree.full());
  EXPECT_EQ(tree.child(tree.root(), "step 0", RangeType::memory), nullptr) << "another type is another range";
  EXPECT_NE(tree.child(tree.root(), "step 0", RangeType::kernels), nullptr);
}

bench::ResolvedMetric metric(const std::string& name, const std::string& unit, const std::string& counter) {
  bench::ResolvedMetric metric;
  metric.name = name;
  metric.unit = unit;
  metric.terms = {{1.0, counter}};
  return metric;
}

/// Range 1 is called twice. Its first call has a call of range 2 inside.
struct Counted {
  std::vector<CountedPiece> pieces = {{1, 0, {{"b.sum", 10}, {"b.pct", 50}}, ""},
                                      {2, 1, {{"b.sum", 100}, {"b.pct", 10}}, ""},
                                      {1, 0, {{"b.sum", 1}, {"b.pct", 20}}, ""},
                                      {1, 2, {{"b.sum", 5}, {"b.pct", 30}}, ""}};
  std::vector<CountedCall> calls = {{1, 0, 3}, {2, 1, 2}, {1, 3, 4}};
  [[nodiscard]] RangeMetric reduce(const bench::ResolvedMetric& metric, std::uint32_t range,
                                   Reduction reduction) const {
    return reduce_counter(metric, range, reduction, pieces, calls);
  }
};

TEST(Counters, SumsMaximaAndMeansAreOverCalls) {
  const Counted counted;
  const auto bytes = metric("bytes", "bytes", "b.sum");
  EXPECT_EQ(counted.reduce(bytes, 1, Reduction::sum).inclusive, 116.0);
  EXPECT_EQ(counted.reduce(bytes, 1, Reduction::sum).exclusive, 16.0);
  EXPECT_EQ(counted.reduce(bytes, 1, Reduction::max).inclusive, 111.0);
  EXPECT_EQ(counted.reduce(bytes, 1, Reduction::max).exclusive, 11.0);
  EXPECT_EQ(counted.reduce(bytes, 1, Reduction::mean).inclusive, 58.0);
  EXPECT_EQ(counted.reduce(bytes, 2, Reduction::sum).inclusive, 100.0);
  EXPECT_EQ(counted.reduce(bytes, 3, Reduction::sum).note, "none of its calls was counted");
}

TEST(Counters, ASumOrMeanOfAPercentageIsRefused) {
  const Counted counted;
  const auto share = metric("share", "%", "b.pct");
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    const RangeMetric refused = counted.reduce(share, 1, reduction);
    EXPECT_FALSE(refused.inclusive);
    EXPECT_THAT(refused.note, HasSubstr("share is no quantity that adds up"));
  }
  EXPECT_FALSE(counted.reduce(share, 1, Reduction::max).inclusive) << "a range inside divides the first call";
  EXPECT_EQ(counted.reduce(share, 2, Reduction::max).inclusive, 10.0);
  EXPECT_EQ(counted.reduce(share, 2, Reduction::sum).inclusive, 10.0) << "one call, in one piece";
}

TEST(Counters, AQuotientIsRecomputedFromItsParts) {
  Counted counted;
  double hits = 10.0;
  for (CountedPiece& piece : counted.pieces) {
    piece.values = {
        {"lts__t_sector_hit_rate.pct", 0}, {"lts__t_sectors_lookup_hit.sum", hits}, {"lts__t_sectors.sum", 100}};
    hits += 10.0;
  }
  const auto rate = metric("lts__t_sector_hit_rate.pct", "%", "lts__t_sector_hit_rate.pct");
  const RangeMetric mean = counted.reduce(rate, 1, Reduction::mean);
  EXPECT_EQ(mean.inclusive, 25.0);  // (10 + 20 + 30 + 40) / 400
  EXPECT_NEAR(*mean.exclusive, 100.0 * 80 / 300, 1e-9);
  EXPECT_EQ(mean.note, "recomputed from its parts over all calls");
  EXPECT_EQ(counted.reduce(rate, 1, Reduction::max).inclusive, 20.0) << "of the first call (10 + 20 + 30) / 300";
}

TEST(Counters, WhatWasNotCountedIsAbsentWithItsReason) {
  Counted counted;
  counted.pieces[2] = {1, 0, {}, "the counters are busy"};
  const RangeMetric metric_of_1 = counted.reduce(metric("bytes", "bytes", "b.sum"), 1, Reduction::sum);
  EXPECT_FALSE(metric_of_1.inclusive);
  EXPECT_EQ(metric_of_1.note, "the counters are busy");
  EXPECT_EQ(counted.reduce(metric("bytes", "bytes", "b.sum"), 2, Reduction::sum).inclusive, 100.0);
}

std::vector<RangeResult> sample_ranges() {
  RangeResult step;
  step.name = step.path = "step";
  step.calls = 2;
  step.host_ms = 3.5;
  step.kernels = 3;
  step.exclusive_kernels = 1;
  step.metrics = {{"gpu__time_duration.sum", "ns", 1250.45, 250.0, ""},
                  {"smsp__inst_executed.sum", "inst", 2048576.0, 48.0, ""},
                  {"share", "%", std::nullopt, std::nullopt, "it is a percentage"}};
  RangeResult allocations;
  allocations.name = "alloc, \"big\"";
  allocations.path = "step/alloc, \"big\"";
  allocations.depth = 1;
  allocations.type = RangeType::memory;
  allocations.calls = 1;
  allocations.memory = RangeMemory{5, 104'857'600, 4, 83'886'080, 20'971'520, 104'857'600};
  return {step, allocations};
}

TEST(Reports, TextHasThePublishedLayoutWithAColumnOfUnits) {
  Status status;
  status.records = true;
  status.counters_reason = "the driver keeps the counters; run as root";
  status.dropped = 2;
  EXPECT_EQ(text_of(sample_ranges(), Reduction::sum, status, {{"Range, enabled", 215.25, ""}, {"other", {}, "no GPU"}}),
            "Kernel Profiling Results (SUM):\n"
            "Number of ranges: 1\n"
            "Range 1: step\n"
            "                            inclusive  exclusive  unit\n"
            "  calls:                            2\n"
            "  host time:                     3.50             ms\n"
            "  kernels:                          3          1\n"
            "  gpu__time_duration.sum:     1250.45        250  ns\n"
            "  smsp__inst_executed.sum:    2048576         48  inst\n"
            "  share:                            -          -  %\n"
            "  share: it is a percentage.\n"
            "No counters are read: the driver keeps the counters; run as root.\n"
            "CUPTI lost 2 records: sums are too small.\n"
            "What profiling costs by itself, on the host:\n"
            "  Range, enabled                215.2 ns\n"
            "  other                     not known: no GPU\n");
}

TEST(Reports, MemoryHasThePublishedLayout) {
  MemoryActivity activity;
  activity.ranges = {sample_ranges()[1]};
  activity.kinds = {{"device", *activity.ranges[0].memory}};
  EXPECT_THAT(text_of(activity), testing::StartsWith("Memory Activity Results:\n"
                                                     "Range 1: step/alloc, \"big\"\n"
                                                     "  Allocations: 5 operations, 104857600 bytes (100.00 MiB)\n"
                                                     "  Deallocations: 4 operations, 83886080 bytes (80.00 MiB)\n"
                                                     "  Live: 20971520 bytes (20.00 MiB), peak 104857600 bytes "
                                                     "(100.00 MiB)\n"
                                                     "All device\n"));
}

TEST(Reports, CsvHasOneRowForEachFigure) {
  const std::string csv = csv_of(sample_ranges(), Reduction::max);
  EXPECT_THAT(csv,
              testing::StartsWith("range,type,depth,quantity,reduction,unit,inclusive,exclusive,note\n"
                                  "\"step\",CONCURRENT_KERNEL,0,\"calls\",,,2,,\n"
                                  "\"step\",CONCURRENT_KERNEL,0,\"host time\",,ms,3.5,,\n"
                                  "\"step\",CONCURRENT_KERNEL,0,\"kernels\",,,3,1,\n"
                                  "\"step\",CONCURRENT_KERNEL,0,\"gpu__time_duration.sum\",max,ns,1250.45,250,\n"));
  EXPECT_THAT(csv, HasSubstr("\"step\",CONCURRENT_KERNEL,0,\"share\",max,%,,,\"it is a percentage\"\n"));
  EXPECT_THAT(csv, HasSubstr("\"step/alloc, \"\"big\"\"\",MEMORY,1,\"peak\",,bytes,104857600,,\n"));
}

TEST(Reports, JsonHasTheSame) {
  const auto json = nlohmann::json::parse(json_of(sample_ranges(), Reduction::mean, {}));
  EXPECT_EQ(json["reduction"], "mean");
  EXPECT_EQ(json["ranges"][0]["metrics"][0]["inclusive"], 1250.45);
  EXPECT_TRUE(json["ranges"][0]["metrics"][2]["inclusive"].is_null());
  EXPECT_EQ(json["ranges"][0]["metrics"][2]["note"], "it is a percentage");
  EXPECT_EQ(json["ranges"][1]["memory"]["live_bytes"], 20'971'520);
}

TEST(Reports, HostileNamesDoNoHarm) {
  auto ranges = sample_ranges();
  ranges[0].path = "a\n\x1b[31m=1+1\xff";
  EXPECT_THAT(text_of(ranges, Reduction::sum, {}, {}), testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(csv_of(ranges, Reduction::sum), testing::Not(HasSubstr("\x1b")));
  EXPECT_TRUE(nlohmann::json::accept(json_of(ranges, Reduction::sum, {})));
}

}  // namespace
}  // namespace gpubench::profile
