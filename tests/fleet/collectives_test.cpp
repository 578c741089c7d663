// SPDX-License-Identifier: Apache-2.0
#include "fleet/collectives.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace gpubench::fleet {
namespace {

TEST(FleetCollectives, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 8), 1.75);  // PERFORMANCE.md: 2 (n - 1) / n
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_to_all, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 8), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::send_receive, 8), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 1), 0.0);  // nothing goes over a bus
}

TEST(FleetCollectives, MessagesDivideAmongTheRanks) {
  EXPECT_EQ(message_bytes(8, 2), 8);
  EXPECT_EQ(message_bytes(8, 8), 32);
  EXPECT_EQ(message_bytes(1000, 3), 996);
  EXPECT_EQ(message_bytes(std::int64_t{1} << 32, 8), std::int64_t{1} << 32);
}

TEST(FleetCollectives, BandwidthsRestOnTheMedian) {
  const CollectiveTimes times =
      summarize(Collective::all_reduce, 1'000'000, 4, std::vector{3e-3, 1e-3, 2e-3, 2e-3, 100e-3});
  EXPECT_DOUBLE_EQ(times.median_seconds, 2e-3);
  EXPECT_NEAR(times.p99_seconds, 3e-3 + 0.96 * 97e-3, 1e-12);
  EXPECT_DOUBLE_EQ(times.algorithm_bytes_per_second, 5e8);
  EXPECT_DOUBLE_EQ(times.bus_bytes_per_second, 7.5e8);
  EXPECT_THROW(summarize(Collective::broadcast, 4, 2, {}), std::invalid_argument);
}

}  // namespace
}  // namespace gpubench::fleet
