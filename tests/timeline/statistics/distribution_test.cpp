// SPDX-License-Identifier: Apache-2.0
#include "timeline/statistics/distribution.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

TEST(Distribution, is_that_of_pandas) {
  const timeline::Distribution all = timeline::distribution_of(std::vector<std::int64_t>{4, 1, 3, 2, 10});
  EXPECT_EQ(all.count, 5);
  EXPECT_DOUBLE_EQ(all.sum, 20);
  EXPECT_DOUBLE_EQ(all.mean, 4);
  EXPECT_DOUBLE_EQ(all.deviation, std::sqrt(50.0 / 4));
  EXPECT_THAT((std::vector{all.min, all.p25, all.p50, all.p75, all.max}), ElementsAre(1, 2, 3, 4, 10));
  EXPECT_DOUBLE_EQ(all.p95, 4 + 0.8 * 6);
  EXPECT_DOUBLE_EQ(all.p99, 4 + 0.96 * 6);
  EXPECT_EQ(timeline::distribution_of(std::vector<double>{}), timeline::Distribution{});
  EXPECT_DOUBLE_EQ(timeline::distribution_of(std::vector{7.0}).p99, 7);
  EXPECT_DOUBLE_EQ(timeline::distribution_of(std::vector{7.0}).deviation, 0);
}

}  // namespace
}  // namespace gpubench
