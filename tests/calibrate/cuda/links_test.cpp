// SPDX-License-Identifier: Apache-2.0
// Correlations between GPUs, on machines that have several.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

#include "calibrate/calibrate.h"
#include "calibrate/cuda/cuda_calibration.h"
#include "gpu/devices.h"

namespace gpubench::calibrate {
namespace {

TEST(CudaLinks, EachGpuSendsItsOwnCopyWhenBothSendAtOnce) {
  if (bench::gpus().size() < 2) GTEST_SKIP() << "needs two GPUs that reach each other's memory";
  CudaCalibration bench(bench::gpus().front(), CalibrationOptions{});
  measure_links(bench);
  const Calibration& found = bench.calibration;
  for (const auto& absent : found.absent)
    if (absent.resource.find("peer") != std::string::npos) GTEST_SKIP() << absent.resource << ": " << absent.reason;
  const Ceiling* const one_way = found.find("peer-1-write");
  const Ceiling* const both_ways = found.find("peer-1-both-ways");
  ASSERT_NE(one_way, nullptr);
  ASSERT_NE(both_ways, nullptr);
  ASSERT_NE(found.find("peer-1-read"), nullptr);
  ASSERT_NE(found.find("latency-peer-1"), nullptr);
  // Copies that follow one another would be as fast as one way: 1.3 lies between that and links of two directions.
  EXPECT_GT(both_ways->value, 1.3 * one_way->value);
  int current = -1;
  ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0) << "another GPU was left the current one";
  for (const auto& ceiling : found.ceilings)
    if (ceiling.resource.find("peer") != std::string::npos)
      RecordProperty(ceiling.resource, std::to_string(ceiling.value));
}

}  // namespace
}  // namespace gpubench::calibrate
