// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/range_reports.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/matchers.h"

namespace gpubench::profile {
namespace {

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
  EXPECT_EQ(text_of(sample_ranges(), Reduction::sum, status),
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
            "CUPTI lost 2 records: sums are too small.\n");
}

TEST(Reports, MemoryHasThePublishedLayout) {
  MemoryActivity activity;
  activity.ranges = {sample_ranges()[1]};
  activity.kinds = {{"device", *activity.ranges[0].memory}};
  EXPECT_THAT(text_of(activity), StartsWith("Memory Activity Results:\n"
                                            "Range 1: step/alloc, \"big\"\n"
                                            "  Allocations: 5 operations, 104857600 bytes (100.00 MiB)\n"
                                            "  Deallocations: 4 operations, 83886080 bytes (80.00 MiB)\n"
                                            "  Live: 20971520 bytes (20.00 MiB), peak 104857600 bytes "
                                            "(100.00 MiB)\n"
                                            "All device\n"));
}

TEST(Reports, CsvHasOneRowForEachFigure) {
  const std::string csv = csv_of(sample_ranges(), Reduction::max);
  EXPECT_THAT(csv, StartsWith("range,type,depth,quantity,reduction,unit,inclusive,exclusive,note\n"
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
  EXPECT_THAT(text_of(ranges, Reduction::sum, {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(csv_of(ranges, Reduction::sum), Not(HasSubstr("\x1b")));
  EXPECT_TRUE(nlohmann::json::accept(json_of(ranges, Reduction::sum, {})));
}

}  // namespace
}  // namespace gpubench::profile
