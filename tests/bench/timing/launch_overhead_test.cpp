// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/launch_overhead.h"

#include <gtest/gtest.h>

#include "gpu/devices.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

TEST(LaunchOverhead, OfTheHostIsPositiveWithAnIntervalAroundIt) {
  const Ceiling launch = measure_launch_overhead(host_device());
  EXPECT_EQ(launch.resource, "launch");
  EXPECT_EQ(launch.unit, "s");
  EXPECT_GT(launch.value, 0.0);
  EXPECT_LE(launch.ci95.low, launch.ci95.high);
  EXPECT_THAT(launch.method, HasSubstr("OpenMP"));
}

}  // namespace
}  // namespace gpubench::bench
