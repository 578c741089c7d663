// SPDX-License-Identifier: Apache-2.0
// A quick calibration of the host: what every ceiling comes with. No figures are asserted.
#include <gtest/gtest.h>

#include <set>

#include "gpu/devices.h"
#include "calibrate/calibrate.h"
#include "calibrate/check/health.h"

namespace gpubench::calibrate {
namespace {

TEST(HostCalibration, EveryCeilingSaysWhatItIs) {
  double last = 0.0;
  CalibrationOptions options;
  options.progress = [&](std::string_view, double done) {
    EXPECT_GE(done, last - 1e-9);
    last = done;
  };
  const Calibration calibration = calibrate(bench::host_device(), options);
  EXPECT_EQ(last, 1.0);
  EXPECT_EQ(calibration.mode, "quick");
  std::set<std::string> names;
  for (const auto& ceiling : calibration.ceilings) {
    SCOPED_TRACE(ceiling.resource);
    EXPECT_TRUE(names.insert(ceiling.resource).second) << "twice";
    EXPECT_FALSE(why_rejected(ceiling));
    EXPECT_TRUE(ceiling.group);
    EXPECT_FALSE(ceiling.method.empty());
    EXPECT_FALSE(ceiling.shape.empty());
    EXPECT_LE(ceiling.ci95.low, ceiling.value);
    EXPECT_GE(ceiling.ci95.high, ceiling.value);
    EXPECT_GE(ceiling.repeats, 3);
    if (ceiling.unit != "s") {
      EXPECT_GT(ceiling.work_per_run.value_or(0.0), 0.0);
      EXPECT_EQ(ceiling.work_unit + "/s", ceiling.unit);
    }
  }
  for (const auto& one : calibration.absent) {
    EXPECT_FALSE(names.contains(one.resource)) << one.resource << " is both there and absent";
    EXPECT_FALSE(one.reason.empty()) << one.resource;
    names.insert(one.resource);
  }
  for (const char* resource : {"launch", "fp32", "fp64", "gemm-fp32", "gemm-fp64", "dram-read", "dram-write",
                               "dram-copy", "dram-triad", "l1", "l2", "l3"})
    EXPECT_TRUE(names.contains(resource)) << resource;
  for (const auto& level : calibration.levels) EXPECT_NE(calibration.find(level.resource), nullptr);
}

}  // namespace
}  // namespace gpubench::calibrate
