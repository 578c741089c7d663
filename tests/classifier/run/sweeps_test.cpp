// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/sweeps.h"

#include <gtest/gtest.h>

#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

void add(Run& run, const std::string& operation, std::vector<Argument> arguments,
         const std::string& device = "cuda:0") {
  auto measurement = measured(1e-3, streaming(1e6, 0.0), device);
  measurement.operation = operation;
  measurement.arguments = std::move(arguments);
  run.points.push_back({measurement, std::nullopt});
}

TEST(Sweeps, OneArgumentSortedAndMerged) {
  gpubench::Run run;
  for (const std::int64_t n : {64, 16, 32, 16}) add(run, "copy", {{"", n}});
  const auto sweeps = sweeps_of(run);
  ASSERT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(sweeps[0].argument, "size");
  ASSERT_EQ(sweeps[0].sizes.size(), 3U);
  EXPECT_EQ(sweeps[0].sizes[0].argument, 16.0);
  EXPECT_EQ(sweeps[0].sizes[0].measurements.size(), 2U);
  EXPECT_EQ(sweeps[0].sizes[2].argument, 64.0);
}

TEST(Sweeps, OperationsAndDevicesApart) {
  gpubench::Run run;
  for (const std::int64_t n : {1, 2}) {
    add(run, "copy", {{"n", n}});
    add(run, "dot", {{"n", n}});
    add(run, "copy", {{"n", n}}, "cpu");
  }
  const auto sweeps = sweeps_of(run);
  ASSERT_EQ(sweeps.size(), 3U);
  EXPECT_EQ(sweeps[1].operation, "dot");
  EXPECT_EQ(sweeps[2].device, "cpu");
  EXPECT_EQ(sweeps[0].argument, "n");
}

TEST(Sweeps, TextsTellSweepsApart) {
  gpubench::Run run;
  for (const char* const type : {"bf16", "fp32"})
    for (const std::int64_t n : {1, 2, 3}) add(run, "f", {{"dtype", 0, type}, {"n", n}});
  const auto sweeps = sweeps_of(run);
  ASSERT_EQ(sweeps.size(), 2U);
  EXPECT_EQ(sweeps[0].argument, "n (dtype = bf16)");
  EXPECT_EQ(sweeps[1].argument, "n (dtype = fp32)");
  EXPECT_EQ(sweeps[0].sizes.size(), 3U);
}

TEST(Sweeps, TextsAloneAreNoSweep) {
  gpubench::Run run;
  for (const char* const type : {"bf16", "fp32"}) add(run, "f", {{"dtype", 0, type}});
  EXPECT_TRUE(sweeps_of(run).empty());
}

TEST(Sweeps, FirstVaryingArgumentAndGroupsOfTheOthers) {
  gpubench::Run run;
  for (const std::int64_t k : {8, 16})
    for (const std::int64_t n : {1, 2, 3}) add(run, "f", {{"fixed", 7}, {"n", n}, {"k", k}});
  const auto sweeps = sweeps_of(run);
  ASSERT_EQ(sweeps.size(), 2U);
  EXPECT_EQ(sweeps[0].argument, "n (k = 8)");
  EXPECT_EQ(sweeps[1].argument, "n (k = 16)");
  EXPECT_EQ(sweeps[1].sizes.size(), 3U);
}

TEST(Sweeps, ArgumentsThatGoTogetherAreOne) {
  gpubench::Run run;
  for (const std::int64_t n : {64, 128, 256}) add(run, "gemm", {{"m", n}, {"n", n}, {"k", 2 * n}});
  const auto sweeps = sweeps_of(run);
  ASSERT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(sweeps[0].argument, "m");
  EXPECT_EQ(sweeps[0].sizes.size(), 3U);
}

TEST(Sweeps, NothingVariesOrNothingIsTimed) {
  gpubench::Run run;
  add(run, "once", {{"n", 5}});
  add(run, "bare", {});
  add(run, "failed", {{"n", 1}});
  add(run, "failed", {{"n", 2}});
  run.points[2].measurement.make_primary().seconds.reset();
  run.points[3].measurement.make_primary().seconds.reset();
  EXPECT_TRUE(sweeps_of(run).empty());
}

TEST(WorkBetween, OnTheLineInLogarithms) {
  Work below = streaming(100.0, 0.0, 8.0);
  Work above = streaming(400.0, 6.0, 64.0);
  below.flops[fp64] = 10.0;
  const auto middle = work_between(below, above, 0.5);
  EXPECT_NEAR(middle.bytes_read, 200.0, 1e-9);
  EXPECT_DOUBLE_EQ(middle.bytes_written, 3.0);  // from zero: the plain line
  EXPECT_NEAR(middle.flops.at(fp32), std::sqrt(8.0 * 64.0), 1e-9);
  EXPECT_DOUBLE_EQ(middle.flops.at(fp64), 5.0);
  EXPECT_FALSE(middle.footprint_bytes);
  above.footprint_bytes = 400.0;
  EXPECT_NEAR(*work_between(below, above, 0.5).footprint_bytes, 200.0, 1e-9);
}

}  // namespace
}  // namespace gpubench::classifier
