// SPDX-License-Identifier: Apache-2.0
#include "core/base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace gpubench::reports {
namespace {

TEST(Units, SecondsTakeTheUnitThatFits) {
  EXPECT_EQ(format_seconds(2.1e-6), "2.10 us");
  EXPECT_EQ(format_seconds(2.1049e-6, 4), "2.105 us");
  EXPECT_EQ(format_seconds(1.234e-2), "12.3 ms");
  EXPECT_EQ(format_seconds(95.0), "95.0 s");
  EXPECT_EQ(format_seconds(12345.0), "12300 s");
  EXPECT_EQ(format_seconds(1.5e-10), "0.150 ns");
  EXPECT_EQ(format_seconds(0.0), "0 ns");
  EXPECT_EQ(format_seconds(-2.1e-6), "-2.10 us");
}

TEST(Units, RoundingReachesTheNextUnit) {
  EXPECT_EQ(format_seconds(9.996e-4, 3), "1.00 ms");
  EXPECT_EQ(format_seconds(9.994e-4, 3), "999 us");
  EXPECT_EQ(format_bytes_per_second(9.99999e11), "1.00 TB/s");
  EXPECT_EQ(format_seconds(9.9999e-6, 4), "10.00 us");
}

TEST(Units, RatesAreDecimal) {
  EXPECT_EQ(format_bytes_per_second(4.72e12), "4.72 TB/s");
  EXPECT_EQ(format_bytes_per_second(999.0), "999 B/s");
  EXPECT_EQ(format_flops_per_second(6.69e13), "66.9 TFLOP/s");
  EXPECT_EQ(format_hertz(1.98e9), "1.98 GHz");
}

TEST(Units, AmountsOfWorkAreDecimal) {
  EXPECT_EQ(format_value(805.3e6, "B"), "805 MB");
  EXPECT_EQ(format_value(999.6e6, "B"), "1.00 GB");
  EXPECT_EQ(format_value(1.69e10, "items/s"), "16.9 Gitems/s");
  EXPECT_EQ(format_value(4e9, "op"), "4.00 Gop");
  EXPECT_EQ(format_value(1.6e12, "FLOP"), "1.60 TFLOP");
  EXPECT_EQ(format_value(0.0, "B"), "0 B");
}

TEST(Units, CapacitiesAreBinary) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1000), "1000 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(50.0 * (1 << 20)), "50 MiB");
  EXPECT_EQ(format_bytes(1023.6 * 1024), "1 MiB");
}

TEST(Units, Percents) {
  EXPECT_EQ(format_percent(0.934), "93 %");
  EXPECT_EQ(format_percent(0.0042), "0.4 %");
  EXPECT_EQ(format_percent(0.0002), "<0.1 %");
  EXPECT_EQ(format_percent(0.0), "0.0 %");
  EXPECT_EQ(format_percent(1.02), "102 %");
  EXPECT_EQ(format_percent(99.99), "9999 %");
  EXPECT_EQ(format_percent(11092.63), ">9999 %");
}

TEST(Units, NounsFollowTheirNumber) {
  EXPECT_EQ(plural(1, "thread"), "1 thread");
  EXPECT_EQ(plural(0U, "thread"), "0 threads");
  EXPECT_EQ(plural(1U, "launch", "launches"), "1 launch");
  EXPECT_EQ(plural(2, "launch", "launches"), "2 launches");
}

TEST(Units, CountsAreGrouped) {
  EXPECT_EQ(format_count(131072), "131 072");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(-1234567), "-1 234 567");
  EXPECT_EQ(format_count(1.2e18), "1.2 x 10^18");
}

TEST(Units, NumbersHaveNoExponent) {
  EXPECT_EQ(format_number(180.0, 2), "180");
  EXPECT_EQ(format_number(184.0, 2), "180");
  EXPECT_EQ(format_number(2.0), "2");
  EXPECT_EQ(format_number(2.345), "2.35");  // as printf rounds 2.345 (a little above)
  EXPECT_EQ(format_number(0.0), "0");
  EXPECT_EQ(format_number(0.034), "0.034");
  EXPECT_EQ(format_number(0.0000123), "0.0000123");
  EXPECT_EQ(format_number(999.6), "1 000");
  EXPECT_EQ(format_number(12345.0), "12 300");
  EXPECT_EQ(format_number(-1.5), "-1.5");
  EXPECT_EQ(format_number(1e300), "1.0 x 10^300");
  EXPECT_EQ(format_seconds(1e300), "1.0 x 10^300 s");
  EXPECT_EQ(format_bytes(1e300), "8.9 x 10^284 PiB");
  EXPECT_EQ(format_number(std::numeric_limits<double>::infinity()), "n/a");
}

TEST(Units, ValuesFollowTheUnitOfTheCeiling) {
  EXPECT_EQ(format_value(2.1e-6, "s"), "2.10 us");
  EXPECT_EQ(format_value(1e9, "B/s"), "1.00 GB/s");
  EXPECT_EQ(format_value(7, "lines"), "7 lines");
  EXPECT_EQ(format_interval({3.59e12, 3.61e12}, "B/s"), "3.59 to 3.61 TB/s");
  EXPECT_EQ(format_interval({9.9e-7, 1.1e-6}, "s"), "990 ns to 1.10 us");
}

TEST(Units, WhatIsNotFiniteIsNoNumber) {
  for (const double value : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(format_seconds(value), "n/a");
    EXPECT_EQ(format_bytes(value), "n/a");
    EXPECT_EQ(format_percent(value), "n/a");
    EXPECT_EQ(format_count(value), "n/a");
    EXPECT_EQ(format_interval({value, value}, "s"), "n/a to n/a");
  }
}

TEST(Units, Ages) {
  EXPECT_EQ(format_age("2026-07-01T12:00:00Z", "2026-07-01T12:00:59Z"), "less than a minute");
  EXPECT_EQ(format_age("2026-07-01T12:00:00Z", "2026-07-01T12:01:00Z"), "1 minute");
  EXPECT_EQ(format_age("2026-06-30T12:00:00Z", "2026-07-01T13:00:00.5Z"), "25 hours");
  EXPECT_EQ(format_age("2026-02-28T00:00:00Z", "2026-03-03T00:00:00Z"), "3 days");
  EXPECT_EQ(format_age("2026-07-02T00:00:00Z", "2026-07-01T00:00:00Z"), "");
  EXPECT_EQ(format_age("yesterday", "2026-07-01T00:00:00Z"), "");
  EXPECT_EQ(format_age("", ""), "");
  EXPECT_EQ(format_age("2026-13-41T99:00:00Z", "2026-07-01T00:00:00Z"), "");
}

}  // namespace
}  // namespace gpubench::reports
