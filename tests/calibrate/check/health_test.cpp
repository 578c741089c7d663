// SPDX-License-Identifier: Apache-2.0
// Several GPUs beside each other, and ceilings that are none.
#include "calibrate/check/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace gpubench::calibrate {
namespace {

Ceiling ceiling_of(const std::string& resource, double value, double half_width = 0.0, const std::string& unit = "B/s",
                   CeilingGroup group = CeilingGroup::memory) {
  Ceiling result;
  result.resource = resource;
  result.value = value;
  result.unit = unit;
  result.ci95 = {value - half_width, value + half_width};
  result.group = group;
  return result;
}

Calibration gpu(const std::string& id, const std::vector<Ceiling>& ceilings) {
  Calibration result;
  result.device.id = id;
  result.device.kind = DeviceKind::gpu;
  result.device.name = "Made Up 1";
  result.ceilings = ceilings;
  return result;
}

TEST(CompareGpus, NamesTheSlowestAndTheSpread) {
  const auto spreads = compare_gpus({gpu("cuda:0", {ceiling_of("dram-read", 100.0, 1.0), ceiling_of("l2", 7.0)}),
                                     gpu("cuda:1", {ceiling_of("dram-read", 90.0, 1.0)}),
                                     gpu("cuda:2", {ceiling_of("dram-read", 102.0, 1.0)})});
  ASSERT_EQ(spreads.size(), 1u);
  EXPECT_EQ(spreads[0].slowest, "cuda:1");
  EXPECT_EQ(spreads[0].gpus, 3);
  EXPECT_DOUBLE_EQ(spreads[0].median, 100.0);
  EXPECT_DOUBLE_EQ(spreads[0].spread, 0.12);
  EXPECT_DOUBLE_EQ(spreads[0].slowest_difference, -0.1);
  EXPECT_TRUE(spreads[0].certain);
}

TEST(CompareGpus, TheSlowestHasTheLongestLatency) {
  const auto latency = [](double value) { return ceiling_of("latency-dram", value, 0.5, "s", CeilingGroup::latency); };
  const auto spreads = compare_gpus({gpu("cuda:0", {latency(3.0)}), gpu("cuda:1", {latency(3.2)})});
  ASSERT_EQ(spreads.size(), 1u);
  EXPECT_EQ(spreads[0].slowest, "cuda:1");
  EXPECT_FALSE(spreads[0].certain);
}

TEST(CompareGpus, OnlyGpusOfOneNameAndNotWhatTheHostDecides) {
  Calibration other = gpu("cuda:1", {ceiling_of("dram-read", 90.0)});
  other.device.name = "Another";
  EXPECT_TRUE(compare_gpus({gpu("cuda:0", {ceiling_of("dram-read", 100.0)}), other}).empty());
  const std::vector<Ceiling> host = {ceiling_of("launch", 1.0, 0.0, "s", CeilingGroup::overhead)};
  EXPECT_TRUE(compare_gpus({gpu("cuda:0", host), gpu("cuda:1", host)}).empty());
}

using ::testing::HasSubstr;

Ceiling fp32_of(double value, std::optional<double> limit = std::nullopt) {
  Ceiling result;
  result.resource = "fp32";
  result.value = value;
  result.unit = "FLOP/s";
  result.theoretical_limit = limit;
  return result;
}

TEST(Rejection, UpToHalfAPercentAboveTheLimitStands) {
  EXPECT_FALSE(why_rejected(fp32_of(99.0, 100.0)));
  EXPECT_FALSE(why_rejected(fp32_of(100.5, 100.0)));
  const auto why = why_rejected(fp32_of(100.51, 100.0));
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("100.51 % of the theoretical limit, 100.0 FLOP/s"));
}

TEST(Rejection, WithoutALimitAnyRateStands) { EXPECT_FALSE(why_rejected(fp32_of(1e30))); }

TEST(Rejection, NoFigureIsNoCeiling) {
  EXPECT_TRUE(why_rejected(fp32_of(0.0)));
  EXPECT_TRUE(why_rejected(fp32_of(-1.0)));
  EXPECT_TRUE(why_rejected(fp32_of(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(why_rejected(fp32_of(std::numeric_limits<double>::infinity())));
}

TEST(Rejection, CountersMayDifferByTwoPercent) {
  Ceiling counted = fp32_of(90.0, 100.0);
  for (const double ratio : {0.981, 1.0, 1.019}) {
    counted.confirmation = Confirmation{"flops_fp32", ratio, ""};
    EXPECT_FALSE(why_rejected(counted)) << ratio;
  }
  for (const double ratio : {0.0, 0.97, 1.03, std::numeric_limits<double>::quiet_NaN()}) {
    counted.confirmation = Confirmation{"flops_fp32", ratio, ""};
    const auto why = why_rejected(counted);
    ASSERT_TRUE(why) << ratio;
    EXPECT_THAT(*why, HasSubstr("flops_fp32 counted"));
  }
  counted.confirmation = Confirmation{"", std::nullopt, "no counters"};
  EXPECT_FALSE(why_rejected(counted));
}

TEST(Rejection, ARejectedCeilingIsAbsentWithTheReason) {
  Calibration calibration;
  calibration.ceilings = {fp32_of(90.0, 100.0), fp32_of(200.0, 100.0)};
  calibration.ceilings[1].resource = "fp64";
  reject(calibration);
  ASSERT_EQ(calibration.ceilings.size(), 1U);
  EXPECT_EQ(calibration.ceilings[0].resource, "fp32");
  ASSERT_EQ(calibration.absent.size(), 1U);
  EXPECT_EQ(calibration.absent[0].resource, "fp64");
  EXPECT_THAT(calibration.absent[0].reason, HasSubstr("200.00 %"));
}

}  // namespace
}  // namespace gpubench::calibrate
