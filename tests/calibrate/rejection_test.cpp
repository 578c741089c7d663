// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "calibrate/check/health.h"

namespace gpubench::calibrate {
namespace {

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
