// SPDX-License-Identifier: Apache-2.0
#include "compare/noise/point_table.h"

#include <gtest/gtest.h>

namespace gpubench::compare {
namespace {

TEST(PointIndex, FindsPointsWhereverARunHasThem) {
  gpubench::Run run;
  for (const char* const name : {"copy/n:1", "copy/n:2", "copy/n:1"}) {
    Point point;
    point.measurement.device = "cpu";
    point.measurement.name = name;
    run.points.push_back(point);
  }
  PointIndex index;
  index.add(run);
  ASSERT_EQ(index.keys().size(), 2U);
  for (const std::size_t likely : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(index.place_of(run.points[0].measurement, likely), 0U);
    EXPECT_EQ(index.place_of(run.points[1].measurement, likely), 1U);
  }
  Measurement other = run.points[0].measurement;
  other.device = "cuda:0";
  EXPECT_EQ(index.place_of(other), std::nullopt);
}

}  // namespace
}  // namespace gpubench::compare
