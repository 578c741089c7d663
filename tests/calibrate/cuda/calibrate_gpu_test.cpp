// SPDX-License-Identifier: Apache-2.0
// A calibration of the GPU that is here: nothing above what it can do, and every resource measured or named with a
// reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "calibrate/calibrate.h"
#include "calibrate/check/health.h"
#include "gpu/devices.h"

namespace gpubench::calibrate {
namespace {

Calibration calibrate_first(Mode mode) {
  CalibrationOptions options;
  options.mode = mode;
  double last = 0.0;
  options.progress = [&](std::string_view step, double done) {
    EXPECT_GE(done, last) << step;
    EXPECT_LE(done, 1.0) << step;
    last = done;
  };
  return calibrate(bench::gpus().front(), options);
}

void check(const Calibration& calibration, const std::vector<std::string>& resources) {
  std::set<std::string> seen;
  for (const auto& ceiling : calibration.ceilings) {
    EXPECT_TRUE(seen.insert(ceiling.resource).second) << ceiling.resource << " is there twice";
    EXPECT_FALSE(why_rejected(ceiling)) << ceiling.resource;
    EXPECT_TRUE(ceiling.group.has_value()) << ceiling.resource;
    EXPECT_GT(ceiling.repeats, 0) << ceiling.resource;
    EXPECT_LE(ceiling.ci95.low, ceiling.value) << ceiling.resource;
    EXPECT_GE(ceiling.ci95.high, ceiling.value) << ceiling.resource;
    EXPECT_FALSE(ceiling.method.empty()) << ceiling.resource;
    EXPECT_FALSE(ceiling.unit == "s" && ceiling.value > 0.1) << ceiling.resource << " takes " << ceiling.value << " s";
  }
  for (const auto& absent : calibration.absent) {
    EXPECT_FALSE(absent.reason.empty()) << absent.resource;
    EXPECT_EQ(calibration.find(absent.resource), nullptr) << absent.resource;
    EXPECT_EQ(absent.reason.find("rejected"), std::string::npos) << absent.resource << ": " << absent.reason;
    seen.insert(absent.resource);
  }
  for (const auto& resource : resources) EXPECT_TRUE(seen.contains(resource)) << resource << " is neither";
}

TEST(CudaCalibrate, Quick) {
  if (bench::gpus().empty()) GTEST_SKIP() << "no GPU to test on: " << bench::why_no_gpu();
  check(calibrate_first(Mode::quick), {"dram-read", "dram-write", "dram-copy", "dram-triad", "l2", "fp32", "fp64",
                                       "tensor-bf16", "tensor-fp16", "launch", "launch-step", "block-start"});
}

TEST(CudaCalibrate, Full) {
  if (bench::gpus().empty()) GTEST_SKIP() << "no GPU to test on: " << bench::why_no_gpu();
  const Calibration calibration = calibrate_first(Mode::full);
  std::vector<std::string> resources = {"dram-read",
                                        "dram-write",
                                        "dram-copy",
                                        "dram-triad",
                                        "l2",
                                        "l2-near",
                                        "l2-far",
                                        "l1",
                                        "shared",
                                        "latency-l1",
                                        "latency-shared",
                                        "latency-l2-near",
                                        "latency-l2-far",
                                        "latency-dram",
                                        "latency-host",
                                        "fp64",
                                        "fp32",
                                        "fp16",
                                        "bf16",
                                        "int32",
                                        "launch",
                                        "launch-step",
                                        "block-start",
                                        "graph-node",
                                        "copy-host-to-device",
                                        "copy-device-to-host",
                                        "copy-device-to-device",
                                        "memset",
                                        "host-to-device-pinned",
                                        "device-to-host-pinned",
                                        "host-both-ways-pinned",
                                        "host-to-device-pageable",
                                        "device-to-host-pageable",
                                        "atomic-global-one",
                                        "atomic-global-warp",
                                        "atomic-global-spread",
                                        "atomic-global-float-one",
                                        "atomic-global-float-warp",
                                        "atomic-global-float-spread",
                                        "l2-random-read",
                                        "dram-random-read",
                                        "l2-random-update",
                                        "dram-random-update",
                                        "copy-rate-device-to-device",
                                        "fill-rate",
                                        "alu",
                                        "lsu",
                                        "special"};
  for (const char* type : {"fp64", "tf32", "fp16", "bf16", "fp8", "int8"})
    for (const char* path : {"tensor-", "mma-", "wgmma-"})
      if (std::string(path) != "wgmma-" || std::string(type) != "fp64") resources.push_back(std::string(path) + type);
  check(calibration, resources);
  EXPECT_FALSE(calibration.latency_curve.empty());
  EXPECT_TRUE(std::ranges::is_sorted(calibration.intensity_sweep, {}, &IntensityPoint::flops_per_byte));
}

}  // namespace
}  // namespace gpubench::calibrate
