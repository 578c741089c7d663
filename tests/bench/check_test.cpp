// SPDX-License-Identifier: Apache-2.0
#include "gpubench/check.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/matchers.h"

namespace gpubench {
namespace {

Check close(const std::vector<float>& actual, const std::vector<float>& expected, double relative,
            double absolute = 0.0) {
  return all_close(std::span<const float>(actual), std::span<const float>(expected), relative, absolute);
}

TEST(AllClose, AcceptsWhatIsWithinTheTolerance) {
  EXPECT_TRUE(close({1.0F, 2.0F}, {1.0F, 2.001F}, 1e-3).passed);
  EXPECT_TRUE(close({0.0F}, {1e-6F}, 0.0, 1e-5).passed);
  EXPECT_TRUE(close({}, {}, 0.0).passed);
}

TEST(AllClose, NamesTheWorstElement) {
  const Check check = close({1.0F, 5.0F, 3.5F}, {1.0F, 2.0F, 3.0F}, 1e-3);
  EXPECT_FALSE(check.passed);
  EXPECT_THAT(check.message, HasSubstr("element 1 of 3 is 5"));
  EXPECT_THAT(check.message, HasSubstr("reference has 2"));
}

TEST(AllClose, FindsTheWorstElementOfManyToo) {
  constexpr std::size_t many = 1000003;
  std::vector<float> actual(many, 1.0F);
  const std::vector<float> expected(many, 1.0F);
  EXPECT_TRUE(all_close(std::span<const float>(actual), expected, 0.0).passed);
  actual[many - 2] = 1.5F;
  actual[70000] = 3.0F;
  const Check check = all_close(std::span<const float>(actual), expected, 1e-3);
  EXPECT_FALSE(check.passed);
  EXPECT_THAT(check.message, HasSubstr("element 70000 of 1000003 is 3"));
}

TEST(AllClose, NanNeverPasses) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(close({nan}, {1.0F}, 1e9, 1e9).passed);
  EXPECT_FALSE(close({1.0F}, {nan}, 1e9, 1e9).passed);
  EXPECT_FALSE(close({nan}, {nan}, 1e9, 1e9).passed);
}

TEST(AllClose, InfinityEqualsOnlyItself) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(close({infinity}, {infinity}, 0.0).passed);
  EXPECT_FALSE(close({-infinity}, {infinity}, 1e-3).passed);
  EXPECT_FALSE(close({infinity}, {1.0F}, 1e-3).passed);
}

TEST(AllClose, SizesMustAgree) {
  EXPECT_THAT(close({1.0F}, {1.0F, 2.0F}, 1.0).message, HasSubstr("1 elements, but the reference has 2"));
}

}  // namespace
}  // namespace gpubench
