// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/too_fast.h"

#include <gtest/gtest.h>

#include <tuple>

#include "tests/matchers.h"

namespace gpubench::classifier {
namespace {

Calibration machine(double bytes_per_second, double flops_per_second) {
  Calibration calibration;
  for (const auto& [resource, value, unit] :
       {std::tuple("dram-read", 0.1 * bytes_per_second, "B/s"), std::tuple("l1", bytes_per_second, "B/s"),
        std::tuple("fp32", flops_per_second, "FLOP/s")}) {
    Ceiling& ceiling = calibration.ceilings.emplace_back();
    ceiling.resource = resource;
    ceiling.value = value;
    ceiling.unit = unit;
  }
  return calibration;
}

Measurement timed(double seconds, double bytes, double flops) {
  Measurement measurement;
  measurement.make_primary().seconds = Summary{20, seconds, seconds, seconds, seconds, seconds, seconds, 0.0, {}};
  measurement.work.bytes_read = bytes;
  measurement.work.flops[fp32] = flops;
  return measurement;
}

TEST(TooFast, WhatTheCompilerRemovedIsSaidWithBothRates) {
  const Calibration calibration = machine(1e12, 1e12);
  const std::string of_bytes = why_too_fast(timed(0.23e-9, 400e3, 0.0), calibration);
  EXPECT_THAT(of_bytes, HasSubstr("faster than the machine can: 1.74 PB/s, and its max is 3.00 TB/s"));
  EXPECT_THAT(of_bytes, HasSubstr("DoNotOptimize"));
  EXPECT_THAT(why_too_fast(timed(0.23e-9, 0.0, 100e3), calibration), HasSubstr("435 TFLOP/s"));
  EXPECT_THAT(of_bytes, HasSubstr("It declares too much work; or, in C++, it was optimised away"));
}

TEST(TooFast, CeilingsThatWereMeasuredUnderLoadAreTooLow) {
  Calibration calibration = machine(1e12, 1e12);
  const Measurement measurement = timed(1e-6, 0.0, 8e6);  // eight times the ceiling
  EXPECT_NE(why_too_fast(measurement, calibration), "");
  calibration.core_share = 0.3;
  EXPECT_EQ(why_too_fast(measurement, calibration), "");
  EXPECT_NE(why_too_fast(timed(1e-6, 0.0, 11e6), calibration), "");
}

TEST(TooFast, WhatAMachineMayReachIsNot) {
  const Calibration calibration = machine(1e12, 1e12);
  EXPECT_EQ(why_too_fast(timed(1e-6, 1e6, 1e6), calibration), "");
  EXPECT_EQ(why_too_fast(timed(1e-6, 0.0, 2e6), calibration), "") << "declared twice over";
  EXPECT_EQ(why_too_fast(timed(1e-9, 0.0, 0.0), calibration), "") << "nothing is declared";
  EXPECT_EQ(why_too_fast(timed(1e-12, 1e6, 1e6), {}), "") << "nothing is known";
  EXPECT_EQ(why_too_fast({}, calibration), "") << "no time";
}

}  // namespace
}  // namespace gpubench::classifier
